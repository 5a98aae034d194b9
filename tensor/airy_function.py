"""Airy's function of the first kind, composed of ops, on the tape."""

from __future__ import annotations

import cmath
import math

from relume import _C
from relume._C import Tensor

_ops = _C.ops

_AT_ZERO, _SLOPE_AT_ZERO = 0.355028053887817239, -0.258819403792806798
_TERMS = 8  # of each power series, enough below 1
_STEP, _NODES = 0.12, 56  # of the integral, after which its integrand is too small to count
_TURN = cmath.exp(1j * math.pi / 6)


def _near(x: Tensor) -> Tensor:
    """The power series (DLMF 9.4.1), for |x| < 1."""
    cube = x * x * x
    even, odd = _ops["ones_like"](x), x
    value = _AT_ZERO * even + _SLOPE_AT_ZERO * odd
    for k in range(0, 3 * _TERMS, 3):
        even = even * cube / ((k + 2) * (k + 3))
        odd = odd * cube / ((k + 3) * (k + 4))
        value = value + _AT_ZERO * even + _SLOPE_AT_ZERO * odd
    return value


def _far(x: Tensor) -> Tensor:
    """The integral along the steepest descent, for |x| >= 1.

    With zeta = 2/3 z^(3/2), Ai(z) = exp(-zeta) / pi * integral of exp(-sqrt(z) u^2) cos(u^3 / 3)
    over u >= 0; and Ai(-x) is twice the real part of w Ai(x w) for w = exp(i pi / 3) (DLMF 9.2.12).
    """
    size, is_left = x.abs(), x < 0
    u = _STEP * _ops["arange"](0, _NODES, 1, dtype=x.dtype)
    weights = _STEP - _STEP / 2 * (u == 0).to(x.dtype)
    swing = (u**3 / (3 * size.unsqueeze(-1) ** 0.75)).cos() * weights
    root = (is_left.to(x.dtype) * (math.pi / 6 * 1j)).exp()
    total = ((-root.unsqueeze(-1) * u**2).exp() * swing).sum(-1)
    value = total * (-2 / 3 * size**1.5 * root**3).exp() / (math.pi * size**0.25)
    return _ops["where"](is_left, 2 * (value * _TURN**2).real, value.real)


def airy_ai(x: Tensor) -> Tensor:
    """Airy's function Ai, the solution of y'' = x y that vanishes to the right.

    >>> import relume as rl
    >>> rl.special.airy_ai(rl.tensor([0.0, 1.0, -2.0]))
    tensor([0.355 , 0.1353, 0.2274])
    """
    kind = x.dtype if x.is_floating_point() else _C.default_float()
    wide = x.to("float64")
    is_near = wide.abs() < 1
    # Each side sees only elements of its own, so that the gradient has no NaN of the other's.
    near = _near(_ops["where"](is_near, wide, 0.0))
    far = _far(_ops["where"](is_near | wide.isinf(), 1.0, wide))
    result = _ops["where"](is_near, near, far)
    return _ops["where"](wide.isinf(), 0.0, result).to(kind)
