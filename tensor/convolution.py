"""Convolutions: padding in words ('same', 'valid'), whole numbers, and wide output padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor import dtypes

Setting = int | Sequence[int]

_ops = _C.ops


def _each(setting: Setting, dimensions: int) -> list[int]:
    return (
        [setting] * dimensions
        if isinstance(setting, int)
        else list(setting) * (dimensions if len(setting) == 1 else 1)
    )


def _padded_by_word(
    dimensions: int,
    input: Tensor,
    weight: Tensor,
    stride: Setting,
    padding: str,
    dilation: Setting,
) -> tuple[Tensor, Setting]:
    """An input and a padding in numbers that stand for a padding in words."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise ValueError(f"padding must be numbers, 'same' or 'valid', not {padding!r}")
    if any(step != 1 for step in _each(stride, dimensions)):
        raise ValueError("padding='same' needs a stride of 1")
    if weight.ndim != dimensions + 2:
        return input, 0  # the op itself says what is wrong
    totals = [
        step * (size - 1)
        for step, size in zip(_each(dilation, dimensions), weight.shape[2:], strict=True)
    ]
    if any(total % 2 for total in totals):  # one more at the end
        sides = [side for total in reversed(totals) for side in (0, total % 2)]
        input = _ops["pad"](input, sides)
    return input, [total // 2 for total in totals]


# Up to here float64 holds every whole number.
_EXACT = 2**53


def _compute(
    name: str, tensors: tuple[Tensor, Tensor, Tensor | None], settings: Sequence[Any], out: Any
) -> Tensor:
    """Calls the op; tensors of whole numbers are convolved in float64, where that is exact."""
    op, (input, weight, _) = _ops[name], tensors
    whole = not (input.is_floating_point() or input.is_complex() or input.dtype == dtypes.bool_)
    if not whole or input.dtype != weight.dtype:
        return op(*tensors, *settings) if out is None else op(*tensors, *settings, out=out)
    if input.numel() and weight.numel():
        largest = abs(input.abs().max().item() * weight.abs().max().item()) * weight.numel()
        if largest >= _EXACT:
            raise ValueError(
                f"{name}(): sums of whole numbers up to {largest} could be inexact; convert the "
                "tensors with .to(relume.float64) if they may be rounded"
            )
    wide = [t if t is None else t.to("float64") for t in tensors]
    result = op(*wide, *settings).to("int64").to(input.dtype)
    return result if out is None else out.copy_(result)


def _convolve(
    dimensions: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Setting,
    padding: Any,
    dilation: Setting,
    groups: int,
    out: Tensor | None,
) -> Tensor:
    if isinstance(padding, str):
        input, padding = _padded_by_word(dimensions, input, weight, stride, padding, dilation)
    settings = (stride, padding, dilation, groups)
    return _compute(f"conv{dimensions}d", (input, weight, bias), settings, out)


def _within_a_step(
    dimensions: int, input: Tensor, stride: Setting, output_padding: Setting, dilation: Setting
) -> tuple[Tensor, Setting]:
    """Output padding of whole steps as what it comes to: zeros after the input."""
    settings = [_each(setting, dimensions) for setting in (stride, output_padding, dilation)]
    if any(len(setting) != dimensions or min(setting) < 0 for setting in settings):
        return input, output_padding  # the op itself says what is wrong
    columns = list(zip(*settings, strict=True))
    if not any(0 < step <= extra < width for step, extra, width in columns):
        return input, output_padding
    sides = [side for step, extra, _ in reversed(columns) for side in (0, extra // step)]
    return _ops["pad"](input, sides), [extra % step for step, extra, _ in columns]


def _transpose(
    dimensions: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Setting,
    padding: Setting,
    output_padding: Setting,
    groups: int,
    dilation: Setting,
    out: Tensor | None,
) -> Tensor:
    if output_padding != 0:
        input, output_padding = _within_a_step(dimensions, input, stride, output_padding, dilation)
    settings = (stride, padding, output_padding, groups, dilation)
    return _compute(f"conv_transpose{dimensions}d", (input, weight, bias), settings, out)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting | str = 0,
    dilation: Setting = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """1-D convolution (cross-correlation).

    Args:
        input: of shape (batch, channels, length) or (channels, length).
        weight: of shape (out_channels, channels / groups, kernel).
        bias: of shape (out_channels,), or None.
        stride, dilation: the step of the window, and the distance between its elements.
        padding: zeros added on both sides; 'same' (as many as keep the size, for a stride of 1)
            or 'valid' (none).
        groups: the number of groups that channels are split into.

    Returns:
        A tensor of shape (batch, out_channels, length') or (out_channels, length').

    Tensors of whole numbers are convolved exactly.

    Raises:
        ValueError: shapes and settings that do not fit; whole numbers whose sums could pass 2**53.
        TypeError: tensors of different types, or of bool.

    >>> import relume as rl
    >>> rl.conv1d(rl.tensor([[1.0, 2.0, 3.0]]), rl.tensor([[[1.0, -1.0]]]))
    tensor([[-1., -1.]])
    >>> rl.conv1d(rl.tensor([[1.0, 2.0, 3.0]]), rl.ones(1, 1, 3), padding="same")
    tensor([[3., 6., 5.]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups, out)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting | str = 0,
    dilation: Setting = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """2-D convolution (cross-correlation) of (batch, channels, height, width); see `conv1d`.

    >>> import relume as rl
    >>> rl.conv2d(rl.ones(1, 3, 8, 8), rl.ones(6, 3, 3, 3), padding="same").shape
    (1, 6, 8, 8)
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups, out)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting | str = 0,
    dilation: Setting = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """3-D convolution of (batch, channels, depth, height, width); see `conv1d`.

    >>> import relume as rl
    >>> rl.conv3d(rl.ones(1, 2, 4, 4, 4), rl.ones(3, 2, 3, 3, 3), padding="same").shape
    (1, 3, 4, 4, 4)
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups, out)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting = 0,
    output_padding: Setting = 0,
    groups: int = 1,
    dilation: Setting = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """1-D transposed convolution: the gradient of `conv1d` with respect to its input.

    Args:
        input: of shape (batch, channels, length) or (channels, length).
        weight: of shape (channels, out_channels / groups, kernel).
        bias: of shape (out_channels,), or None.
        stride, dilation: the step of the window, and the distance between its elements.
        padding: how much is cut off on both sides.
        output_padding: how much longer the output is at its end; less than the stride or the
            dilation.
        groups: the number of groups that channels are split into.

    Returns:
        A tensor of shape (batch, out_channels, length') or (out_channels, length') with
        length' = (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.

    Raises:
        ValueError: shapes and settings that do not fit.

    >>> import relume as rl
    >>> rl.conv_transpose1d(rl.tensor([[1.0, 2.0]]), rl.tensor([[[1.0, -1.0]]]), stride=2)
    tensor([[ 1., -1.,  2., -2.]])
    """
    return _transpose(
        1, input, weight, bias, stride, padding, output_padding, groups, dilation, out
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting = 0,
    output_padding: Setting = 0,
    groups: int = 1,
    dilation: Setting = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """2-D transposed convolution of (batch, channels, height, width); see `conv_transpose1d`.

    >>> import relume as rl
    >>> rl.conv_transpose2d(rl.ones(1, 3, 4, 4), rl.ones(3, 6, 2, 2), stride=2).shape
    (1, 6, 8, 8)
    """
    return _transpose(
        2, input, weight, bias, stride, padding, output_padding, groups, dilation, out
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Setting = 1,
    padding: Setting = 0,
    output_padding: Setting = 0,
    groups: int = 1,
    dilation: Setting = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """3-D transposed convolution of (batch, channels, depth, height, width).

    See `conv_transpose1d`.

    >>> import relume as rl
    >>> rl.conv_transpose3d(rl.ones(1, 2, 2, 2, 2), rl.ones(2, 3, 2, 2, 2), stride=2).shape
    (1, 3, 4, 4, 4)
    """
    return _transpose(
        3, input, weight, bias, stride, padding, output_padding, groups, dilation, out
    )


FUNCTIONS = (conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d)
