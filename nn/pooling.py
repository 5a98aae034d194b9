"""Pooling of one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import Tensor
from relume.nn import functional as F
from relume.nn.module import Module


class _MaxPool(Module):
    """The largest element of every window; `dimensions` says of how many dimensions."""

    dimensions: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.dimensions}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of every window of (batch, channels, length).

    Args:
        kernel_size: the window; stride, by default the same; padding (with -inf); dilation.
        return_indices: also return where they were, for MaxUnpool1d.
        ceil_mode: windows may reach beyond the end.

    >>> import relume as rl
    >>> MaxPool1d(2)(rl.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    dimensions = 1


class MaxPool2d(_MaxPool):
    """The largest element of every window of (batch, channels, height, width)."""

    dimensions = 2


class MaxPool3d(_MaxPool):
    """The largest element of every window of (batch, channels, depth, height, width)."""

    dimensions = 3


class _MaxUnpool(Module):
    dimensions: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        unpool = getattr(F, f"max_unpool{self.dimensions}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts elements back to where MaxPool1d(return_indices=True) found them, among zeros."""

    dimensions = 1


class MaxUnpool2d(_MaxUnpool):
    """Puts elements back to where MaxPool2d(return_indices=True) found them, among zeros."""

    dimensions = 2


class MaxUnpool3d(_MaxUnpool):
    """Puts elements back to where MaxPool3d(return_indices=True) found them, among zeros."""

    dimensions = 3


class AvgPool1d(Module):
    """The mean of every window of (batch, channels, length).

    >>> import relume as rl
    >>> AvgPool1d(2)(rl.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size if not isinstance(kernel_size, int) else (kernel_size,)
        stride = kernel_size if stride is None else stride
        self.stride = stride if not isinstance(stride, int) else (stride,)
        self.padding = padding if not isinstance(padding, int) else (padding,)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    dimensions: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self.dimensions}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of every window of (batch, channels, height, width).

    Args:
        count_include_pad: do the zeros around count?
        divisor_override: divide by this instead of the size of the window.
    """

    dimensions = 2


class AvgPool3d(_AvgPool):
    """The mean of every window of (batch, channels, depth, height, width)."""

    dimensions = 3


class _LPPool(Module):
    dimensions: int

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self.dimensions}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of every window of (batch, channels, length).

    >>> import relume as rl
    >>> LPPool1d(2, 2)(rl.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    dimensions = 1


class LPPool2d(_LPPool):
    """The p-norm of every window of (batch, channels, height, width)."""

    dimensions = 2


class LPPool3d(_LPPool):
    """The p-norm of every window of (batch, channels, depth, height, width)."""

    dimensions = 3


class _FractionalMaxPool(Module):
    dimensions: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError("give either output_size or output_ratio")
        count = self.dimensions
        self.kernel_size = kernel_size
        self.output_size = (output_size,) * count if isinstance(output_size, int) else output_size
        self.output_ratio = (
            (output_ratio,) * count if isinstance(output_ratio, float) else output_ratio
        )
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1, not {output_ratio}")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.dimensions}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows at random steps; Graham, 2014.

    Args:
        output_size: the size of the output, or
        output_ratio: its size as a fraction of the input's.
    """

    dimensions = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows at random steps in three dimensions."""

    dimensions = 3


class _AdaptivePool(Module):
    dimensions: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_AdaptivePool):
    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self.dimensions}d")(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of windows whose number is given, of (batch, channels, length).

    >>> import relume as rl
    >>> AdaptiveAvgPool1d(2)(rl.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    dimensions = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of windows whose number is given; None keeps a dimension as it is."""

    dimensions = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of windows whose number is given, in three dimensions."""

    dimensions = 3


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"adaptive_max_pool{self.dimensions}d")
        return pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of windows whose number is given, of (batch, channels, length)."""

    dimensions = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of windows whose number is given."""

    dimensions = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of windows whose number is given, in three dimensions."""

    dimensions = 3
