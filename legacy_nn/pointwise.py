"""Layers that do the same to every element: rows of tables/pointwise.json, which Lua reads too."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import formulas
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.record import Record
from relume.legacy_nn.registry import register


class PointWise(Module):
    """The base of layers that do the same to every element.

    With `inplace` the input itself is overwritten, as in Torch7.
    """

    parameter_names = ()
    follows_compute = True
    inplace = False
    # Does the derivative need the input that `inplace` overwrites?
    derivative_reads_input = True

    @derived
    def updateOutput(self, input: Any) -> Any:
        if not self.inplace:
            return Module.updateOutput(self, input)
        original = input.detach().clone() if self.derivative_reads_input else input
        record = self._record = Record(original, [], self.compute)
        input.detach().copy_(record.output.detach())
        record.input_became(input)
        self.output = input
        return input


def make_class(row: dict[str, Any]) -> type:
    """The class of a row."""
    name = row["name"]
    fields = row.get("fields", [])
    names = [field[0] for field in fields]
    defaults = {field[0]: field[1] for field in fields if len(field) == 2}
    function = formulas.compile_formula(row["compute"], "self", "x")

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        Module.__init__(self)
        if len(arguments) > len(names):
            raise TypeError(f"nn.{name} takes at most {len(names)} arguments ({', '.join(names)})")
        values = dict(defaults)
        values.update({k: v for k, v in zip(names, arguments, strict=False) if v is not None})
        values.update(named)
        for field in names:
            if field not in values:
                raise TypeError(f"nn.{name} needs the argument {field}")
        for field, value in values.items():
            if field not in names:
                raise TypeError(f"nn.{name} has no argument {field}")
            self.__dict__[field] = value
        for field, layer in row.get("layers", {}).items():  # which Torch7's own methods use
            self.__dict__[field] = globals()[layer]()

    def compute_with_fields(self: Any, input: Tensor) -> Tensor:
        return function(formulas.Fields(self), input)

    members: dict[str, Any] = {
        "__init__": __init__,
        "__doc__": f"Of every element x: {row['documentation']}.",
        "__module__": __name__,
        "compute": compute_with_fields if "self" in row["compute"] else function,
        # In place, does the derivative need the input that is gone?
        "derivative_reads_input": "restore" not in row,
    }
    if "printed" in row:
        members["__str__"] = lambda self: (
            self.torch_typename + formulas.fill_in(row["printed"], formulas.Fields(self))
        )
    members["unused_fields"] = tuple(row.get("layers", ()))
    # What a file may leave out.
    members |= defaults | row.get("constants", {})
    return register(f"nn.{name}")(type(name, (PointWise,), members))


ROWS = formulas.load_table("pointwise")
for _row in ROWS:
    globals()[_row["name"]] = make_class(_row)

__all__ = ["PointWise", "Threshold", "ReLU", "PReLU", *(row["name"] for row in ROWS)]


@register("nn.Threshold")
class Threshold(PointWise):
    """Every element that is not above a threshold becomes `val`.

    Args:
        threshold: by default 1e-6.
        val: by default 0.
        inplace: overwrite the input.
    """

    follows_compute = True
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

    @derived
    def updateOutput(self, input: Any) -> Any:
        if not self.inplace:
            return Module.updateOutput(self, input)
        if self.derivative_reads_input:
            return super().updateOutput(input)
        input.detach().relu_()
        self._record = None
        self.output = input
        return input

    def _differentiate(self, input: Any, gradOutput: Any, *wanted: bool) -> list:
        gradients = super()._differentiate(input, gradOutput, *wanted)
        if self.inplace and not self.derivative_reads_input:
            self._record = None  # it was made for this, from what the input has become
        return gradients


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
            after = input.ndim - 1 - (input.ndim > 1)  # planes are the second dimension, if any
            weight = weight.reshape((self.nOutputPlane,) + (1,) * after)
        return rl.where(input > 0, input, weight * input)
