"""Orthogonal polynomials by their recurrences (Abramowitz & Stegun, 22.7), on the tape.

Each family begins with 1 and a line, and goes on with
p[k+1](x) = (a(k) x + b(k)) p[k](x) - c(k) p[k-1](x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor

_ops = _C.ops


@dataclass(frozen=True)
class Family:
    """A family of polynomials.

    Attributes:
        symbol: what mathematicians call it.
        line: (slope, constant) of the polynomial of degree 1.
        step: of the degree k, the numbers (a, b, c) of the recurrence.
    """

    symbol: str
    line: tuple[float, float]
    step: Callable[[int], tuple[float, float, float]]


_CHEBYSHEV = (2.0, 0.0, 1.0)
_SHIFTED = (4.0, -2.0, 1.0)

FAMILIES = {
    "chebyshev_polynomial_t": Family("T", (1, 0), lambda k: _CHEBYSHEV),
    "chebyshev_polynomial_u": Family("U", (2, 0), lambda k: _CHEBYSHEV),
    "chebyshev_polynomial_v": Family("V", (2, -1), lambda k: _CHEBYSHEV),
    "chebyshev_polynomial_w": Family("W", (2, 1), lambda k: _CHEBYSHEV),
    "hermite_polynomial_h": Family("H", (2, 0), lambda k: (2, 0, 2 * k)),
    "hermite_polynomial_he": Family("He", (1, 0), lambda k: (1, 0, k)),
    "laguerre_polynomial_l": Family(
        "L", (-1, 1), lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))
    ),
    "legendre_polynomial_p": Family("P", (1, 0), lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1))),
    "shifted_chebyshev_polynomial_t": Family("T*", (2, -1), lambda k: _SHIFTED),
    "shifted_chebyshev_polynomial_u": Family("U*", (4, -2), lambda k: _SHIFTED),
    "shifted_chebyshev_polynomial_v": Family("V*", (4, -3), lambda k: _SHIFTED),
    "shifted_chebyshev_polynomial_w": Family("W*", (4, -1), lambda k: _SHIFTED),
}


def _value(family: Family, input: Tensor, degree: Tensor) -> Tensor:
    highest = int(degree.max().item()) if degree.numel() else 0
    before, now = _ops["ones_like"](input), family.line[0] * input + family.line[1]
    result = _ops["where"](degree < 0, 0 * before, before)
    for k in range(1, highest + 1):
        result = _ops["where"](degree == k, now, result)
        a, b, c = family.step(k)
        before, now = now, (a * input + b) * now - c * before
    return result


def _function(name: str, family: Family) -> Callable[[Any, Any], Tensor]:
    def polynomial(input: Any, n: Any) -> Tensor:
        x, degree = as_tensor(input), as_tensor(n)
        if not x.is_floating_point():
            x = x.to(_C.default_float())
        if degree.is_floating_point():
            degree = degree.trunc()
        return _value(family, x, degree)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"""The polynomial {family.symbol} of degree n, at each element.

    Args:
        input: where; a tensor.
        n: the degrees, of which the whole part counts; a number or a tensor that broadcasts.
            0 below degree 0.

    >>> import relume as rl
    >>> rl.special.{name}(rl.tensor([1.0]), 0)
    tensor([1.])
    """
    return polynomial


FUNCTIONS = {name: _function(name, family) for name, family in FAMILIES.items()}
