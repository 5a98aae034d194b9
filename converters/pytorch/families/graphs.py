"""nngraph's networks as straight code."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.rules import Code, rule
from relume.converters.pytorch.statements import Value, identifier
from relume.legacy_nn.graph_nodes import name_of


@rule("nn.gModule")
def graph(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        return GraphWriter(layer, scope).write(value)

    name = layer.__dict__.get("name")
    hint = "".join(part.capitalize() for part in identifier(name).split("_")) if name else ""
    return Code(write, is_own_class=True, class_name=hint or "Graph")


class GraphWriter:
    """Writes the code for one graph, node by node."""

    def __init__(self, graph: Any, scope: Any) -> None:
        self.graph = graph
        self.scope = scope

    def write(self, value: Value) -> Value:
        given: list[Value] = []
        passed: list[Value] = []
        for step in self.graph.steps():
            sources = step.sources
            taken: Value
            if len(sources) == 1:
                taken = passed[sources[0]]
            else:
                taken = tuple(passed[source] for source in sources) if sources else value
            given.append(taken)
            passed.append(self.run(step, taken))
        return given[self.graph._out_place()]

    def run(self, step: Any, value: Value) -> Value:
        """What a node passes on."""
        hint = identifier(name_of(step.data) or "")
        if step.select is not None:
            count = max(self.count_of(step), int(step.select))
            value = self.scope.body.elements(value, count)[int(step.select) - 1]
            if hint and not isinstance(value, tuple):
                value.hint = hint
        module = step.data.get("module")
        if module is None:
            return value
        place = self.graph.modules.index(module) + 1 if module in self.graph.modules else step.index
        before = self.module_before(step)
        return self.scope.inside(place, lambda: self.scope.emit(module, value, before, hint))

    def module_before(self, step: Any) -> Any:
        if len(step.sources) != 1:
            return None
        return self.graph.steps()[step.sources[0]].data.get("module")

    def count_of(self, step: Any) -> int:
        """How many elements the table has that a node takes one of."""
        source = self.graph.steps()[step.sources[0]]
        count = source.data.get("nSplitOutputs")
        if count is None and source.data is self.graph.innode.data:
            count = self.graph.__dict__.get("nInputs")
        if count is None:
            siblings = [s for s in self.graph.steps() if s.sources == step.sources and s.select]
            count = max(int(s.select) for s in siblings)
        return int(count)


@rule("nngraph.JustTable")
def just_table(layer: Any, around: Any) -> Code:
    return Code(lambda scope, value: (value,))


@rule("nngraph.JustElement")
def just_element(layer: Any, around: Any) -> Code:
    return Code(lambda scope, value: scope.body.element(value, 0))
