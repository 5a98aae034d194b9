"""Windows: weights that fade a piece of a signal out towards its ends, for `stft` and filters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relume import _C
from relume._C import Tensor

_ops = _C.ops


def make_window(
    length: int,
    periodic: bool,
    shape: Callable[[Tensor], Tensor],
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """`shape` of places from 0 to 1; a periodic window leaves out its last place."""
    if length < 0:
        raise ValueError(f"a window needs a length of at least 0, not {length}")
    kind = _C.default_float() if dtype is None else dtype
    if length < 2:
        result = _ops["ones"](length, dtype=kind, device=device)
    else:
        steps = length if periodic else length - 1
        places = _ops["arange"](0, length, 1, dtype="float64", device=device) / steps
        result = shape(places).to(kind)
    return result.requires_grad_() if requires_grad else result


def cosines(*weights: float) -> Callable[[Tensor], Tensor]:
    """weights[0] - weights[1] cos(2 pi x) + weights[2] cos(4 pi x) - ..."""

    def shape(places: Tensor) -> Tensor:
        terms = [
            (-1) ** k * weight * (2 * math.pi * k * places).cos()
            for k, weight in enumerate(weights)
        ]
        return sum(terms[1:], terms[0])

    return shape


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hann window: one period of a raised cosine.

    Args:
        window_length: the number of weights.
        periodic: for a transform of this length: the next weight would be the first one again;
            False gives a symmetric window, for filters.

    Returns:
        Weights of shape (window_length,).

    >>> hann_window(4)
    tensor([0. , 0.5, 1. , 0.5])
    >>> hann_window(5, periodic=False)
    tensor([0. , 0.5, 1. , 0.5, 0. ])
    """
    return make_window(window_length, periodic, cosines(0.5, 0.5), dtype, device, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hamming window, alpha - beta cos: it does not fall to 0. Arguments as of `hann_window`.

    >>> hamming_window(4)
    tensor([0.08, 0.54, 1.  , 0.54])
    """
    return make_window(window_length, periodic, cosines(alpha, beta), dtype, device, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Blackman window, with two cosines. Arguments as of `hann_window`.

    >>> blackman_window(4)[1:]
    tensor([0.34, 1.  , 0.34])
    """
    weights = cosines(0.42, 0.5, 0.08)
    return make_window(window_length, periodic, weights, dtype, device, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Bartlett window, a triangle. Arguments as of `hann_window`.

    >>> bartlett_window(4)
    tensor([0. , 0.5, 1. , 0.5])
    """

    def triangle(places: Tensor) -> Tensor:
        return 1 - (2 * places - 1).abs()

    return make_window(window_length, periodic, triangle, dtype, device, requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window, of Bessel functions. Arguments as of `hann_window`.

    Args:
        beta: the larger, the narrower.

    >>> kaiser_window(3, periodic=False, beta=1.0)
    tensor([0.7898, 1.    , 0.7898])
    """

    def bell(places: Tensor) -> Tensor:
        height = (1 - (2 * places - 1).square()).clamp(0).sqrt()
        return _ops["i0"](beta * height) / _ops["i0"](_ops["full"]((), beta, dtype="float64"))

    return make_window(window_length, periodic, bell, dtype, device, requires_grad)


FUNCTIONS = (bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window)
