"""A graph without what it does not need: nodes that give nothing, and what is constant."""

from __future__ import annotations

from typing import Any, TypeVar

from relume import _C
from relume.converters.graph.model import Graph, Node, Size, Value
from relume.converters.graph.recording import Recording, argument_names, traits

__all__ = ["fold_constants", "without_unused"]


Calls = TypeVar("Calls", Graph, Recording)


def without_unused(graph: Calls) -> Calls:
    """Leaves out the nodes whose outputs nobody takes."""
    wanted = {id(value) for value in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(id(output) in wanted for output in node.outputs):
            kept.append(node)
            wanted.update(id(value) for value in node.inputs())
    graph.nodes = kept[::-1]
    return graph


def fold_constants(graph: Graph) -> Graph:
    """Computes the nodes that take nothing but constants."""
    kept = []
    for node in graph.nodes:
        if not is_foldable(node):
            kept.append(node)
            continue
        for output, tensor in zip(node.outputs, computed(node), strict=True):
            output.tensor = tensor.detach().contiguous()
            output.name = name_of_folded(node, output)
    graph.nodes = kept
    name_uniquely(graph)
    return graph


def is_foldable(node: Node) -> bool:
    if "steps" in node.arguments or "random" in traits()[node.op]:
        return False
    return not has_free_size(list(node.arguments.values())) and all(
        value.is_constant for value in node.inputs()
    )


def has_free_size(argument: Any) -> bool:
    if isinstance(argument, list):
        return any(map(has_free_size, argument))
    return isinstance(argument, Size)


def computed(node: Node) -> list[Any]:
    def given(argument: Any) -> Any:
        if isinstance(argument, list):
            return [given(element) for element in argument]
        return argument.tensor if isinstance(argument, Value) else argument

    names = argument_names(node.op)
    result = _C.ops[node.op](**{name: given(node.arguments[name]) for name in names})
    return list(result) if isinstance(result, (tuple, list)) else [result]


def name_of_folded(node: Node, output: Value) -> str:
    """A constant made from one parameter keeps its name."""
    sources = list({value.name: value for value in node.inputs()}.values())
    return sources[0].name if len(sources) == 1 and len(node.outputs) == 1 else output.name


def name_uniquely(graph: Graph) -> None:
    """Two constants made from one parameter get names of their own; what a node gives is called
    after its layer and op."""
    used: set[str] = {value.name for value in graph.inputs}

    def unused(wish: str) -> str:
        name, number = wish, 1
        while name in used:
            number += 1
            name = f"{wish}.{number}"
        used.add(name)
        return name

    for value in graph.constants():
        value.name = unused(value.name)
    for node in graph.nodes:
        for output in node.outputs:
            output.name = unused(f"{node.layer}/{node.op}" if node.layer else node.op)
