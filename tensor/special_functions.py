"""Special functions that are composed of ops, on the tape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.airy_function import airy_ai

_ops = _C.ops

_TERMS = 30  # of the power series, enough below 2
_STEPS = 40  # of the integral, after which its integrand is too small to count


def _small(order: int, x: Tensor) -> Tensor:
    """K0 or K1 below 2 (Abramowitz & Stegun, 9.6.11)."""
    quarter = x * x / 4
    term = _ops["ones_like"](x)
    harmonic = -0.5772156649015329 if order == 0 else 0.5 - 0.5772156649015329
    series = term * harmonic
    for k in range(1, _TERMS):
        term = term * quarter / (k * (k + order))
        harmonic += 1 / k if order == 0 else (1 / k + 1 / (k + 1)) / 2
        series = series + term * harmonic
    logarithm = (x / 2).log()
    if order == 0:
        return series - logarithm * _ops["i0"](x)
    return 1 / x + logarithm * _ops["i1"](x) - x / 2 * series


def _large(order: int, x: Tensor) -> Tensor:
    """exp(x) times K0 or K1 from 2 on: the integral of exp(-x (cosh t - 1)) cosh(order t)."""
    step = (0.4 / x.detach().sqrt()).clamp(max=0.125)  # the integrand is as narrow as 1/sqrt(x)
    total = _ops["zeros_like"](x)
    for k in range(_STEPS):
        t = k * step
        weight = step / 2 if k == 0 else step * (order * t).cosh()
        total = total + weight * (-2 * x * (t / 2).sinh() ** 2).exp()
    return total


def _modified_bessel(order: int, scaled: bool, input: Tensor) -> Tensor:
    kind = input.dtype if input.is_floating_point() else _C.default_float()
    x = input.to("float64")
    is_small = x < 2
    # Each side sees only elements of its own, so that the gradient has no NaN of the other's.
    near = _ops["where"](is_small & (x != 0), x, 1.0)
    far = _ops["where"](is_small | x.isinf(), 2.0, x)
    small, large = _small(order, near), _large(order, far)
    if scaled:
        small = small * near.exp()
    else:
        large = large * (-far).exp()
    result = _ops["where"](is_small, small, large)
    result = _ops["where"](x == 0, math.inf, _ops["where"](x == math.inf, 0.0, result))
    return result.to(kind)


def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 0; NaN below 0.

    >>> import relume as rl
    >>> rl.special.modified_bessel_k0(rl.tensor([1.0]))
    tensor([0.421])
    """
    return _modified_bessel(0, False, input)


def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 1; NaN below 0.

    >>> import relume as rl
    >>> rl.special.modified_bessel_k1(rl.tensor([1.0]))
    tensor([0.6019])
    """
    return _modified_bessel(1, False, input)


def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind, of order 0.

    >>> import relume as rl
    >>> rl.special.scaled_modified_bessel_k0(rl.tensor([100.0]))
    tensor([0.1252])
    """
    return _modified_bessel(0, True, input)


def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind, of order 1.

    >>> import relume as rl
    >>> rl.special.scaled_modified_bessel_k1(rl.tensor([100.0]))
    tensor([0.1258])
    """
    return _modified_bessel(1, True, input)


def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(x) / x, and 1 at 0.

    >>> import relume as rl
    >>> rl.special.spherical_bessel_j0(rl.tensor([0.0, 1.0]))
    tensor([1.    , 0.8415])
    """
    return _ops["sinc"](input / math.pi)


def betaln(a: Tensor, b: Any) -> Tensor:
    """The logarithm of the beta function, for positive numbers.

    >>> import relume as rl
    >>> rl.special.betaln(rl.tensor([1.0]), 2.0)
    tensor([-0.6931])
    """
    return _ops["lgamma"](a) + _lgamma(b) - _ops["lgamma"](a + b)


def beta(a: Tensor, b: Any) -> Tensor:
    """The beta function, for positive numbers.

    >>> import relume as rl
    >>> rl.special.beta(rl.tensor([2.0]), 2.0)
    tensor([0.1667])
    """
    return betaln(a, b).exp()


def _lgamma(x: Any) -> Any:
    return _ops["lgamma"](x) if isinstance(x, Tensor) else math.lgamma(x)


def rel_entr(x: Tensor, y: Any) -> Tensor:
    """x log(x / y), 0 where x is 0 and y is not negative, infinite where it is not defined.

    >>> import relume as rl
    >>> rl.special.rel_entr(rl.tensor([0.0, 1.0]), rl.tensor([1.0, 2.0]))
    tensor([ 0.    , -0.6931])
    """
    y = y if isinstance(y, Tensor) else _ops["full_like"](x, y)
    inside = (x > 0) & (y > 0)
    ratio = _ops["where"](inside, x, 1.0) / _ops["where"](inside, y, 1.0)
    outside = _ops["where"]((x == 0) & (y >= 0), 0.0, math.inf)
    outside = _ops["where"](x.isnan() | y.isnan(), math.nan, outside).to(x.dtype)
    return _ops["where"](inside, x * ratio.log(), outside)


def kl_div(x: Tensor, y: Any) -> Tensor:
    """x log(x / y) - x + y, as SciPy's kl_div.

    >>> import relume as rl
    >>> rl.special.kl_div(rl.tensor([1.0]), rl.tensor([2.0]))
    tensor([0.3069])
    """
    return rel_entr(x, y) - x + y


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    function.__name__: function
    for function in (
        airy_ai,
        beta,
        betaln,
        kl_div,
        modified_bessel_k0,
        modified_bessel_k1,
        rel_entr,
        scaled_modified_bessel_k0,
        scaled_modified_bessel_k1,
        spherical_bessel_j0,
    )
}
