"""Convolutions and transposed convolutions of one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relume import Tensor
from relume.nn import functional as F
from relume.nn import init
from relume.nn.module import Module
from relume.nn.parameter import Parameter, new_parameter

Sizes = int | tuple[int, ...]
# What the paddings of the modules are called in F.pad.
_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate"}
_PAD_MODES["circular"] = "circular"


def as_sizes(value: Any, count: int) -> tuple[int, ...]:
    """One number per dimension, from one number or several.

    >>> as_sizes(3, 2), as_sizes((3, 5), 2)
    ((3, 3), (3, 5))
    """
    if isinstance(value, int):
        return (value,) * count
    sizes = tuple(int(v) for v in value)
    if len(sizes) != count:
        raise ValueError(f"expected one number or {count} numbers, not {value!r}")
    return sizes


class _Convolution(Module):
    """What all convolutions share: the checks, the parameters and how they print."""

    dimensions: int
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Any,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups must be positive and divide in_channels ({in_channels}) and "
                f"out_channels ({out_channels}), it is {groups}"
            )
        if padding_mode not in _PAD_MODES:
            raise ValueError(f"padding_mode must be in {list(_PAD_MODES)}, not {padding_mode!r}")
        count = self.dimensions
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = as_sizes(kernel_size, count)
        self.stride = as_sizes(stride, count)
        self.dilation = as_sizes(dilation, count)
        self.output_padding = as_sizes(output_padding, count)
        self.groups = groups
        self.padding_mode = padding_mode
        self.padding = self._checked_padding(padding)
        channels = (
            (in_channels, out_channels // groups)
            if self.transposed
            else (out_channels, in_channels // groups)
        )
        self.weight = new_parameter((*channels, *self.kernel_size), device, dtype)
        self.register_parameter(
            "bias", new_parameter((out_channels,), device, dtype) if bias else None
        )
        self.reset_parameters()

    def _checked_padding(self, padding: Any) -> Any:
        if not isinstance(padding, str):
            return as_sizes(padding, self.dimensions)
        if padding not in ("same", "valid"):
            raise ValueError(f"padding must be numbers, 'same' or 'valid', not {padding!r}")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' needs a stride of 1")
        return padding

    def reset_parameters(self) -> None:
        """Draws new parameters: uniform in +-1/sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init.fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zero, one = (0,) * self.dimensions, (1,) * self.dimensions
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        optional = [
            ("padding", self.padding, zero),
            ("dilation", self.dilation, one),
            ("output_padding", self.output_padding, zero),
            ("groups", self.groups, 1),
        ]
        parts += [f"{name}={value}" for name, value, usual in optional if value != usual]
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._pad_amounts(), _PAD_MODES[self.padding_mode])
            padding = 0
        convolve = getattr(F, f"conv{self.dimensions}d")
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _pad_amounts(self) -> list[int]:
        """Before and after, from the last dimension on, as F.pad takes them."""
        amounts: list[int] = []
        for d in reversed(range(self.dimensions)):
            if self.padding == "same":
                total = self.dilation[d] * (self.kernel_size[d] - 1)
                amounts += [total // 2, total - total // 2]
            elif self.padding == "valid":
                amounts += [0, 0]
            else:
                amounts += [self.padding[d]] * 2
        return amounts


class Conv1d(_Forward):
    """A convolution of (batch, channels, length); weight (out, in / groups, kernel).

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size: number or tuple, as stride, padding and dilation.
        padding: zeros on each side, or "same" or "valid".
        groups: how many parts of the channels are convolved each by itself.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    >>> import relume as rl
    >>> Conv1d(3, 4, 5, padding=2)(rl.ones(2, 3, 10)).shape
    (2, 4, 10)
    """

    dimensions = 1


class Conv2d(_Forward):
    """A convolution of (batch, channels, height, width); arguments as of Conv1d.

    >>> import relume as rl
    >>> Conv2d(3, 4, 3, stride=2)(rl.ones(2, 3, 9, 9)).shape
    (2, 4, 4, 4)
    """

    dimensions = 2


class Conv3d(_Forward):
    """A convolution of (batch, channels, depth, height, width); arguments as of Conv1d.

    >>> import relume as rl
    >>> Conv3d(1, 2, 3)(rl.ones(1, 1, 5, 5, 5)).shape
    (1, 2, 3, 3, 3)
    """

    dimensions = 3


class _Transposed(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__} pads with zeros only, not {padding_mode!r}")
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self._output_padding_for(input, output_size)
        convolve = getattr(F, f"conv_transpose{self.dimensions}d")
        return convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            output_padding,
            self.groups,
            self.dilation,
        )

    def _output_padding_for(self, input: Tensor, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """What must be added on one side so that the output has the wanted size."""
        if wanted is None:
            return self.output_padding
        count = self.dimensions
        wanted = tuple(wanted)[-count:]
        if len(wanted) != count:
            raise ValueError(f"output_size needs {count} sizes, not {wanted}")
        added = []
        for d, size in enumerate(input.shape[-count:]):
            smallest = (
                (size - 1) * self.stride[d]
                - 2 * self.padding[d]
                + self.dilation[d] * (self.kernel_size[d] - 1)
                + 1
            )
            if not smallest <= wanted[d] < smallest + max(self.stride[d], self.dilation[d]):
                raise ValueError(
                    f"output_size {wanted} is out of reach: in dimension {d} sizes from "
                    f"{smallest} to {smallest + self.stride[d] - 1} are possible"
                )
            added.append(wanted[d] - smallest)
        return tuple(added)


class ConvTranspose1d(_Transposed):
    """The transposed convolution of (batch, channels, length); weight (in, out / groups, kernel).

    Args:
        output_padding: added on one side of the output's size.

    `forward` takes an `output_size` that chooses among the sizes a stride allows.

    >>> import relume as rl
    >>> ConvTranspose1d(3, 4, 2, stride=2)(rl.ones(2, 3, 10)).shape
    (2, 4, 20)
    """

    dimensions = 1


class ConvTranspose2d(_Transposed):
    """The transposed convolution of (batch, channels, height, width).

    >>> import relume as rl
    >>> ConvTranspose2d(3, 4, 3, stride=2)(rl.ones(1, 3, 4, 4), output_size=(10, 9)).shape
    (1, 4, 10, 9)
    """

    dimensions = 2


class ConvTranspose3d(_Transposed):
    """The transposed convolution of (batch, channels, depth, height, width).

    >>> import relume as rl
    >>> ConvTranspose3d(1, 2, 2)(rl.ones(1, 1, 3, 3, 3)).shape
    (1, 2, 4, 4, 4)
    """

    dimensions = 3
