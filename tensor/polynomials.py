"""NumPy's polynomials: coefficients in a row, the highest power first."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor

_ops = _C.ops


def _row(p: Any) -> Tensor:
    row = as_tensor(p)
    return row.reshape(1) if row.ndim == 0 else row


def _aligned(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Both rows as long as the longer one, zeros in front."""
    first, second = _row(a), _row(b)
    length = max(len(first), len(second))
    return tuple(_ops["pad"](row, [length - len(row), 0]) for row in (first, second))


def poly(seq_of_zeros: Any) -> Tensor:
    """The polynomial with these roots, or the characteristic one of a square matrix.

    >>> import relume as rl
    >>> rl.poly(rl.tensor([1.0, 2.0]))
    tensor([ 1., -3.,  2.])
    """
    zeros = _row(seq_of_zeros)
    if zeros.ndim == 2:
        zeros = _ops["linalg_eigvals"](zeros)
        if not bool((zeros.imag != 0).any()):
            zeros = zeros.real
    elif not (zeros.is_floating_point() or zeros.is_complex()):
        zeros = zeros.to(_C.default_float())
    result = _ops["ones"]((1,), dtype=zeros.dtype)
    for zero in zeros.unbind(0):
        longer = _ops["pad"](result, [0, 1])
        result = longer - zero * _ops["pad"](result, [1, 0])
    return result


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials.

    >>> import relume as rl
    >>> rl.polyadd([1, 0, 0], [2, 5])
    tensor([1, 2, 5])
    """
    first, second = _aligned(a1, a2)
    return first + second


def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials.

    >>> import relume as rl
    >>> rl.polysub([1, 0, 0], [2, 5])
    tensor([ 1, -2, -5])
    """
    first, second = _aligned(a1, a2)
    return first - second


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials.

    >>> import relume as rl
    >>> rl.polymul([1, 1], [1, -1])
    tensor([ 1,  0, -1])
    """
    first, second = _row(a1), _row(a2)
    width = len(second) - 1
    shifted = [
        _ops["pad"](first * factor, [i, width - i]) for i, factor in enumerate(second.unbind(0))
    ]
    return _ops["stack"](shifted).sum(0)


def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """The quotient of two polynomials, and what is left.

    >>> import relume as rl
    >>> rl.polydiv(rl.tensor([1.0, 0.0, -1.0]), rl.tensor([1.0, 1.0]))
    (tensor([ 1., -1.]), tensor([0.]))
    """
    rest, divisor = _row(u) + 0.0, _row(v) + 0.0
    factors = []
    while len(rest) >= len(divisor):
        factor = rest[0] / divisor[0]
        factors.append(factor)
        rest = rest[1:] - factor * _ops["pad"](divisor[1:], [0, len(rest) - len(divisor)])
    quotient = _ops["stack"](factors) if factors else rest.new_zeros(1)
    while len(rest) > 1 and rest[0] == 0:
        rest = rest[1:]
    return quotient, rest if len(rest) else rest.new_zeros(1)


def polyder(p: Any, m: int = 1) -> Tensor:
    """The derivative of a polynomial, m times.

    >>> import relume as rl
    >>> rl.polyder([1, 1, 1])
    tensor([2, 1])
    """
    row = _row(p)
    for _ in range(m):
        row = row[:-1] * _ops["arange"](len(row) - 1, 0, -1)
    return row


def polyint(p: Any, m: int = 1, k: float = 0) -> Tensor:
    """The antiderivative of a polynomial, m times, each time with the constant k.

    >>> import relume as rl
    >>> rl.polyint([2, 1])
    tensor([1., 1., 0.])
    """
    row = _row(p)
    for _ in range(m):
        row = _ops["pad"](row / _ops["arange"](len(row), 0, -1), [0, 1])
        row[-1] = k
    return row


def roots(p: Any) -> Tensor:
    """Where a polynomial is 0: the eigenvalues of its companion matrix, complex.

    >>> import relume as rl
    >>> rl.roots([1.0, 0.0, -4.0]).real.sort().values
    tensor([-2.,  2.])
    """
    row = _row(p)
    if not (row.is_floating_point() or row.is_complex()):
        row = row.to(_C.default_float())
    places = (row != 0).nonzero().reshape(-1)
    if not len(places):
        return row.new_empty(0)
    zeros_at_0 = len(row) - 1 - int(places[-1].item())
    row = row[int(places[0].item()) : int(places[-1].item()) + 1]
    if len(row) == 1:
        return row.new_zeros(zeros_at_0)
    below = _ops["eye"](len(row) - 2, len(row) - 1, dtype=row.dtype)
    companion = _ops["cat"]([(-row[1:] / row[0]).unsqueeze(0), below])
    found = _ops["linalg_eigvals"](companion)
    return _ops["cat"]([found, found.new_zeros(zeros_at_0)])


FUNCTIONS = (poly, polyadd, polyder, polydiv, polyint, polymul, polysub, roots)
