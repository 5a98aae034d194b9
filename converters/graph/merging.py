"""One graph from several runs: what differs between runs of other sizes follows these sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relume import Tensor
from relume.converters.graph.model import Axis, Graph, Size, UntraceableError, Value
from relume.converters.graph.recording import Recording

__all__ = ["check_same", "fit", "merge"]


def fit(value: int, axes: Sequence[Axis], runs: Sequence[tuple[int, int]]) -> int | Size:
    """A number that was `value`, as a formula of the sizes that it follows.

    Args:
        value: in the first run.
        axes: one per further run.
        runs: (size of the axis, number) in each of them.

    >>> batch = Axis("batch", ((0, 0),), 4)
    >>> str(fit(9, [batch], [(5, 11)])), fit(9, [batch], [(5, 9)])
    ('2*batch+1', 9)
    """
    changed = [i for i, (_, number) in enumerate(runs) if number != value]
    if not changed:
        return value
    follows = tuple(axes[i] for i in changed)
    if len(changed) == 1:
        axis, (size, number) = follows[0], runs[changed[0]]
        scale, rest = divmod(number - value, size - axis.size)
        if rest == 0:
            return Size(follows, scale, value - scale * axis.size, value)
        return Size((), 0, 0, value)
    product = math.prod(axis.size for axis in follows)
    is_product = value % product == 0 and all(
        value * runs[i][0] == runs[i][1] * axes[i].size for i in changed
    )
    return Size(follows, value // product, 0, value) if is_product else Size((), 0, 0, value)


class Merger:
    """Walks over all runs at once.

    Attributes:
        axes: what the further runs differ by.
        sizes: of these axes in these runs.
    """

    def __init__(self, axes: Sequence[Axis], sizes: Sequence[int]) -> None:
        self.axes = axes
        self.sizes = sizes
        self.values: dict[int, Value] = {}

    def number(self, numbers: Sequence[int]) -> int | Size:
        first, *others = numbers
        return fit(first, self.axes, list(zip(self.sizes, others, strict=True)))

    def value(self, found: Sequence[Value]) -> Value:
        """The merged value; merged once, so that values keep their identity."""
        first = found[0]
        known = self.values.get(id(first))
        if known is not None:
            return known
        sizes = zip(*(value.shape for value in found), strict=True)
        shape = tuple(self.number([int(size) for size in same]) for same in sizes)
        merged = Value(first.name, shape, first.dtype, first.tensor, first.names)
        self.values[id(first)] = merged
        return merged

    def argument(self, found: Sequence[Any]) -> Any:
        first = found[0]
        if isinstance(first, Value):
            return self.value(found)
        if isinstance(first, list):
            return [self.argument(elements) for elements in zip(*found, strict=True)]
        if isinstance(first, Recording):
            return self.recording(found)
        if isinstance(first, int) and not isinstance(first, bool):
            return self.number(found)
        return first

    def values_of(self, found: Sequence[Sequence[Value]]) -> list[Value]:
        return [self.value(same) for same in zip(*found, strict=True)]

    def recording(self, runs: Sequence[Recording]) -> Recording:
        """The inputs, nodes and outputs of recordings with the same nodes."""
        inputs = self.values_of([run.inputs for run in runs])
        nodes = []
        for same in zip(*(run.nodes for run in runs), strict=True):
            arguments = {
                name: self.argument([node.arguments[name] for node in same])
                for name in same[0].arguments
            }
            outputs = self.values_of([node.outputs for node in same])
            nodes.append(replace(same[0], arguments=arguments, outputs=outputs))
        return Recording(inputs, self.values_of([run.outputs for run in runs]), nodes)


def merge(runs: Sequence[Recording], axes: Sequence[Axis], sizes: Sequence[int]) -> Graph:
    """The graph of runs with the same nodes.

    Args:
        runs: the first one, and one for each axis.
        axes: what the further ones differ by.
        sizes: of these axes there.
    """
    merger = Merger(axes, sizes)
    first = runs[0]
    whole = merger.recording(runs)
    graph = Graph(whole.inputs, whole.outputs, whole.nodes, list(axes), dict(first.layers))
    for path, values in first.layer_outputs.items():
        known = [merger.values[id(value)] for value in values if id(value) in merger.values]
        if values and len(known) == len(values):
            graph.layer_outputs[path] = known
    return graph


# ---- are two runs the same? ----


def check_same(first: Recording, other: Recording, *, sizes_differ: bool) -> None:
    """Raises UntraceableError when two runs are not one graph.

    Args:
        sizes_differ: whole numbers, and the sizes of values, may differ.
    """
    pairs: dict[int, int] = {}

    def compare(a: Any, b: Any, layer: str) -> None:
        reason = difference(a, b)
        if reason:
            raise UntraceableError(layer, reason)

    def difference(a: Any, b: Any) -> str:
        if isinstance(a, Value) and isinstance(b, Value):
            return difference_of_values(a, b)
        if isinstance(a, Recording) and isinstance(b, Recording):
            compare_nodes(a, b)
            return ""
        if isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return "calls an op with another number of tensors"
            return next(
                (reason for x, y in zip(a, b, strict=True) if (reason := difference(x, y))), ""
            )
        if type(a) is int and type(b) is int and sizes_differ:
            return ""
        is_same = a == b or (a != a and b != b)
        return "" if is_same else f"calls an op with a number that was {a} and then {b}"

    def difference_of_values(a: Value, b: Value) -> str:
        if len(a.shape) != len(b.shape) or (a.shape != b.shape and not sizes_differ):
            return f"a tensor had the sizes {a.shape} and then {b.shape}"
        if a.dtype != b.dtype:
            return f"a tensor was of type {a.dtype} and then {b.dtype}"
        if a.is_constant != b.is_constant:
            return "a tensor was computed in one run and not in the other"
        if a.tensor is not None and b.tensor is not None:
            is_same = same_content(a.tensor, b.tensor)
            return "" if is_same else "a tensor with other values that no op has computed"
        if pairs.setdefault(id(a), id(b)) != id(b):
            return "an op took another tensor"
        return ""

    def compare_nodes(a: Recording, b: Recording) -> None:
        for node, same in zip(a.nodes, b.nodes, strict=False):
            if node.op != same.op:
                reason = f"calls {node.op}() in one run and {same.op}() in another"
                raise UntraceableError(node.layer, reason)
            compare(list(node.arguments.values()), list(same.arguments.values()), node.layer)
            compare(list(node.outputs), list(same.outputs), node.layer)
        if len(a.nodes) != len(b.nodes):
            raise UntraceableError("", "calls another number of ops in another run")
        compare(list(a.outputs), list(b.outputs), "")

    compare_nodes(first, other)


def same_content(a: Tensor, b: Tensor) -> bool:
    if a is b:
        return True
    if a.shape != b.shape:
        return False
    x, y = (tensor.detach().numpy() for tensor in (a, b))
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
