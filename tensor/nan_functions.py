"""Reductions that pass over NaN, with NumPy's names."""

from __future__ import annotations

import math
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor
from relume.tensor.dimensions import takes_numpy_names

_ops = _C.ops


def _filled(input: Tensor, number: float) -> Tensor:
    """The tensor with a number in the place of every NaN."""
    if not input.dtype.is_floating_point and not input.dtype.is_complex:
        return input
    return _ops["where"](_ops["isnan"](input), number, input)


def _extreme(name: str, worst: float, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    result = _ops[name](_filled(input, worst), dim, keepdim)
    if not input.dtype.is_floating_point:
        return result
    nothing = _ops["isnan"](input).all(dim, keepdim)
    return _ops["where"](nothing, math.nan, result)


@takes_numpy_names
def nanmax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest element that is a number; NaN where there is none.

    >>> import relume as rl
    >>> nanmax(rl.tensor([1.0, rl.nan, 3.0]))
    tensor(3.)
    """
    return _extreme("amax", -math.inf, input, dim, keepdim)


@takes_numpy_names
def nanmin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest element that is a number; NaN where there is none.

    >>> import relume as rl
    >>> nanmin(rl.tensor([1.0, rl.nan, 3.0]))
    tensor(1.)
    """
    return _extreme("amin", math.inf, input, dim, keepdim)


@takes_numpy_names
def nanprod(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The product, with 1 for NaN.

    >>> import relume as rl
    >>> nanprod(rl.tensor([2.0, rl.nan, 3.0]))
    tensor(6.)
    """
    return _ops["prod"](_filled(input, 1.0), dim, keepdim)


@takes_numpy_names
def nanvar(
    input: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False
) -> Tensor:
    """The variance of the elements that are numbers.

    Args:
        correction: the sum of squares is divided by the number of elements minus this.

    >>> import relume as rl
    >>> nanvar(rl.tensor([1.0, rl.nan, 3.0]))
    tensor(2.)
    """
    is_number = ~_ops["isnan"](input)
    mean = _ops["nanmean"](input, dim, True)
    squares = _ops["where"](is_number, input - mean, 0.0).square().sum(dim, keepdim)
    count = is_number.sum(dim, keepdim).to(input.dtype)
    return squares / (count - correction).clamp(0)


@takes_numpy_names
def nanstd(
    input: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False
) -> Tensor:
    """The standard deviation of the elements that are numbers; arguments as of `nanvar`.

    >>> import relume as rl
    >>> nanstd(rl.tensor([1.0, rl.nan, 3.0]), correction=0)
    tensor(1.)
    """
    return nanvar(input, dim, correction=correction, keepdim=keepdim).sqrt()


@takes_numpy_names
def nanargmax(input: Tensor, dim: int | None = None) -> Tensor:
    """Where the largest number is.

    >>> import relume as rl
    >>> nanargmax(rl.tensor([1.0, rl.nan, 3.0]))
    tensor(2)
    """
    return _ops["argmax"](_filled(input, -math.inf), dim)


@takes_numpy_names
def nanargmin(input: Tensor, dim: int | None = None) -> Tensor:
    """Where the smallest number is.

    >>> import relume as rl
    >>> nanargmin(rl.tensor([1.0, rl.nan, 3.0]))
    tensor(0)
    """
    return _ops["argmin"](_filled(input, math.inf), dim)


@takes_numpy_names
def nancumsum(input: Tensor, dim: int) -> Tensor:
    """The running sum, with 0 for NaN.

    >>> import relume as rl
    >>> nancumsum(rl.tensor([1.0, rl.nan, 3.0]), 0)
    tensor([1., 1., 4.])
    """
    return _ops["cumsum"](_filled(input, 0.0), dim)


@takes_numpy_names
def nancumprod(input: Tensor, dim: int) -> Tensor:
    """The running product, with 1 for NaN.

    >>> import relume as rl
    >>> nancumprod(rl.tensor([2.0, rl.nan, 3.0]), 0)
    tensor([2., 2., 6.])
    """
    return _ops["cumprod"](_filled(input, 1.0), dim)


@takes_numpy_names
def nanpercentile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The number below which q percent of the elements are that are numbers.

    >>> import relume as rl
    >>> nanpercentile(rl.tensor([1.0, rl.nan, 3.0]), 50)
    tensor(2.)
    """
    share = as_tensor(q, input.dtype) / 100
    return _ops["nanquantile"](input, share, dim, keepdim)


FUNCTIONS = (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmin,
    nanpercentile,
    nanprod,
    nanstd,
    nanvar,
)
