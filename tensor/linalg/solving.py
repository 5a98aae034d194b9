"""Linear systems, inverses, determinants, powers and exponentials of square matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from relume import _C
from relume._C import Tensor
from relume.tensor.dtype_limits import finfo

_ops = _C.ops


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class InverseResult(NamedTuple):
    """What `inv_ex` returns."""

    inverse: Tensor
    info: Tensor


class SolveResult(NamedTuple):
    """What `solve_ex` returns."""

    result: Tensor
    info: Tensor


class LeastSquaresResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def is_vector_of(A: Tensor, B: Tensor) -> bool:
    """Are the right sides B vectors, one for each matrix of A?"""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def inv_ex(A: Tensor, *, check_errors: bool = False) -> InverseResult:
    """The inverse without an error for a singular matrix, whose result is NaN.

    Args:
        A: square matrices, (..., n, n).

    Returns:
        (inverse, info): info is int32 (...), not 0 where a matrix is singular.

    >>> import relume as rl
    >>> rl.linalg.inv_ex(rl.zeros(2, 2)).info
    tensor(1, dtype=int32)
    """
    return InverseResult(*_ops["linalg_inv_ex"](A, check_errors))


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices (..., n, n).

    Raises:
        LinAlgError: a matrix is singular.

    >>> import relume as rl
    >>> rl.linalg.inv(rl.tensor([[2.0, 0.0], [0.0, 4.0]])).abs()
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return _ops["linalg_inv_ex"](A, True)[0]


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolveResult:
    """`solve` without an error for a singular matrix, whose result is NaN.

    Returns:
        (result, info): info is int32 (...), not 0 where a matrix is singular.

    >>> import relume as rl
    >>> rl.linalg.solve_ex(rl.zeros(2, 2), rl.ones(2)).info
    tensor(1, dtype=int32)
    """
    if left and is_vector_of(A, B):
        result, info = _ops["linalg_solve_ex"](A, B.unsqueeze(-1), check_errors)
        return SolveResult(result.squeeze(-1), info)
    if left:
        return SolveResult(*_ops["linalg_solve_ex"](A, B, check_errors))
    result, info = _ops["linalg_solve_ex"](A.mT, B.mT, check_errors)
    return SolveResult(result.mT, info)


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B, or X A = B unless `left`.

    Args:
        A: square matrices, (..., n, n).
        B: (..., n, k), or vectors (n,) or (..., n) with the leading dimensions of A. Leading
            dimensions broadcast.

    Returns:
        X, of the shape of B.

    Raises:
        LinAlgError: a matrix is singular.

    >>> import relume as rl
    >>> rl.linalg.solve(rl.tensor([[2.0, 0.0], [0.0, 4.0]]), rl.tensor([2.0, 2.0]))
    tensor([1. , 0.5])
    """
    return solve_ex(A, B, left=left, check_errors=True).result


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B (X A = B unless `left`) for triangular matrices.

    Args:
        A: (..., n, n); only the upper (or lower) triangle is read, with `unitriangular` its
            diagonal is taken as 1.
        B: (..., n, k), or (..., k, n) unless `left`.

    >>> import relume as rl
    >>> rl.linalg.solve_triangular(rl.tensor([[2.0, 9.0], [1.0, 4.0]]), rl.ones(2, 1), upper=False)
    tensor([[0.5  ],
            [0.125]])
    """
    return _ops["linalg_solve_triangular"](A, B, upper, left, unitriangular)


def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> LeastSquaresResult:
    """The X that brings A X closest to B; of several the shortest.

    Args:
        A: (..., m, n), of any rank.
        B: (..., m, k) or vectors (m,) or (..., m).
        rcond: singular values up to `rcond` times the largest count as 0; None stands for the
            type's precision times max(m, n).
        driver: a LAPACK driver, for PyTorch's sake: all matrices are solved by "gelsd".

    Returns:
        (solution, residuals, rank, singular_values): the residuals are the squared distances of
        the columns, empty unless m > n and all matrices have full rank.

    >>> import relume as rl
    >>> rl.linalg.lstsq(rl.tensor([[1.0], [1.0]]), rl.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"lstsq(): there is no driver {driver!r}")
    m, n = A.shape[-2:]
    if rcond is None:
        dtype = A.dtype if A.dtype.is_floating_point or A.dtype.is_complex else "float32"
        rcond = finfo(dtype).eps * max(m, n)
    vector = is_vector_of(A, B)
    sides = B.unsqueeze(-1) if vector else B
    solution, rank, values = _ops["linalg_lstsq"](A, sides, rcond)
    residuals = values.new_empty((0,))
    if m > n and bool((rank == n).all()):
        residuals = ((A @ solution - sides).abs() ** 2).sum(-2)
    if vector:
        solution = solution.squeeze(-1)
    return LeastSquaresResult(solution, residuals, rank, values)


def det(A: Tensor) -> Tensor:
    """The determinants (...) of square matrices (..., n, n).

    >>> import relume as rl
    >>> rl.linalg.det(rl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return _ops["linalg_det"](A)


def slogdet(A: Tensor) -> SlogdetResult:
    """The signs and the logarithms of the absolute values of determinants, without overflow.

    Args:
        A: square matrices, (..., n, n).

    Returns:
        (sign, logabsdet), both (...): the sign of complex determinants is a complex number of
        size 1; that of singular matrices is 0, and the logarithm -inf.

    >>> import relume as rl
    >>> rl.linalg.slogdet(rl.tensor([[1.0, 0.0], [0.0, -1.0]])).sign
    tensor(-1.)
    """
    return SlogdetResult(*_ops["linalg_slogdet"](A))


def logdet(A: Tensor) -> Tensor:
    """The logarithms of determinants; NaN where one is negative.

    >>> import relume as rl
    >>> rl.logdet(rl.eye(2))
    tensor(0.)
    """
    sign, logarithm = slogdet(A)
    if sign.dtype.is_complex:
        return logarithm + sign.log()
    return _ops["where"](sign < 0, math.nan, logarithm)


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of n copies of square matrices; of copies of the inverse when n is negative.

    >>> import relume as rl
    >>> rl.linalg.matrix_power(rl.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"matrix_power() needs square matrices, not shape {A.shape}")
    if n < 0:
        A, n = inv(A), -n
    if n == 0:
        return _ops["eye"](A.shape[-1], dtype=A.dtype).expand(A.shape).clone()
    return A.clone() if n == 1 else _power(A, n)


def _power(A: Tensor, n: int) -> Tensor:
    """With as many products as n has bits, and one more for each that is set."""
    if n == 1:
        return A
    half = _power(A, n // 2)
    square = half @ half
    return square @ A if n % 2 else square


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices (..., n, n).

    Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited (2005).

    >>> import relume as rl
    >>> rl.linalg.matrix_exp(rl.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _ops["linalg_matrix_exp"](A)


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse for `tensordot`: of A seen as a matrix from the last to the first dimensions.

    Args:
        A: the first `ind` dimensions have as many elements as the others.

    >>> import relume as rl
    >>> rl.linalg.tensorinv(rl.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    if ind <= 0:
        raise ValueError(f"tensorinv(): ind must be positive, not {ind}")
    first, last = A.shape[:ind], A.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise ValueError(
            f"tensorinv(): the first {ind} dimensions of shape {A.shape} have {math.prod(first)} "
            f"elements, the others {math.prod(last)}; they must be as many"
        )
    return inv(A.reshape(math.prod(first), -1)).reshape(last + first)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B.

    Args:
        A: of shape B.shape + X.shape.
        dims: dimensions of A to move to the end first.

    >>> import relume as rl
    >>> rl.linalg.tensorsolve(rl.eye(6).reshape(2, 3, 6), rl.ones(2, 3))
    tensor([1., 1., 1., 1., 1., 1.])
    """
    if dims is not None:
        moved = [d % A.ndim for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    shape = A.shape[B.ndim :]
    if B.numel() != math.prod(shape):
        raise ValueError(f"tensorsolve(): shape {A.shape} does not fit right sides of {B.shape}")
    return solve(A.reshape(-1, B.numel()), B.reshape(-1)).reshape(shape)
