"""The table of ONNX operations: which layer of Torch7 does the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import relume as rl
from relume import legacy_nn

__all__ = ["LAYERS", "Cannot", "Operation", "operation", "set_tensor"]

nn: Any = legacy_nn  # most layers are rows of its tables


class Cannot(Exception):
    """An operation has no counterpart; the message says why."""


@dataclass(frozen=True)
class Operation:
    """One node of an ONNX graph.

    Attributes:
        name: of the operation.
        attributes: by name.
        constants: for every input its value, where that is fixed.
        ranks: for every input how many dimensions it has, where that is known.
        shape: the sizes of the first input, None where one is not fixed.
        outputs: names of the outputs, "" for those that nothing needs.
    """

    name: str
    attributes: dict[str, Any]
    constants: list[np.ndarray | None]
    ranks: list[int | None]
    shape: list[int | None]
    outputs: list[str]

    def get(self, name: str, default: Any = None) -> Any:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def constant(self, place: int, what: str) -> np.ndarray:
        """A fixed input."""
        value = self.optional(place)
        if value is None:
            raise Cannot(f"its {what} is not a constant")
        return value

    def optional(self, place: int) -> np.ndarray | None:
        return self.constants[place] if place < len(self.constants) else None

    def rank(self, place: int = 0) -> int:
        rank = self.ranks[place]
        if rank is None:
            raise Cannot("the number of dimensions of its input is not known")
        return rank

    def axis(self, value: int, rank: int | None = None) -> int:
        """An axis as Torch7 counts dimensions, from 1."""
        value = int(value)
        return value + 1 if value >= 0 else (self.rank() if rank is None else rank) + value + 1

    def axes(self, place: int) -> list[int]:
        """Axes given as an attribute or, in later versions, as an input."""
        found = self.get("axes")
        if found is None and self.optional(place) is not None:
            found = self.optional(place).tolist()  # type: ignore[union-attr]
        return [] if found is None else [int(axis) for axis in np.atleast_1d(found)]


Reader = Callable[[Operation], Any]
LAYERS: dict[str, Reader] = {}


def operation(*names: str) -> Callable[[Reader], Reader]:
    """Makes a function the reader of these operations; it gives a layer, a list of layers (one per
    output), or an array for what is constant."""

    def decorate(function: Reader) -> Reader:
        for name in names:
            LAYERS[name] = function
        return function

    return decorate


def set_tensor(layer: Any, name: str, array: np.ndarray | None) -> None:
    """Puts an array into a tensor of a layer, in the layer's shape."""
    if array is None:
        return
    target = getattr(layer, name)
    with rl.no_grad():
        target.copy_(
            rl.from_numpy(np.ascontiguousarray(array, dtype=np.float64)).reshape(target.shape)
        )


def in_float(layer: Any, like: np.ndarray | None) -> Any:
    """A layer in the type that its numbers had."""
    return layer.double() if like is not None and like.dtype == np.float64 else layer.float()


# ---- element by element ----

POINTWISE: dict[str, Callable[[Operation], Any]] = {
    "Relu": lambda op: nn.ReLU(),
    "Sigmoid": lambda op: nn.Sigmoid(),
    "Tanh": lambda op: nn.Tanh(),
    "Softsign": lambda op: nn.SoftSign(),
    "Softplus": lambda op: nn.SoftPlus(),
    "LeakyRelu": lambda op: nn.LeakyReLU(op.get("alpha", 0.01)),
    "Elu": lambda op: nn.ELU(op.get("alpha", 1.0)),
    "Abs": lambda op: nn.Abs(),
    "Exp": lambda op: nn.Exp(),
    "Log": lambda op: nn.Log(),
    "Sqrt": lambda op: nn.Sqrt(),
    "Neg": lambda op: nn.MulConstant(-1),
    "Reciprocal": lambda op: nn.Power(-1),
    "Identity": lambda op: nn.Identity(),
    "Dropout": lambda op: nn.Dropout(dropped(op)).evaluate(),
    "Cast": lambda op: nn.Identity(),
}
LAYERS.update(POINTWISE)


def dropped(op: Operation) -> float:
    ratio = op.optional(1)
    return float(op.get("ratio", 0.5) if ratio is None else ratio)


@operation("Clip")
def clip(op: Operation) -> Any:
    low, high = op.optional(1), op.optional(2)
    least = op.get("min", -3.4e38) if low is None else float(low)
    most = op.get("max", 3.4e38) if high is None else float(high)
    return nn.ReLU() if (least, most) == (0.0, 3.4e38) else nn.HardTanh(least, most)


@operation("Pow")
def power(op: Operation) -> Any:
    return nn.Power(float(op.constant(1, "exponent")))


@operation("PRelu")
def prelu(op: Operation) -> Any:
    slope = op.constant(1, "slope")
    layer = nn.PReLU(0 if slope.size == 1 else slope.size)
    set_tensor(layer, "weight", slope)
    return in_float(layer, slope)


TABLES = {"Add": "CAddTable", "Sub": "CSubTable", "Mul": "CMulTable", "Div": "CDivTable"}


@operation("Add", "Sub", "Mul", "Div", "Sum", "Max", "Min")
def combination(op: Operation) -> Any:
    fixed = [place for place, value in enumerate(op.constants) if value is not None]
    if not fixed:
        names = {**TABLES, "Sum": "CAddTable", "Max": "CMaxTable", "Min": "CMinTable"}
        return getattr(nn, names[op.name])()
    if len(op.constants) != 2 or op.name not in TABLES:
        raise Cannot("it mixes constants with what is computed")
    if len(fixed) == 2:
        return folded(op)
    return with_constant(op, fixed[0])


def folded(op: Operation) -> np.ndarray:
    first, second = (op.constant(place, "input") for place in (0, 1))
    functions = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    return functions[op.name](first, second)


def with_constant(op: Operation, place: int) -> Any:
    """An operation between what is computed and a constant."""
    value = op.constant(place, "input")
    name = op.name
    before: list[Any] = []
    if name == "Sub":
        name, value = "Add", value if place == 0 else -value
        before = [nn.MulConstant(-1)] if place == 0 else []
    elif name == "Div":
        name, value = "Mul", value if place == 0 else 1 / value
        before = [nn.Power(-1)] if place == 0 else []
    if value.size == 1:
        last = (nn.AddConstant if name == "Add" else nn.MulConstant)(float(value.reshape(-1)[0]))
    else:
        last = per_element(op, 1 - place, name, value)
    return last if not before else nn.Sequential().add(before[0]).add(last)


def per_element(op: Operation, place: int, name: str, value: np.ndarray) -> Any:
    rank = op.rank(place)
    shape = (1,) * (rank - value.ndim) + value.shape
    if rank < value.ndim or (rank > 1 and shape[0] != 1):
        raise Cannot("its constant has a dimension for the batch")
    layer = (nn.CAdd if name == "Add" else nn.CMul)(*shape)
    set_tensor(layer, "bias" if name == "Add" else "weight", value)
    return in_float(layer, value)


# ---- products ----


@operation("Gemm")
def gemm(op: Operation) -> Any:
    weight = op.constant(1, "matrix")
    weight = weight if op.get("transB", 0) else weight.T
    if op.get("transA", 0):
        raise Cannot("it transposes its input")
    bias = op.optional(2)
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None)
    set_tensor(layer, "weight", weight * op.get("alpha", 1.0))
    if bias is not None:
        set_tensor(layer, "bias", np.broadcast_to(bias, weight.shape[:1]) * op.get("beta", 1.0))
    return in_float(layer, weight)


@operation("MatMul")
def matmul(op: Operation) -> Any:
    weight = op.optional(1)
    if weight is None:
        if op.optional(0) is not None:
            raise Cannot("its first factor is constant")
        return nn.MM()
    if weight.ndim != 2:
        raise Cannot("its matrix has more than two dimensions")
    layer = nn.LinearNoBias(*weight.shape)
    set_tensor(layer, "weight", weight.T)
    layer = in_float(layer, weight)
    return layer if op.rank() <= 2 else in_float(nn.Bottle(layer), weight)


# ---- normalisation ----

NORMALIZATIONS = {
    2: nn.BatchNormalization,
    4: nn.SpatialBatchNormalization,
    5: nn.VolumetricBatchNormalization,
}


@operation("BatchNormalization")
def batch_normalization(op: Operation) -> Any:
    scale = op.constant(1, "scale")
    make = NORMALIZATIONS.get(op.rank())
    if make is None:
        raise Cannot(f"Torch7 has no batch normalisation of {op.rank()} dimensions")
    layer = make(scale.size, op.get("epsilon", 1e-5), 1 - op.get("momentum", 0.9))
    set_tensor(layer, "weight", scale)
    set_tensor(layer, "bias", op.constant(2, "bias"))
    set_tensor(layer, "running_mean", op.constant(3, "mean"))
    set_tensor(layer, "running_var", op.constant(4, "variance"))
    return in_float(layer, scale).evaluate()


@operation("LRN")
def local_response(op: Operation) -> Any:
    size = int(op.get("size"))
    if size % 2 == 0:
        raise Cannot("of an even size Torch7 takes other neighbours")
    values = (op.get("alpha", 1e-4), op.get("beta", 0.75), op.get("bias", 1.0))
    return nn.SpatialCrossMapLRN(size, *values)


SOFT_MAXIMA = {"Softmax": "SoftMax", "LogSoftmax": "LogSoftMax"}


@operation("Softmax", "LogSoftmax")
def soft_maximum(op: Operation) -> Any:
    rank = op.rank()
    axis = op.axis(op.get("axis", -1))
    layer = getattr(nn, SOFT_MAXIMA[op.name])()
    if rank in (2, 4) and axis == 2:
        return layer
    if axis == rank:
        return nn.Bottle(layer)
    raise Cannot(f"Torch7 has none over dimension {axis} of {rank}")


# ---- shapes ----


@operation("Flatten")
def flatten(op: Operation) -> Any:
    if op.get("axis", 1) != 1:
        raise Cannot("it joins the batch with other dimensions")
    return nn.View(-1).setNumInputDims(max(1, op.rank() - 1))


@operation("Reshape")
def reshape(op: Operation) -> Any:
    fixed = op.optional(0)
    shape = [int(n) for n in op.constant(1, "shape")]
    if fixed is not None:
        return fixed.reshape([fixed.shape[i] if n == 0 else n for i, n in enumerate(shape)])
    kept = next((i for i, n in enumerate(shape) if n != 0), len(shape))
    if kept == len(shape) - 1 and shape[-1] == -1:
        return nn.Collapse(op.rank() - kept)
    is_batch = shape[0] in (0, -1) or (op.shape and shape[0] == op.shape[0])
    if len(shape) > 1 and is_batch and 0 not in shape[1:]:
        return nn.View(*shape[1:]).setNumInputDims(max(1, op.rank() - 1))
    if 0 in shape or -1 in shape:
        raise Cannot(f"the shape {shape} says how sizes of the input are kept")
    return nn.View(*shape[1:]) if shape[0] == 1 and len(shape) > 1 else nn.Reshape(*shape, False)


@operation("Transpose")
def transpose(op: Operation) -> Any:
    order = [int(axis) for axis in op.get("perm", range(op.rank())[::-1])]
    fixed = op.optional(0)
    if fixed is not None:
        return fixed.transpose(order)
    swaps, present = [], list(range(len(order)))
    for place, axis in enumerate(order):
        other = present.index(axis)
        if other != place:
            swaps.append([place + 1, other + 1])
            present[place], present[other] = present[other], present[place]
    return nn.Transpose(*swaps) if swaps else nn.Identity()


@operation("Squeeze")
def squeeze(op: Operation) -> Any:
    axes = sorted((op.axis(axis) for axis in op.axes(1)), reverse=True)
    if not axes:
        return nn.Squeeze()
    return in_a_row([nn.Squeeze(axis) for axis in axes])


@operation("Unsqueeze")
def unsqueeze(op: Operation) -> Any:
    axes = op.axes(1)
    fixed = op.optional(0)
    if fixed is not None:
        return np.expand_dims(fixed, tuple(axes))
    rank = (op.ranks[0] or 0) + len(axes)
    return in_a_row([nn.Unsqueeze(op.axis(axis, rank)) for axis in sorted(axes)])


def in_a_row(layers: list[Any]) -> Any:
    if len(layers) == 1:
        return layers[0]
    chain = nn.Sequential()
    for layer in layers:
        chain.add(layer)
    return chain


@operation("Concat")
def concat(op: Operation) -> Any:
    if any(value is not None for value in op.constants):
        raise Cannot("it joins constants")
    return nn.JoinTable(op.axis(op.get("axis")))


@operation("Split")
def split(op: Operation) -> Any:
    axis = op.axis(op.get("axis", 0))
    sizes = op.get("split") if op.get("split") is not None else op.optional(1)
    if sizes is None:
        whole = op.shape[axis - 1] if op.shape else None
        if whole is None:
            raise Cannot("it does not say how large the parts are")
        largest = -(-whole // len(op.outputs))
        sizes = [min(largest, whole - largest * i) for i in range(len(op.outputs))]
    starts = np.cumsum([0, *sizes])
    return [nn.Narrow(axis, int(a) + 1, int(n)) for a, n in zip(starts, sizes, strict=False)]


@operation("Slice")
def slice_(op: Operation) -> Any:
    starts = op.get("starts") or op.constant(1, "start").tolist()
    ends = op.get("ends") or op.constant(2, "end").tolist()
    axes = op.get("axes") or (op.axes(3) or list(range(len(starts))))
    steps = op.optional(4)
    if steps is not None and set(steps.tolist()) != {1}:
        raise Cannot("it leaves elements out in between")
    return in_a_row(
        [narrow(op.axis(a), int(s), int(e)) for a, s, e in zip(axes, starts, ends, strict=True)]
    )


def narrow(axis: int, start: int, end: int) -> Any:
    if start < 0 or ((end < 0) == (start < 0) and end <= start):
        raise Cannot("it counts the start from the end")
    if end < 0:
        return nn.Narrow(axis, start + 1, end - 1)
    return nn.Narrow(axis, start + 1, -1 if end > 1 << 30 else end - start)


@operation("Gather")
def gather(op: Operation) -> Any:
    table, index = op.optional(0), op.optional(1)
    axis = int(op.get("axis", 0))
    if table is not None and index is not None:
        return np.take(table, index, axis)
    if table is not None and table.ndim == 2 and axis == 0:
        layer = nn.LookupTable(*table.shape)
        set_tensor(layer, "weight", table)
        return nn.Sequential().add(nn.AddConstant(1)).add(in_float(layer, table))
    if index is not None and index.size == 1:
        number = int(index.reshape(-1)[0])
        selected = nn.Select(op.axis(axis), number + 1 if number >= 0 else number)
        return (
            selected
            if index.ndim == 0
            else nn.Sequential().add(selected).add(nn.Unsqueeze(op.axis(axis)))
        )
    raise Cannot("it takes several slices by number")


REDUCTIONS = {"ReduceMean": True, "ReduceSum": False}


@operation("ReduceMean", "ReduceSum")
def reduce_(op: Operation) -> Any:
    keeps = bool(op.get("keepdims", 1))
    axes = sorted((op.axis(axis) for axis in op.axes(1)), reverse=True)
    if not axes:
        raise Cannot("it reduces all dimensions")
    return in_a_row([nn.Sum(axis, -1, REDUCTIONS[op.name], not keeps) for axis in axes])


@operation("ReduceMax", "ReduceMin")
def extreme(op: Operation) -> Any:
    axes = sorted((op.axis(axis) for axis in op.axes(1)), reverse=True)
    if not axes:
        raise Cannot("it reduces all dimensions")
    make = nn.Max if op.name == "ReduceMax" else nn.Min
    layers = [make(axis) for axis in axes]
    if op.get("keepdims", 1):
        layers += [nn.Unsqueeze(axis) for axis in reversed(axes)]
    return in_a_row(layers)
