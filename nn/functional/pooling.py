"""Pooling: one number for every window of an input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relume
from relume._C import Tensor

Size = int | Sequence[int]


def _max_pool(
    dimensions: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    pool = getattr(relume, f"max_pool{dimensions}d{'_with_indices' if return_indices else ''}")
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window over (N, C, L) or (C, L).

    Args:
        stride: steps between windows; the kernel's size when left out.
        padding: elements of minus infinity on both sides.
        dilation: steps between the elements of a window.
        ceil_mode: also take windows that reach out of the input at its end.
        return_indices: give the pair (values, positions in the input).

    >>> import relume as rl
    >>> max_pool1d(rl.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window over (N, C, H, W) or (C, H, W); see `max_pool1d`.

    >>> import relume as rl
    >>> max_pool2d(rl.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window over (N, C, D, H, W) or (C, D, H, W).

    >>> import relume as rl
    >>> max_pool3d(rl.arange(8).float().reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _adaptive_max(dimensions: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    pool = getattr(relume, f"adaptive_max_pool{dimensions}d")
    result = pool(input, _whole_size(input, output_size, dimensions))
    return result if return_indices else result[0]


def _whole_size(input: Tensor, output_size: Any, dimensions: int) -> list[int]:
    """One size per dimension; None stands for the input's."""
    sizes = [output_size] * dimensions if isinstance(output_size, int) else list(output_size)
    if len(sizes) != dimensions:
        raise ValueError(f"output_size must hold {dimensions} sizes, not {len(sizes)}")
    if input.ndim < dimensions:
        raise ValueError(
            f"an adaptive pooling of {dimensions} dimensions takes inputs of {dimensions + 1} or "
            f"{dimensions + 2}, not of shape {input.shape}"
        )
    own = input.shape[input.ndim - dimensions :]
    return [there if size is None else size for size, there in zip(sizes, own, strict=True)]


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows that cover (N, C, L) or (C, L).

    >>> import relume as rl
    >>> adaptive_max_pool1d(rl.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows that cover (N, C, H, W) or (C, H, W).

    >>> import relume as rl
    >>> adaptive_max_pool2d(rl.arange(16).float().reshape(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
    """
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W).

    >>> import relume as rl
    >>> adaptive_max_pool3d(rl.arange(8).float().reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    return _adaptive_max(3, input, output_size, return_indices)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` windows that cover (N, C, L) or (C, L).

    >>> import relume as rl
    >>> adaptive_avg_pool1d(rl.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
    return relume.adaptive_avg_pool1d(input, _whole_size(input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` windows that cover (N, C, H, W) or (C, H, W).

    >>> import relume as rl
    >>> adaptive_avg_pool2d(rl.arange(16).float().reshape(1, 4, 4), (1, 2))
    tensor([[[6.5, 8.5]]])
    """
    return relume.adaptive_avg_pool2d(input, _whole_size(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W).

    >>> import relume as rl
    >>> adaptive_avg_pool3d(rl.arange(8).float().reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5]]]])
    """
    return relume.adaptive_avg_pool3d(input, _whole_size(input, output_size, 3))


def _fractional_max(
    dimensions: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    random_samples: Tensor | None,
) -> Any:
    if (output_size is None) == (output_ratio is None):
        raise ValueError("give either output_size or output_ratio")
    if input.ndim not in (dimensions + 1, dimensions + 2):
        raise ValueError(f"input must have {dimensions + 1} or {dimensions + 2} dimensions")
    if output_size is None:
        ratios = (
            [output_ratio] * dimensions if isinstance(output_ratio, float) else list(output_ratio)
        )
        own = input.shape[input.ndim - dimensions :]
        output_size = [int(size * ratio) for size, ratio in zip(own, ratios, strict=True)]
    if random_samples is None:
        batch = input.shape[0] if input.ndim == dimensions + 2 else 1
        shape = (batch, input.shape[input.ndim - dimensions - 1], dimensions)
        random_samples = relume.rand(shape, dtype=input.dtype)
    pool = getattr(relume, f"fractional_max_pool{dimensions}d")
    result = pool(input, kernel_size, output_size, random_samples)
    return result if return_indices else result[0]


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows at random distances; Graham, 2014.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        output_size: the size of the output, or
        output_ratio: its size as a fraction of the input's.
        return_indices: give their flat positions in the plane too.
        _random_samples: numbers between 0 and 1 of shape (N, C, 2), drawn when not given.

    >>> import relume as rl
    >>> fractional_max_pool2d(rl.rand(1, 3, 9, 9), 2, output_size=(5, 6)).shape
    (1, 3, 5, 6)
    """
    return _fractional_max(
        2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The same over (N, C, D, H, W) or (C, D, H, W); see `fractional_max_pool2d`.

    >>> import relume as rl
    >>> fractional_max_pool3d(rl.rand(1, 3, 6, 6, 6), 2, output_ratio=0.5).shape
    (1, 3, 3, 3, 3)
    """
    return _fractional_max(
        3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
