"""Layers without a rule, as the ops that they call: a class with one statement per op.

What such a class computes is what the layer computes in evaluate mode on inputs like the example.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.graph import Graph, Node, Size, Traces, UntraceableError, Value
from relume.converters.object_tree import memory_of
from relume.converters.pytorch.classes import ClassSource
from relume.converters.pytorch.expressions import Expression, expression_of, literal
from relume.converters.pytorch.layers import Call, Cannot, Weight
from relume.converters.pytorch.rules import rule_of
from relume.converters.pytorch.statements import identifier
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.tracing import Watched

__all__ = ["Example", "examples_of", "may_be_traced", "traced_call"]

METHODS = ("updateOutput", "compute")


@dataclass(frozen=True)
class Example:
    """What a layer got in a run of its network, and what it gave."""

    input: Any
    output: Any


def may_be_traced(module: Any) -> bool:
    """Is it a layer that has no rule, but can run?"""
    is_layer = isinstance(module, Module) and not isinstance(module, Criterion)
    return is_layer and rule_of(module) is None


def examples_of(network: Any, inputs: Any) -> dict[int, Example]:
    """An example for every layer without a rule, by the id of the layer.

    Args:
        inputs: an activation that the network takes, in evaluate mode.
    """
    if not isinstance(network, Module):
        return {}
    layers = [module for module in network.walk() if may_be_traced(module)]
    found: dict[int, Example] = {}
    if layers:
        from relume.converters.proof.running import evaluating

        with evaluating(network), rl.no_grad(), listening(layers, found):
            network.forward(inputs)
    return found


@contextmanager
def listening(layers: list[Any], found: dict[int, Example]) -> Iterator[None]:
    for layer in layers:
        for method in METHODS:
            layer.__dict__[method] = Listener(layer, method, found)
    try:
        yield
    finally:
        for layer in layers:
            for method in METHODS:
                layer.__dict__.pop(method, None)


class Listener(Watched):
    """Stands in the place of a layer's method and keeps what it got first."""

    def __init__(self, module: Any, method: str, found: dict[int, Example]) -> None:
        self.module = module
        self.method = method
        self.found = found

    def __call__(self, *arguments: Any) -> Any:
        given = nested.map_tensors(lambda tensor: tensor.detach().clone(), arguments[0])
        output = getattr(type(self.module), self.method)(self.module, *arguments)
        if id(self.module) not in self.found:
            kept = nested.map_tensors(lambda tensor: tensor.detach().clone(), output)
            self.found[id(self.module)] = Example(given, kept)
        return output

    def for_copy(self, module: Any) -> Any:
        return Listener(module, self.method, self.found)


def traced_call(layer: Any, example: Example, name: str, documentation: str) -> Call:
    """The constructor of a class for a layer.

    Raises:
        Cannot: what it computes is no graph of ops that PyTorch has.
    """
    try:
        traces = Traces(layer, example.input)
    except UntraceableError as error:
        raise Cannot(error.reason) from None
    writer = ClassWriter(layer, example, traces)
    source = ClassSource(name, documentation)
    source.lines, source.ties = writer.lines, writer.buffers
    source.attributes = writer.parameters
    return Call(source, weights=tuple(writer.weights), origin=layer)


class ClassWriter:
    """Writes the statements of one class.

    Attributes:
        lines: of forward.
        parameters: the constructors of parameters, by attribute.
        buffers: statements that make the other tensors.
        weights: the tensors of both.
    """

    def __init__(self, layer: Any, example: Example, traces: Traces) -> None:
        self.lines: list[str] = []
        self.parameters: dict[str, Call] = {}
        self.buffers: list[str] = []
        self.weights: list[Weight] = []
        self.trained = {memory_of(tensor) for tensor in layer.parameters()[0]}
        self.graph: Graph = traces.graph(without=unknown_axes(traces), fold=False)
        self.names: dict[int, str] = {}
        self.count = 0
        self.write_inputs(example.input)
        for node in self.graph.nodes:
            self.write_node(node)
        outputs = iter(self.graph.outputs)
        self.lines.append(f"return {self.structure(example.output, outputs)}")

    def new_name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    # ---- inputs and outputs ----

    def write_inputs(self, given: Any) -> None:
        inputs = iter(self.graph.inputs)
        if isinstance(given, Tensor):
            self.names[id(next(inputs))] = "x"
            return

        def pattern(value: Any) -> str:
            if isinstance(value, Tensor):
                name = self.names[id(next(inputs))] = f"x{len(self.names) + 1}"
                return name
            if not nested.is_table(value):
                return "_"
            return tuple_text([pattern(element) for element in nested.elements(value)])

        self.lines.append(f"{pattern(given)} = x")

    def structure(self, output: Any, values: Iterator[Value]) -> str:
        if isinstance(output, Tensor):
            return self.name_of(next(values))
        if not nested.is_table(output):
            raise Cannot("its output is a number, no tensor")
        return tuple_text([self.structure(part, values) for part in nested.elements(output)])

    # ---- values ----

    def name_of(self, value: Value) -> str:
        name = self.names.get(id(value))
        if name is None:
            if value.tensor is None:
                raise Cannot("takes a tensor that no op has given")
            name = self.names[id(value)] = f"self.{self.attribute(value, value.tensor)}"
        return name

    def attribute(self, value: Value, tensor: Tensor) -> str:
        """Makes a constant an attribute."""
        wish = identifier(value.name.rpartition(".")[2] or "constant") or "constant"
        taken = {weight.name for weight in self.weights}
        name, number = wish, 2
        while name in taken:
            name, number = f"{wish}_{number}", number + 1
        self.weights.append(Weight(name, (tensor,)))
        sizes = ", ".join(map(str, tensor.shape)) or "()"
        if memory_of(tensor) in self.trained:
            empty = Call("torch.empty", {f"size{i}": n for i, n in enumerate(tensor.shape)}, 9)
            self.parameters[name] = Call("nn.Parameter", {"data": empty}, 1)
        else:
            kind = "" if tensor.is_floating_point() else f", dtype={literal(tensor.dtype)}"
            self.buffers.append(f'self.register_buffer("{name}", torch.empty({sizes}{kind}))')
        return name

    def size_text(self, size: Size) -> str:
        factors = []
        for axis in size.axes:
            number, dim = axis.places[0]
            factors.append(f"{self.names[id(self.graph.inputs[number])]}.shape[{dim}]")
        text = " * ".join([str(size.scale), *factors] if size.scale != 1 else factors)
        sign = "+" if size.offset > 0 else "-"
        return f"{text} {sign} {abs(size.offset)}" if size.offset else text

    def text(self, argument: Any) -> str:
        if isinstance(argument, Value):
            return self.name_of(argument)
        if isinstance(argument, Size):
            return self.size_text(argument)
        if isinstance(argument, (list, tuple)):
            return f"[{', '.join(map(self.text, argument))}]"
        if is_floating(argument):
            return f"{self.names[id(self.floating_input)]}.dtype"
        return literal(argument)

    @property
    def floating_input(self) -> Value:
        """The input whose type the numbers in between have."""
        found = next((value for value in self.graph.inputs if is_floating(value.dtype)), None)
        if found is None:
            raise Cannot("makes floating numbers of whole ones")
        return found

    # ---- statements ----

    def write_node(self, node: Node) -> None:
        expression = expression_of(node)
        text = self.filled(expression, node)
        names = []
        for output in node.outputs:
            names.append(self.new_name())
            self.names[id(output)] = names[-1]
        self.lines.append(f"{', '.join(names)} = {text}")

    def filled(self, expression: Expression, node: Node) -> str:
        given = {name: self.text(value) for name, value in node.arguments.items()}
        return expression(node, given)


def is_floating(dtype: Any) -> bool:
    return isinstance(dtype, rl.dtype) and dtype.is_floating_point


def unknown_axes(traces: Traces) -> list[str]:
    """The axes that some number follows in no known way: their sizes are fixed."""
    fixed: list[str] = []
    for axis in traces.axes:
        without = [other.name for other in traces.axes if other is not axis]
        graph = traces.graph(without=without, fold=False)
        if any(not size.is_known for node in graph.nodes for size in sizes_in(node)):
            fixed.append(axis.name)
    return fixed


def sizes_in(node: Node) -> Iterator[Size]:
    waiting = list(node.arguments.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, Size):
            yield value
        elif isinstance(value, list):
            waiting += value


def tuple_text(parts: list[str]) -> str:
    return f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"
