"""ONNX graphs as old networks: an nn.Sequential where they are chains, an nn.gModule otherwise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from relume import legacy_nn
from relume.converters.formats import CannotConvert, Refusal
from relume.converters.importing import onnx_planes as onnx_planes  # fills the table
from relume.converters.importing import onnx_recurrent as onnx_recurrent
from relume.converters.importing.building import Value, apply, finished, start
from relume.converters.importing.onnx_layers import LAYERS, Cannot, Operation

__all__ = ["load", "network_of"]

nn: Any = legacy_nn  # most layers are rows of its tables


def load(path: Path) -> Any:
    """The network in an ONNX file.

    Raises:
        CannotConvert: it has operations without a counterpart in Torch7; lists them all.
        ImportError: the package onnx is not installed.
    """
    import onnx

    return network_of(onnx.load(str(path)))


def network_of(model: Any) -> Any:
    """An old network that computes what an ONNX model does.

    Args:
        model: an `onnx.ModelProto`.

    Raises:
        CannotConvert: it has operations without a counterpart in Torch7; lists them all.
    """
    return Reader(model).network()


class Reader:
    """Builds the network, node by node."""

    def __init__(self, model: Any) -> None:
        import onnx
        from onnx import numpy_helper, shape_inference

        self.graph = shape_inference.infer_shapes(model, data_prop=True).graph
        self.constants: dict[str, np.ndarray] = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer
        }
        self.ranks = ranks_of(self.graph)
        self.shapes = shapes_of(self.graph)
        self.needed = {name for node in self.graph.node for name in node.input}
        self.needed |= {item.name for item in self.graph.output}
        self.values: dict[str, Value] = {}
        self.refused: Counter[tuple[str, str]] = Counter()
        self._attribute = onnx.helper.get_attribute_value
        self._array = numpy_helper.to_array

    def network(self) -> Any:
        inputs = [item for item in self.graph.input if item.name not in self.constants]
        for item in inputs:
            self.values[item.name] = start()
        starts = [self.values[item.name] for item in inputs]
        for node in self.graph.node:
            self.read(node)
        if self.refused:
            reasons = [Refusal(f"ONNX {op}", n, why) for (op, why), n in self.refused.items()]
            raise CannotConvert("t7", reasons)
        ends = [self.values[item.name] for item in self.graph.output]
        return finished(starts, ends, list(self.values.values()))

    def read(self, node: Any) -> None:
        """Puts one operation's outputs among the values."""
        attributes = {a.name: self._attribute(a) for a in node.attribute}
        if node.op_type == "Constant":
            self.constants[node.output[0]] = self._array(attributes["value"])
            return
        try:
            if self.fold(node):
                return
        except Cannot as error:
            self.refused[node.op_type, str(error)] += 1
            return
        operation = Operation(
            node.op_type,
            attributes,
            [self.constants.get(name) for name in node.input],
            [self.ranks.get(name) for name in node.input],
            self.shapes.get(node.input[0], []) if node.input else [],
            [name if name in self.needed else "" for name in node.output],
        )
        try:
            reader = LAYERS.get(node.op_type)
            if reader is None:
                raise Cannot("no layer of Torch7 does this")
            made = reader(operation)
        except Cannot as error:
            self.refused[node.op_type, str(error)] += 1
            made = [nn.Identity() for _ in node.output]
        if isinstance(made, np.ndarray):
            self.constants[node.output[0]] = made
            return
        sources = [self.values[n] for n in node.input if n in self.values]
        if not sources:
            raise CannotConvert("t7", [Refusal(f"ONNX {node.op_type}", 1, "it has no input")])
        modules = made if isinstance(made, list) else [made]
        for name, module in zip(node.output, modules, strict=False):
            if module is not None:
                self.values[name] = apply(module, sources, node.name)

    def fold(self, node: Any) -> bool:
        """Computes what is constant, sizes among it; says whether the node was that."""
        from onnx.reference import ReferenceEvaluator

        shape = self.shapes.get(node.input[0], [None]) if node.input else [None]
        if node.op_type == "Shape" and None not in shape:
            self.constants[node.output[0]] = np.array(shape, np.int64)
            return True
        if not all(name in self.constants for name in node.input if name) or not node.output:
            return False
        feeds = {name: self.constants[name] for name in node.input if name}
        try:
            results: Any = ReferenceEvaluator(node).run(None, feeds)
        except Exception as error:  # of whatever kind: package onnx says what it cannot do
            raise Cannot(f"package onnx cannot compute it: {error}") from error
        self.constants.update(zip(node.output, results, strict=False))
        return True


def ranks_of(graph: Any) -> dict[str, int]:
    """How many dimensions every value has, where that is known."""
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    for item in [*graph.input, *graph.value_info, *graph.output]:
        if item.type.HasField("tensor_type") and item.type.tensor_type.HasField("shape"):
            ranks[item.name] = len(item.type.tensor_type.shape.dim)
    return ranks


def shapes_of(graph: Any) -> dict[str, list[int | None]]:
    """The sizes of the values, None where one is not fixed."""
    shapes: dict[str, list[int | None]] = {}
    for item in [*graph.input, *graph.value_info, *graph.output]:
        if item.type.HasField("tensor_type") and item.type.tensor_type.HasField("shape"):
            dims = item.type.tensor_type.shape.dim
            shapes[item.name] = [d.dim_value if d.HasField("dim_value") else None for d in dims]
    return shapes
