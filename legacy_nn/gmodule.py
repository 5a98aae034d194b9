"""nngraph: networks as graphs of modules.

In a graph's nodes, the table `data` is what counts: `data.module` is what the node runs,
`data.mapindex` lists the `data` of the nodes whose outputs it gets, in order,
`data.selectindex` says which element of its input a node passes on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.container import Container
from relume.legacy_nn.errors import locate, not_runnable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


class GraphObject:
    """The base of the objects that a graph is made of; attributes are fields."""

    torch_typename = "graph.Object"

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"{self.torch_typename}({self.__dict__.get('id', '')})"


@register("graph.Graph")
class Graph(GraphObject):
    """Nodes and edges."""


@register("graph.Edge")
class Edge(GraphObject):
    """From one node to another."""


@register("graph.Node")
class GraphNode(GraphObject):
    """A node of a graph that is not a network."""


@register("nngraph.Node")
class Node(GraphObject):
    """A node of a network: `nn.Tanh()(node)` makes one.

    >>> from relume import legacy_nn as nn
    >>> x = nn.Identity()()
    >>> y = nn.Tanh()(nn.Linear(3, 2)(x))
    >>> nn.gModule([x], [y])
    nn.gModule
    """

    data: Table

    def __init__(self, module: Any = None) -> None:
        self.data = Table()
        self.data["mapindex"] = Table()
        self.data["annotations"] = Table()
        if module is not None:
            self.data["module"] = module
        self.children = Table()

    @property
    def inputs(self) -> list:
        """The `data` of the nodes whose outputs it gets."""
        return nested.elements(self.data["mapindex"])

    def annotate(self, **annotations: Any) -> Node:
        """Notes anything about the node, such as its name."""
        for key, value in annotations.items():
            self.data["annotations"][key] = value
        return self

    def split(self, count: int) -> tuple[Node, ...]:
        """One node per element of the table that this node gives.

        >>> from relume import legacy_nn as nn
        >>> a, b = nn.Identity()().split(2)
        """
        middle = connect(Node(), [self])
        middle.data["nSplitOutputs"] = count
        parts = []
        for index in range(1, count + 1):
            part = connect(Node(), [middle])
            part.data["selectindex"] = index
            parts.append(part)
        return tuple(parts)

    def __neg__(self) -> Node:
        from relume.legacy_nn.pointwise import MulConstant  # type: ignore[attr-defined]

        return MulConstant(-1)(self)

    def __add__(self, other: Node) -> Node:
        from relume.legacy_nn.table_layers import CAddTable

        return CAddTable()([self, other])

    def __sub__(self, other: Node) -> Node:
        from relume.legacy_nn.table_layers import CSubTable  # type: ignore[attr-defined]

        return CSubTable()([self, other])

    def __mul__(self, other: Node) -> Node:
        from relume.legacy_nn.table_layers import CMulTable  # type: ignore[attr-defined]

        return CMulTable()([self, other])


def connect(node: Node, sources: list[Node]) -> Node:
    """Lets a node get the outputs of others."""
    mapindex = node.data["mapindex"]
    for source in sources:
        mapindex[len(mapindex) + 1] = source.data
        source.children[len(source.children) + 1] = node
    return node


def is_node_call(inputs: tuple) -> bool:
    """Are these the arguments of a call that makes a node: nothing, nodes, or a list of them?"""
    if not inputs:
        return True
    first = inputs[0]
    if isinstance(first, (list, tuple)) and first:
        return all(isinstance(element, Node) for element in first)
    return all(isinstance(element, Node) for element in inputs)


def make_node(module: Module, inputs: tuple) -> Node:
    """A node that runs a module on the outputs of other nodes."""
    sources = list(inputs[0]) if inputs and isinstance(inputs[0], (list, tuple)) else list(inputs)
    return connect(Node(module), sources)


class Step:
    """What is done for one node: where its inputs come from and what happens to them."""

    __slots__ = ("data", "index", "select", "sources")

    def __init__(self, data: Any, index: int, sources: list[int]):
        self.data = data
        self.index = index
        self.sources = sources
        self.select = data.get("selectindex")


def topological_order(last: Any) -> list[Any]:
    """The `data` tables that lead to `last`, every one after those that it needs."""
    order: list[Any] = []
    seen: set[int] = set()
    stack = [(last, False)]
    while stack:
        data, is_finished = stack.pop()
        if is_finished:
            order.append(data)
            continue
        if id(data) in seen:
            continue
        seen.add(id(data))
        stack.append((data, True))
        mapindex = data.get("mapindex")
        for source in reversed(nested.elements(mapindex) if mapindex is not None else []):
            stack.append((source, False))
    return order


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

    __slots__ = ("_steps", "_values")
    _steps: list[Step] | None  # what is done, worked out when first asked for
    _values: list[Activation] | None  # the inputs of all nodes in the last forward

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._steps = None
        self._values = None
        return self

    def __init__(self, inputs: list[Node], outputs: list[Node]) -> None:
        super().__init__()
        innode, outnode = Node(), Node()
        if len(inputs) == 1:
            self._enter(inputs[0], innode)
        else:
            for node, part in zip(inputs, innode.split(len(inputs)), strict=False):
                self._enter(node, part)
        connect(outnode, list(outputs))
        self.innode, self.outnode = innode, outnode
        self.nInputs = len(inputs)
        self.verbose = False
        self.modules = [
            data["module"] for data in topological_order(outnode.data) if data.get("module")
        ]

    @staticmethod
    def _enter(node: Node, source: Node) -> None:
        if node.inputs:
            raise ValueError("nn.gModule: an input node gets its input from elsewhere")
        connect(node, [source])

    # ---- the order of work ----

    def steps(self) -> list[Step]:
        """What is done, node by node, in the order of the stored graph."""
        if self._steps is None:
            order = self._stored_order() or topological_order(self._out_data())
            places = {id(data): place for place, data in enumerate(order)}
            steps = []
            for place, data in enumerate(order):
                mapindex = data.get("mapindex")
                sources = nested.elements(mapindex) if mapindex is not None else []
                steps.append(Step(data, place, [places[id(source)] for source in sources]))
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
            mapindex = data.get("mapindex")
            if any(id(s) not in seen for s in (nested.elements(mapindex) if mapindex else [])):
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
            if not step.sources:
                taken = input
            elif len(step.sources) == 1:
                taken = values[step.sources[0]]
            else:
                taken = nested.table([values[source] for source in step.sources])
            given.append(taken)
            if step.select is not None:
                taken = self._select(taken, step)
            module = step.data.get("module")
            values.append(taken if module is None else run(module, taken))
        return given

    def _select(self, value: Activation, step: Step) -> Activation:
        if not nested.is_table(value):
            raise ValueError(
                f"nn.gModule: expected a table of {self.__dict__.get('nInputs', 'several')} "
                f"inputs, got {nested.describe(value)}"
            )
        parts = nested.elements(value)
        if step.select > len(parts):
            raise ValueError(
                f"nn.gModule: expected a table of at least {int(step.select)} elements, "
                f"got {len(parts)}"
            )
        return parts[int(step.select) - 1]

    def _checked(self, module: Any, run: Callable[[], Activation]) -> Activation:
        try:
            if not isinstance(module, Module):
                raise not_runnable(module)
            return run()
        except Exception as error:
            self._locate(error, module)
            raise

    def _locate(self, error: Exception, module: Any) -> None:
        for index, own in enumerate(self.modules):
            if own is module:
                return locate(error, self, index)

    def compute(self, input: Activation) -> Activation:
        given = self._walk_forward(input, lambda m, x: self._checked(m, lambda: m(x)))
        return self._output(given)

    def _output(self, given: list) -> Activation:
        return given[self._out_place()]

    def _out_place(self) -> int:
        out = self._out_data()
        steps = self.steps()
        return next(s.index for s in reversed(steps) if s.data is out)

    def updateOutput(self, input: Activation) -> Activation:
        self._values = self._walk_forward(
            input, lambda m, x: self._checked(m, lambda: m.forward(x))
        )
        self.output = self._output(self._values)
        return self.output

    # ---- backward ----

    def _walk_backward(self, gradOutput: Activation, run: Callable) -> Activation:
        """Carries gradients from the output to the input; `run(module, input, gradient)`."""
        if self._values is None:
            raise RuntimeError("nn.gModule: backward needs a forward before it")
        steps = self.steps()
        gradients: list[Activation] = [None] * len(steps)
        out = self._out_place()
        gradients[out] = gradOutput
        for step in reversed(steps):
            gradient, given = gradients[step.index], self._values[step.index]
            if gradient is None:
                continue
            module = step.data.get("module")
            taken = self._select(given, step) if step.select is not None else given
            gradient = nested.fill_gaps(gradient, taken if module is None else module.output)
            if module is not None:
                gradient = self._checked(module, partial(run, module, taken, gradient))
            if step.select is not None:
                parts: list[Activation] = [None] * len(nested.elements(given))
                parts[int(step.select) - 1] = gradient
                gradient = parts
            if len(step.sources) == 1:
                self._deliver(gradients, step.sources[0], gradient)
            for source, part in zip(step.sources, self._parts(gradient, step), strict=False):
                self._deliver(gradients, source, part)
            gradients[step.index] = gradient
        first = next(step for step in steps if not step.sources)
        return nested.fill_gaps(gradients[first.index], self._values[first.index])

    @staticmethod
    def _parts(gradient: Activation, step: Step) -> list[Activation]:
        return nested.elements(gradient) if len(step.sources) > 1 else []

    @staticmethod
    def _deliver(gradients: list, place: int, gradient: Activation) -> None:
        gradients[place] = nested.add(gradients[place], gradient)

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        self.gradInput = self._walk_backward(gradOutput, lambda m, x, g: m.backward(x, g, scale))
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._walk_backward(gradOutput, lambda m, x, g: m.updateGradInput(x, g))
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        def accumulate(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            module.accGradParameters(own_input, gradient, scale)
            return module.gradInput

        self._walk_backward(gradOutput, accumulate)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        def accumulate(module: Any, own_input: Activation, gradient: Activation) -> Activation:
            module.accUpdateGradParameters(own_input, gradient, lr)
            return module.gradInput

        self._walk_backward(gradOutput, accumulate)

    def clearState(self) -> Any:
        self._values = None
        for step in self.steps():
            for key in ("input", "gradOutput"):
                if step.data.get(key) is not None:
                    step.data[key] = None
        return super().clearState()

    def __str__(self) -> str:
        return self.__dict__.get("name") or self.torch_typename


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
