"""An ONNX graph that grows: nodes, initialisers, and names for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from relume.converters.graph import Axis, Graph, Node, Recording, Size, Value

__all__ = ["ELEMENT_TYPES", "Builder", "NeedsFixedSizeError", "UnexportableError"]

# ONNX's type of elements, by the name of ours; floating ones follow the option dtype.
ELEMENT_TYPES = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
}
FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})


class UnexportableError(ValueError):
    """An op, or a way to call it, that ONNX has no nodes for."""


class NeedsFixedSizeError(ValueError):
    """Nodes can only be written for a size that is fixed.

    Attributes:
        axes: names of those that would have to be.
    """

    def __init__(self, size: Size) -> None:
        self.axes = [axis.name for axis in size.axes]
        super().__init__(f"the size {size} must be fixed")


class Builder:
    """Collects the parts of an ONNX graph.

    Attributes:
        dtype: the name of the type of all floating numbers.
        graph: what is written: the whole graph, or the body of a loop.
        write: adds the nodes for a call.
    """

    def __init__(self, graph: Graph, dtype: str, write: Callable[[Builder, Node], None]) -> None:
        self.dtype = dtype
        self.graph: Graph | Recording = graph
        self.inputs = graph.inputs
        self.write = write
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.names: dict[int, str] = {id(value): value.name for value in graph.inputs}
        self.cached: dict[Any, str] = {}
        self.used: set[str] = {value.name for value in graph.inputs}
        self.layer = ""

    # ---- types ----

    def type_of(self, dtype: Any) -> int:
        """ONNX's number for a type of elements."""
        return ELEMENT_TYPES[self.type_name(dtype)]

    def type_name(self, dtype: Any) -> str:
        name = str(dtype).removeprefix("relume.")
        if name in FLOATING:
            return self.dtype
        if name not in ELEMENT_TYPES:
            raise UnexportableError(f"elements of type {name}")
        return name

    def numpy_type(self, dtype: Any) -> np.dtype:
        return np.dtype(self.type_name(dtype))

    # ---- names ----

    def unused(self, wish: str) -> str:
        name, number = wish, 1
        while name in self.used:
            number += 1
            name = f"{wish}.{number}"
        self.used.add(name)
        return name

    def name_of(self, value: Value) -> str:
        """The name of a value in the ONNX graph; of a constant, which becomes an initialiser."""
        name = self.names.get(id(value))
        if name is None:
            if value.tensor is None:
                raise KeyError(f"no node gives {value.name}")
            array = value.tensor.detach().numpy()
            name = self.initializer(array.astype(self.numpy_type(value.dtype)), value.name)
            self.names[id(value)] = name
        return name

    # ---- parts ----

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Adds a node.

        Args:
            op_type: ONNX's name of the operator.
            inputs: names; "" for one that is left out.
            outputs: how many it gives.
            attributes: those that are None are left out.

        Returns:
            The name of its output, or a list of them when `outputs` is not 1.
        """
        place = f"{self.layer}/{op_type}" if self.layer else op_type
        names = [self.unused(place) for _ in range(outputs)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op_type, inputs, names, name=names[0], **given))
        return names[0] if outputs == 1 else names

    def initializer(self, array: np.ndarray, wish: str) -> str:
        name = self.unused(wish)
        self.initializers[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def constant(self, array: Any, dtype: Any = "int64") -> str:
        """A small constant; equal ones share a name."""
        typed = np.asarray(array).astype(self.numpy_type(dtype))
        key = (typed.dtype.str, typed.shape, typed.tobytes())
        if key not in self.cached:
            self.cached[key] = self.initializer(typed, "constant")
        return self.cached[key]

    def size(self, size: int | Size) -> str:
        """A size as a vector of one element."""
        if not isinstance(size, Size):
            return self.constant([size])
        if not size.is_known:
            raise NeedsFixedSizeError(size)
        key = ("size", str(size))
        if key not in self.cached:
            name = self.free_size(size.axes[0])
            for axis in size.axes[1:]:
                name = self.add("Mul", name, self.free_size(axis))
            if size.scale != 1:
                name = self.add("Mul", name, self.constant([size.scale]))
            if size.offset:
                name = self.add("Add", name, self.constant([size.offset]))
            self.cached[key] = name
        return self.cached[key]

    def free_size(self, axis: Axis) -> str:
        key = ("axis", axis.name)
        if key not in self.cached:
            number, dim = axis.places[0]
            source = self.inputs[number].name
            self.cached[key] = self.add("Shape", source, start=dim, end=dim + 1)
        return self.cached[key]

    def sizes(self, sizes: Sequence[int | Size]) -> str:
        """Several sizes as a vector."""
        if not any(isinstance(size, Size) for size in sizes):
            return self.constant(list(sizes))
        return self.add("Concat", *(self.size(size) for size in sizes), axis=0)

    # ---- loops ----

    def body(self, part: Recording) -> onnx.GraphProto:
        """The graph of a loop's body. Its constants stand in the graph around it, which it sees."""
        around = (self.graph, self.nodes, self.layer)
        self.graph, self.nodes = part, []
        known = dict(self.cached)
        for value in part.inputs:
            self.names[id(value)] = self.unused(value.name)
        for node in part.nodes:
            self.layer = node.layer
            self.write(self, node)
        outputs = [self.add("Identity", self.name_of(value)) for value in part.outputs]
        made = helper.make_graph(
            self.nodes,
            "step",
            [self.value_info(value, self.names[id(value)]) for value in part.inputs],
            [self.value_info(v, name) for v, name in zip(part.outputs, outputs, strict=True)],
        )
        self.graph, self.nodes, self.layer = around
        constants = {k: name for k, name in self.cached.items() if name in self.initializers}
        self.cached = {**constants, **known}
        return made

    # ---- the whole ----

    def give_output(self, source: str, name: str) -> None:
        """Makes a value an output with a name: what the node that gives it is renamed to, unless
        it is an output already, an input or an initialiser."""
        is_output = source == "output" or source.startswith("output.")
        for node in reversed(self.nodes):
            if source in node.output and not is_output:
                self.rename(source, name)
                return
        self.nodes.append(helper.make_node("Identity", [source], [name], name=name))

    def rename(self, old: str, new: str) -> None:
        for node in nodes_in(self.nodes):
            for names in (node.input, node.output):
                names[:] = [new if name == old else name for name in names]
        self.names = {key: new if name == old else name for key, name in self.names.items()}

    def value_info(self, value: Value, name: str) -> onnx.ValueInfoProto:
        shape = [
            None if isinstance(size, Size) and not size.is_known else dimension(size)
            for size in value.shape
        ]
        return helper.make_tensor_value_info(name, self.type_of(value.dtype), shape)


def nodes_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Nodes, and those in the bodies of loops."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from nodes_in(attribute.g.node)


def dimension(size: int | Size) -> int | str:
    return str(size) if isinstance(size, Size) else size
