"""Resampling of sequences, planes and volumes; windows as columns of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relume
from relume._C import Tensor
from relume.nn.functional._common import ops

Size = int | Sequence[int]

# Which modes there are, and over how many dimensions.
_DIMENSIONS = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
_ALIGNED = ("linear", "bilinear", "bicubic", "trilinear")


def _each(name: str, setting: Any, dimensions: int) -> list[Any]:
    values = list(setting) if isinstance(setting, Sequence) else [setting] * dimensions
    if len(values) != dimensions:
        raise ValueError(f"{name} must be one number or {dimensions}, not {len(values)}")
    return values


def interpolate(
    input: Tensor,
    size: Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Sequences, planes or volumes of another size.

    Args:
        input: of shape (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: of the output, one number or one per dimension; or
        scale_factor: by which the input's size is multiplied.
        mode: "nearest", "nearest-exact", "area" (means of equal parts), "linear" (sequences),
            "bilinear" and "bicubic" (planes), "trilinear" (volumes).
        align_corners: the corner elements of input and output lie on each other, rather than the
            corners of their corner elements; not for "nearest", "nearest-exact", "area".
        recompute_scale_factor: compute with the factor of the rounded size.
        antialias: let every output look at all of the input that it stands for when the output is
            smaller ("bilinear" and "bicubic").

    Returns:
        A tensor of shape (N, C, *size).

    Raises:
        ValueError: settings that do not fit.

    >>> import relume as rl
    >>> interpolate(rl.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1. , 1.5, 2.5, 3. ]]])
    """
    dimensions = input.ndim - 2
    if mode not in _DIMENSIONS:
        raise ValueError(f"mode must be one of {', '.join(_DIMENSIONS)}, not {mode!r}")
    if dimensions not in _DIMENSIONS[mode]:
        raise ValueError(f"mode {mode!r} does not take an input of shape {tuple(input.shape)}")
    if align_corners is not None and mode not in _ALIGNED:
        raise ValueError(f"align_corners is for the modes {', '.join(_ALIGNED)}, not {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"antialias is for 'bilinear' and 'bicubic', not {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError("give either size or scale_factor")
    factors: list[float | None] = [None] * dimensions
    if scale_factor is not None:
        given = [float(factor) for factor in _each("scale_factor", scale_factor, dimensions)]
        if any(factor <= 0 for factor in given):
            raise ValueError(f"scale_factor must be positive, not {scale_factor}")
        sizes = [int(own * factor) for own, factor in zip(input.shape[2:], given, strict=True)]
        if not recompute_scale_factor:
            factors = list(given)
    else:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor needs a scale_factor")
        sizes = [int(wanted) for wanted in _each("size", size, dimensions)]
    if mode == "area":
        return getattr(relume, f"adaptive_avg_pool{dimensions}d")(input, sizes)
    all_factors = [None] * (3 - dimensions) + factors
    return ops["resample"](input, sizes, mode, bool(align_corners), antialias, *all_factors)


def upsample(
    input: Tensor,
    size: Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The older name of `interpolate`.

    >>> import relume as rl
    >>> upsample(rl.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Size | None = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="nearest").

    >>> import relume as rl
    >>> upsample_nearest(rl.tensor([[[1.0, 3.0]]]), size=4)
    tensor([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Size | None = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="bilinear") whose corners stay where they are.

    >>> import relume as rl
    >>> upsample_bilinear(rl.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


def unfold(
    input: Tensor,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """The elements under every window of (N, C, H, W) as columns, (N, C * window, windows).

    >>> import relume as rl
    >>> unfold(rl.ones(1, 3, 4, 4), 2).shape
    (1, 12, 9)
    """
    return relume.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """Columns of `unfold`, added where windows overlap, as (N, C, *output_size).

    >>> import relume as rl
    >>> fold(rl.ones(1, 12, 9), (4, 4), 2).shape
    (1, 3, 4, 4)
    """
    return relume.col2im(input, output_size, kernel_size, dilation, padding, stride)
