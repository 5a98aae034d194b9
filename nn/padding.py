"""Padding of one, two and three dimensions."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.nn import functional as F
from relume.nn.convolution import as_sizes
from relume.nn.module import Module


class _Pad(Module):
    """Padding: a number for all sides, or (left, right[, top, bottom[, front, back]])."""

    dimensions: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = as_sizes(padding, 2 * self.dimensions)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """One value around the last dimension.

    >>> import relume as rl
    >>> ConstantPad1d((1, 2), 9.0)(rl.zeros(1, 2))
    tensor([[9., 0., 0., 9., 9.]])
    """

    dimensions = 1


class ConstantPad2d(_ConstantPad):
    """One value around the last two dimensions."""

    dimensions = 2


class ConstantPad3d(_ConstantPad):
    """One value around the last three dimensions."""

    dimensions = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros around the last dimension."""

    dimensions = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions."""

    dimensions = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions."""

    dimensions = 3


class ReflectionPad1d(_Pad):
    """The mirror image around the last dimension, without the edge itself.

    >>> import relume as rl
    >>> ReflectionPad1d(2)(rl.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    dimensions = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """The mirror image around the last two dimensions."""

    dimensions = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """The mirror image around the last three dimensions."""

    dimensions = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """The edge repeated around the last dimension."""

    dimensions = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """The edge repeated around the last two dimensions."""

    dimensions = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """The edge repeated around the last three dimensions."""

    dimensions = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """The other end around the last dimension."""

    dimensions = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """The other end around the last two dimensions."""

    dimensions = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """The other end around the last three dimensions."""

    dimensions = 3
    mode = "circular"
