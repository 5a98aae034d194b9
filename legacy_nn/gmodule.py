"""nngraph's gModule: a network that is a graph of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested, released_gradients
from relume.legacy_nn.container import Container
from relume.legacy_nn.errors import locate, not_runnable
from relume.legacy_nn.graph_nodes import (
    Layout,
    Node,
    connect,
    label_of,
    name_of,
    sources_of,
    topological_order,
)
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.whole_graph import GraphRecord, WholeGraph


class Step:
    """What is done for one node: where its inputs come from and what happens to them."""

    __slots__ = ("data", "index", "select", "sources")

    def __init__(self, data: Any, index: int, sources: list[int]):
        self.data = data
        self.index = index
        self.sources = sources
        select = data.get("selectindex")
        self.select: Any = None if select is None else int(select)


def check_nodes(inputs: list, outputs: list) -> None:
    """Graphs are made of nodes that nothing else has taken as inputs."""
    for kind, nodes in (("input", inputs), ("output", outputs)):
        if not nodes:
            raise ValueError(f"nn.gModule: there is no {kind} node")
        for place, node in enumerate(nodes, 1):
            if not isinstance(node, Node):
                raise TypeError(
                    f"nn.gModule: {kind} {place} should be a node, such as nn.Identity()() makes, "
                    f"got a {type(node).__name__}"
                )
    for place, node in enumerate(inputs, 1):
        if node.inputs:
            raise ValueError(
                f"nn.gModule: input {place}, {node.label()}, gets its input from elsewhere"
            )


def check_connections(inputs: list[Node], innode: Node, outnode: Node) -> None:
    """Every input leads to an output, and nothing else is where an input is needed."""
    order = topological_order(outnode.data)
    needed = {id(data) for data in order}
    for place, node in enumerate(inputs, 1):
        if id(node.data) not in needed:
            raise ValueError(f"nn.gModule: no output needs input {place}, {node.label()}")
    for data in order:
        if data is not innode.data and not sources_of(data):
            raise ValueError(
                f"nn.gModule: the node {label_of(data)} gets no input and is none of the inputs"
            )


def runnable(module: Any) -> Any:
    if not isinstance(module, Module):
        raise not_runnable(module)
    return module


def run_forward(module: Any, input: Activation) -> Activation:
    return runnable(module).forward(input)


def apply(module: Any, input: Activation) -> Activation:
    return runnable(module)(input)


@register("nn.gModule")
class gModule(Container):
    """A network that is a graph.

    Args:
        inputs: the nodes that get the input, each element of the table when there are several.
        outputs: the nodes whose outputs are the output, as a table when there are several.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> a, b = nn.Identity()(), nn.Identity()()
    >>> net = nn.gModule([a, b], [nn.CAddTable()([a, b])])
    >>> net.forward([rl.ones(2), rl.ones(2)]).tolist()
    [2.0, 2.0]
    """

    __slots__ = ("_given", "_passed", "_steps", "_whole")
    repeats_backward = True
    _given: list[Activation] | None  # the inputs of all nodes in the last forward
    _passed: tuple[Activation, Any] | None  # or: the input, and what all nodes passed on
    _steps: list[Step] | None  # what is done, worked out when first asked for
    _whole: WholeGraph | None  # the same as one function, while that may be

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._given = None
        self._passed = None
        self._steps = None
        self._whole = None
        return self

    def __init__(self, inputs: Any, outputs: Any) -> None:
        super().__init__()
        inputs, outputs = nested.elements(inputs), nested.elements(outputs)
        check_nodes(inputs, outputs)
        innode, outnode = Node(), Node()
        parts = [innode] if len(inputs) == 1 else innode.split(len(inputs))
        for node, part in zip(inputs, parts, strict=True):
            connect(node, [part])
        connect(outnode, outputs)
        check_connections(inputs, innode, outnode)
        layout = Layout(innode, outnode)
        self.fg, self.bg = layout.forward, layout.backward
        self.forwardnodes = nested.table(layout.forward_nodes)
        self.backwardnodes = nested.table(layout.backward_nodes)
        self.innode, self.outnode = innode, layout.backward_nodes[0]
        self.nInputs = len(inputs)
        self.verbose = False
        self.modules = [
            node.data["module"] for node in layout.forward_nodes if node.data.get("module")
        ]

    # ---- the order of work ----

    def steps(self) -> list[Step]:
        """What is done, node by node, in the order of the stored graph."""
        if self._steps is None:
            order = self._stored_order() or topological_order(self._out_data())
            places = {id(data): place for place, data in enumerate(order)}
            steps = []
            for place, data in enumerate(order):
                steps.append(Step(data, place, [places[id(s)] for s in sources_of(data)]))
            self._steps = steps
        return self._steps

    def _out_data(self) -> Any:
        return self.outnode.data

    def _stored_order(self) -> list[Any] | None:
        """The order in a file, when it lists every node after those that it needs."""
        nodes = self.__dict__.get("forwardnodes")
        if nodes is None:
            return None
        order = [node.data for node in nested.elements(nodes)]
        seen: set[int] = set()
        for data in order:
            if any(id(source) not in seen for source in sources_of(data)):
                return None
            seen.add(id(data))
        return order if id(self._out_data()) in seen else None

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        replaced = {}
        for module in self.modules:
            replaced[id(module)] = function(module)
        self.modules[:] = [replaced[id(module)] for module in self.modules]
        for step in self.steps():
            module = step.data.get("module")
            if id(module) in replaced:
                step.data["module"] = replaced[id(module)]

    # ---- forward ----

    def _walk_forward(
        self, input: Activation, run: Callable[[Any, Activation], Activation]
    ) -> list:
        """The inputs of all nodes; the last one is the output."""
        given: list[Activation] = []
        values: list[Activation] = []  # what every node passes on
        for step in self.steps():
            sources = step.sources
            if len(sources) == 1:
                taken = values[sources[0]]
            elif sources:
                taken = nested.table([values[source] for source in sources])
            else:
                taken = input
            given.append(taken)
            if step.select is not None:
                taken = self._select(taken, step)
            module = step.data.get("module")
            if module is not None:
                try:
                    taken = run(module, taken)
                except Exception as error:
                    self._locate(error, module)
                    raise
            values.append(taken)
        return given

    def _select(self, value: Activation, step: Step) -> Activation:
        if type(value) is list and step.select <= len(value):
            return value[step.select - 1]
        if type(value) is Table and (part := value.get(step.select)) is not None:
            return part
        if not nested.is_table(value):
            raise ValueError(
                f"nn.gModule: expected a table of {self.__dict__.get('nInputs', 'several')} "
                f"inputs, got {nested.describe(value)}"
            )
        parts = nested.elements(value)
        if step.select > len(parts):
            raise ValueError(
                f"nn.gModule: expected a table of at least {step.select} elements, got {len(parts)}"
            )
        return parts[step.select - 1]

    def _locate(self, error: Exception, module: Any) -> None:
        for index, own in enumerate(self.modules):
            if own is module:
                return locate(error, self, index, self._name_of(module))

    def _name_of(self, module: Any) -> str | None:
        """The name of the node that runs a module."""
        for step in self.steps():
            if step.data.get("module") is module:
                return name_of(step.data)
        return None

    def compute(self, input: Activation) -> Activation:
        return self._output(self._walk_forward(input, apply))

    def _output(self, given: list) -> Activation:
        return given[self._out_place()]

    def _out_place(self) -> int:
        out = self._out_data()
        steps = self.steps()
        return next(s.index for s in reversed(steps) if s.data is out)

    def updateOutput(self, input: Activation) -> Activation:
        self._record = self._given = self._passed = None
        recorded = bool(self.train or self._keeps_tape)
        if self._whole is not None and (again := self._whole.run_again(input, recorded)):
            self._record = again if recorded else None
            self._passed = input, again.run
            self.output = again.run.off_tape(self._whole.out)
            return self.output
        whole = self._as_one_function()
        if whole is None:
            self._given = self._walk_forward(input, run_forward)
            self.output = self._output(self._given)
            return self.output
        if recorded:
            self._record = GraphRecord(whole, input)
            values = self._record.values
        else:
            values = whole.run_without_tape(input)
        self._passed = input, values
        return self._set_output(values[whole.out])

    def _as_one_function(self) -> WholeGraph | None:
        """The graph as one function, when its modules are such that it may be."""
        if self._whole is None or not self._whole.is_current():
            self._whole = WholeGraph.of(self)
        return self._whole

    # ---- backward ----

    def _check_gradients(self, gradOutput: Activation) -> None:
        output = self.output
        if type(output) is Tensor or not nested.is_table(output):
            return
        wanted = len(nested.elements(output))
        count = len(nested.elements(gradOutput)) if nested.is_table(gradOutput) else None
        if count != wanted:
            found = "it is a tensor" if count is None else f"it has {count}"
            raise ValueError(
                f"nn.gModule: gradOutput must have one gradient for each of the {wanted} outputs, "
                f"{found}"
            )

    def _walk_backward(self, gradOutput: Activation, run: Callable) -> Activation:
        """Carries gradients from the output to the input; `run(module, input, gradient)`."""
        self._check_gradients(gradOutput)
        given_to = self._inputs_of_nodes()
        steps = self.steps()
        gradients: list[Activation] = [None] * len(steps)
        out = self._out_place()
        gradients[out] = gradOutput
        for step in reversed(steps):
            gradient, given = gradients[step.index], given_to[step.index]
            if gradient is None:
                continue
            module = step.data.get("module")
            taken = given if step.select is None else self._select(given, step)
            if type(gradient) is not Tensor:
                gradient = nested.fill_gaps(gradient, taken if module is None else module.output)
            if module is not None:
                try:
                    gradient = run(module, taken, gradient)
                except Exception as error:
                    self._locate(error, module)
                    raise
            if step.select is not None:
                parts: list[Activation] = [None] * len(nested.elements(given))
                parts[step.select - 1] = gradient
                gradient = parts
            sources = step.sources
            if len(sources) > 1:
                pieces = nested.elements(gradient)
            else:
                pieces = [gradient]
            for source, piece in zip(sources, pieces, strict=False):
                before = gradients[source]
                gradients[source] = piece if before is None else nested.add(before, piece)
            gradients[step.index] = gradient
        first = next(step for step in steps if not step.sources)
        return nested.fill_gaps(gradients[first.index], given_to[first.index])

    def _inputs_of_nodes(self) -> list[Activation]:
        """What all nodes got in the last forward."""
        if self._given is None:
            if self._passed is None or self._whole is None:
                raise RuntimeError("nn.gModule: backward needs a forward before it")
            self._given = self._whole.given(*self._passed)
        return self._given

    def _backward_at_once(
        self, input: Activation, gradOutput: Activation, of_input: bool, scale: float | None
    ) -> bool:
        """Runs the tape of the whole graph, if there is one that still holds.

        Args:
            of_input: set the `gradInput` of this and all modules?
            scale: for the gradients of the parameters; None leaves them alone.

        Returns:
            False when nothing was done.
        """
        self._check_gradients(gradOutput)
        record, whole = self._record, self._whole
        if not isinstance(record, GraphRecord) or whole is None or not whole.is_of(record):
            self._keeps_tape = True
            return False
        keeps = of_input and not whole.releases(record, self._drops_grad_inputs)
        try:
            of_inputs, of_parameters, of_modules = record.differentiate(
                whole, gradOutput, keeps, scale is not None
            )
        except (RuntimeError, TypeError, ValueError):
            # Something on the tape has changed, or the gradient does not fit: node by node,
            # this counts as in Torch7, or the error says at which module.
            return False
        if of_input:
            assert self._passed is not None
            self._set_grad_input(self._passed[0], of_inputs)
        if keeps:
            record.set_grad_inputs(whole, of_modules)
        if scale is not None:
            whole.accumulate(of_parameters, scale)
        return True

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        def run(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            result = module.backward(own_input, gradient, scale)
            self._used_grad_input_of(module)
            return result

        call = released_gradients.begin(self, input, gradOutput)
        try:
            if not self._backward_at_once(input, gradOutput, True, scale):
                self.gradInput = self._walk_backward(gradOutput, run)
        finally:
            released_gradients.end(call)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        def run(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            return module.updateGradInput(own_input, gradient)

        if not self._backward_at_once(input, gradOutput, True, None):
            self.gradInput = self._walk_backward(gradOutput, run)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        def accumulate(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            module.accGradParameters(own_input, gradient, scale)
            return module.gradInput

        if not self._backward_at_once(input, gradOutput, False, scale):
            self._walk_backward(gradOutput, accumulate)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        def accumulate(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            module.accUpdateGradParameters(own_input, gradient, lr)
            return module.gradInput

        self._walk_backward(gradOutput, accumulate)

    def evaluate(self) -> Any:
        if self._record is not None:
            self._inputs_of_nodes()  # off the tape, which is let go
            self._passed = None
        return super().evaluate()

    def clearState(self) -> Any:
        self._given = self._passed = None
        for step in self.steps():
            for key in ("input", "gradOutput"):
                if step.data.get(key) is not None:
                    step.data[key] = None
        return super().clearState()

    def to_dot(self, title: str = "G") -> str:
        """The graph as text for Graphviz: `dot -Tsvg`.

        >>> from relume import legacy_nn as nn
        >>> x = nn.Identity()()
        >>> print(nn.gModule([x], [nn.Tanh()(x)]).to_dot())
        digraph G {
          n1 [label="input"];
          n2 [label="nn.Identity"];
          n3 [label="nn.Tanh"];
          n4 [label="output"];
          n1 -> n2;
          n2 -> n3;
          n3 -> n4;
        }
        """
        return dot_text(title, self.steps())

    def __str__(self) -> str:
        return self.__dict__.get("name") or self.torch_typename


def dot_text(title: str, steps: list[Step]) -> str:
    """Steps as nodes for Graphviz, with the attributes that `graphAttributes` notes."""
    lines = []
    for step in steps:
        attributes = {"label": label_of(step.data)}
        noted = step.data.get("annotations")
        noted = noted.get("graphAttributes") if noted is not None else None
        attributes.update({str(key): str(value) for key, value in (noted or {}).items()})
        texts = [f"{key}={quoted(value)}" for key, value in attributes.items()]
        lines.append(f"  n{step.index + 1} [{', '.join(texts)}];")
    for step in steps:
        lines += [f"  n{source + 1} -> n{step.index + 1};" for source in step.sources]
    name = title if title.isidentifier() else quoted(title)
    return "\n".join([f"digraph {name} {{", *lines, "}"])


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@register("nn.ModuleFromCriterion")
class ModuleFromCriterion(Module):
    """A criterion as a module: its input is {input, target}, its output one number.

    Args:
        criterion: the criterion.
    """

    parameter_names = ()

    def __init__(self, criterion: Any) -> None:
        super().__init__()
        self.criterion = criterion

    def children(self) -> list[Any]:
        return [self.criterion]

    def compute(self, input: Activation) -> Tensor:
        value, target = nested.elements(input)[:2]
        # No gradient goes to the target.
        return self.criterion(value, nested.map_tensors(Tensor.detach, target)).reshape((1,))


@register("nngraph.JustTable")
class JustTable(Module):
    """A table with the input as its only element; what nngraph.nest puts into a graph."""

    parameter_names = ()

    def compute(self, input: Activation) -> Activation:
        return nested.table([input])


@register("nngraph.JustElement")
class JustElement(Module):
    """The only element of a table."""

    parameter_names = ()

    def compute(self, input: Activation) -> Activation:
        return nested.elements(input)[0]
