"""Convolutions with padding given in words: 'same' or 'valid'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor

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
    op = _ops[f"conv{dimensions}d"]
    if out is not None:
        return op(input, weight, bias, stride, padding, dilation, groups, out=out)
    return op(input, weight, bias, stride, padding, dilation, groups)


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

    Raises:
        ValueError: shapes and settings that do not fit.
        TypeError: no floating-point type.

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


FUNCTIONS = (conv1d, conv2d, conv3d)
