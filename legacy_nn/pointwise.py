"""Layers that do the same to every element: rows of one table.

A row is (name, constructor fields with defaults, function, printed form).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.printing import lua_number
from relume.legacy_nn.registry import register


class PointWise(Module):
    """The base of layers that do the same to every element.

    With `inplace` the input itself is overwritten, as in Torch7.
    """

    parameter_names = ()
    inplace = False
    # Does the derivative need the input that `inplace` overwrites?
    derivative_reads_input = True

    @derived
    def updateOutput(self, input: Any) -> Any:
        if not self.inplace:
            return super().updateOutput(input)
        original = input.detach().clone() if self.derivative_reads_input else input
        input.detach().copy_(self._record_output(original))
        assert self._record is not None
        self._record.input_became(input)
        self.output = input
        return input


class Row(NamedTuple):
    name: str
    fields: dict[str, Any]  # constructor arguments in order, with defaults
    function: Callable[[Tensor, Any], Tensor]  # (input, layer)
    printed: Callable[[Any], str] | None = None
    documentation: str = ""


REQUIRED = object()  # a constructor argument without a default


def square_root(input: Tensor, layer: Any) -> Tensor:
    # Torch7 takes the gradient at zero as zero.
    is_zero = input == 0
    return rl.where(is_zero, input, rl.where(is_zero, 1.0, input).sqrt())


def log_sigmoid(input: Tensor, layer: Any) -> Tensor:
    return -rl.log1p(rl.exp(-input))


def soft_shrink(input: Tensor, layer: Any) -> Tensor:
    bound = layer.lambda_
    above, below = input > bound, input < -bound
    return rl.where(above, input - bound, rl.where(below, input + bound, input * 0))


def hard_shrink(input: Tensor, layer: Any) -> Tensor:
    bound = layer.lambda_
    return rl.where(rl.logical_or(input > bound, input < -bound), input, input * 0)


def absolute(input: Tensor, layer: Any) -> Tensor:
    # Torch7's gradient at zero is 1.
    return rl.where(input >= 0, input, -input)


def power(input: Tensor, layer: Any) -> Tensor:
    return input**layer.pow


def multiply(input: Tensor, layer: Any) -> Tensor:
    return input * layer.constant_scalar


def add(input: Tensor, layer: Any) -> Tensor:
    return input + layer.constant_scalar


def clamp(input: Tensor, layer: Any) -> Tensor:
    return rl.hardtanh(input, layer.min_val, layer.max_val)


def negative_slope(layer: Any) -> str:
    return f"({lua_number(layer.negval)})"


def alpha(layer: Any) -> str:
    return f" (alpha:{layer.alpha:f})"


INPLACE = {"inplace": False}

ROWS = [
    Row("Tanh", {}, lambda x, _: rl.tanh(x), None, "tanh(x)"),
    Row("Sigmoid", {}, lambda x, _: rl.sigmoid(x), None, "1 / (1 + exp(-x))"),
    Row("Abs", {}, absolute, None, "|x|"),
    Row("Square", {}, lambda x, _: rl.square(x), None, "x * x"),
    Row("Sqrt", {"eps": 0}, square_root, None, "the square root of x"),
    Row("Exp", {}, lambda x, _: rl.exp(x), None, "exp(x)"),
    Row("Log", {}, lambda x, _: rl.log(x), None, "the natural logarithm of x"),
    Row("Power", {"pow": REQUIRED}, power, None, "x to the power `pow`"),
    Row(
        "MulConstant", {"constant_scalar": REQUIRED, **INPLACE}, multiply, None, "x times a number"
    ),
    Row("AddConstant", {"constant_scalar": REQUIRED, **INPLACE}, add, None, "x plus a number"),
    Row(
        "LeakyReLU",
        {"negval": 0.01, **INPLACE},
        lambda x, m: rl.leaky_relu(x, m.negval),
        negative_slope,
        "x, times `negval` below zero",
    ),
    Row(
        "ELU",
        {"alpha": 1.0, **INPLACE},
        lambda x, m: rl.elu(x, m.alpha),
        alpha,
        "x, `alpha` * (exp(x) - 1) below zero",
    ),
    Row("HardTanh", {"min_val": -1, "max_val": 1, **INPLACE}, clamp, None, "x kept within bounds"),
    Row(
        "Clamp",
        {"min_val": REQUIRED, "max_val": REQUIRED, **INPLACE},
        clamp,
        None,
        "x kept within bounds",
    ),
    Row("ReLU6", INPLACE, lambda x, _: rl.hardtanh(x, 0.0, 6.0), None, "x kept between 0 and 6"),
    Row(
        "SoftPlus",
        {"beta": 1},
        lambda x, m: rl.softplus(x, m.beta, m.threshold),
        None,
        "log(1 + exp(beta * x)) / beta",
    ),
    Row("SoftSign", {}, lambda x, _: x / (1 + rl.abs(x)), None, "x / (1 + |x|)"),
    Row("LogSigmoid", {}, log_sigmoid, None, "log(sigmoid(x))"),
    Row("TanhShrink", {}, lambda x, _: x - rl.tanh(x), None, "x - tanh(x)"),
    Row("SoftShrink", {"lambda": 0.5}, soft_shrink, None, "x moved towards zero by `lambda`"),
    Row("HardShrink", {"lambda": 0.5}, hard_shrink, None, "x, zero within `lambda`"),
]


def make_class(row: Row) -> type:
    """The class of a row."""
    names = list(row.fields)

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        Module.__init__(self)
        if len(arguments) > len(names):
            raise TypeError(
                f"nn.{row.name} takes at most {len(names)} arguments ({', '.join(names)})"
            )
        values = dict(row.fields)
        values.update({k: v for k, v in zip(names, arguments, strict=False) if v is not None})
        values.update(named)
        for name, value in values.items():
            if value is REQUIRED:
                raise TypeError(f"nn.{row.name} needs the argument {name}")
            if name not in row.fields:
                raise TypeError(f"nn.{row.name} has no argument {name}")
            self.__dict__[name] = value

    def compute(self: Any, input: Tensor) -> Tensor:
        return row.function(input, self)

    members: dict[str, Any] = {
        "__init__": __init__,
        "__doc__": f"Of every element x: {row.documentation}.",
        "__module__": __name__,
        "compute": compute,
    }
    if row.printed is not None:
        printed = row.printed
        members["__str__"] = lambda self: self.torch_typename + printed(self)
    # What a file may leave out.
    members.update({k: v for k, v in row.fields.items() if v is not REQUIRED and k != "lambda"})
    cls = type(row.name, (PointWise,), members)
    return register(f"nn.{row.name}")(cls)


for _row in ROWS:
    globals()[_row.name] = make_class(_row)

__all__ = ["PointWise", "Threshold", "ReLU", "PReLU", *(row.name for row in ROWS)]


def _lambda(self: Any) -> float:
    return self.__dict__.get("lambda", 0.5)


for _name in ("MulConstant", "AddConstant"):
    globals()[_name].derivative_reads_input = False
for _name in ("SoftShrink", "HardShrink"):
    globals()[_name].lambda_ = property(_lambda)
globals()["SoftPlus"].threshold = 20
globals()["SoftPlus"].beta = 1


@register("nn.Threshold")
class Threshold(PointWise):
    """Every element that is not above a threshold becomes `val`.

    Args:
        threshold: by default 1e-6.
        val: by default 0.
        inplace: overwrite the input.
    """

    threshold: float
    val: float

    def __init__(
        self, threshold: float | None = None, val: float | None = None, inplace: bool = False
    ):
        super().__init__()
        self.threshold = 1e-6 if threshold is None else threshold
        self.val = 0 if val is None else val
        self.inplace = bool(inplace)
        if self.inplace and self.val > self.threshold:
            raise ValueError("in-place nn.Threshold: val must not be above the threshold")

    @property
    def derivative_reads_input(self) -> bool:  # type: ignore[override]
        return self.threshold != 0 or self.val != 0

    def compute(self, input: Tensor) -> Tensor:
        if self.threshold == 0 and self.val == 0:
            return rl.relu(input)
        return rl.threshold(input, self.threshold, self.val)


@register("nn.ReLU")
class ReLU(Threshold):
    """max(x, 0) of every element.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ReLU()(rl.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False):
        super().__init__(0, 0, inplace)


@register("nn.PReLU")
class PReLU(Module):
    """x, times a learned slope below zero.

    Args:
        nOutputPlane: one slope per plane; 0 for one slope in all.
    """

    parameter_names = ("weight",)

    def __init__(self, nOutputPlane: int = 0):
        super().__init__()
        from relume.legacy_nn.types import new_parameter

        self.nOutputPlane = nOutputPlane
        self.weight = new_parameter(max(1, nOutputPlane)).fill_(0.25)
        self.gradWeight = new_parameter(max(1, nOutputPlane))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        if self.nOutputPlane:
            # Planes are the first dimension without a batch (1-D, 3-D), the second with one.
            after = input.ndim - 1 - (input.ndim % 2 == 0)
            weight = weight.reshape((self.nOutputPlane,) + (1,) * after)
        return rl.where(input > 0, input, weight * input)
