"""Matrices as products of simpler ones: Cholesky, LU, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import NamedTuple

from relume import _C
from relume._C import Tensor

_ops = _C.ops


class CholeskyResult(NamedTuple):
    """What `cholesky_ex` returns."""

    L: Tensor
    info: Tensor


class LuResult(NamedTuple):
    """What `lu` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


class LuFactors(NamedTuple):
    """What `lu_factor` returns."""

    LU: Tensor
    pivots: Tensor


class LuFactorsWithInfo(NamedTuple):
    """What `lu_factor_ex` returns."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class QrResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class SvdResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class EigResult(NamedTuple):
    """What `eig` and `eigh` return."""

    eigenvalues: Tensor
    eigenvectors: Tensor


# ---- Cholesky ----


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyResult:
    """`cholesky` without an error for a matrix that is not positive definite.

    Returns:
        (L, info): info is int32 (...), not 0 where there is no decomposition.

    >>> import relume as rl
    >>> rl.linalg.cholesky_ex(-rl.eye(2)).info
    tensor(1, dtype=int32)
    """
    return CholeskyResult(*_ops["linalg_cholesky_ex"](A, upper, check_errors))


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with L L^H = A, or the upper U with U^H U = A.

    Args:
        A: positive definite Hermitian (real: symmetric) matrices, (..., n, n). Only the lower
            (with `upper` the upper) triangle is read.

    Raises:
        LinAlgError: a matrix is not positive definite.

    >>> import relume as rl
    >>> rl.linalg.cholesky(rl.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return _ops["linalg_cholesky_ex"](A, upper, True)[0]


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, where L is the Cholesky decomposition of A.

    Args:
        B: (..., n, k).
        L: what `cholesky` gave, (..., n, n).
        upper: L is an upper triangle.

    >>> import relume as rl
    >>> rl.cholesky_solve(rl.ones(1, 1), rl.tensor([[2.0]]))
    tensor([[0.25]])
    """
    solve = _ops["linalg_solve_triangular"]
    lower, higher = (L.mH, L) if upper else (L, L.mH)
    return solve(higher, solve(lower, B, False), True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, where L is the Cholesky decomposition of A.

    >>> import relume as rl
    >>> rl.cholesky_inverse(rl.tensor([[2.0]]))
    tensor([[0.25]])
    """
    return cholesky_solve(_ops["eye"](L.shape[-1], dtype=L.dtype).expand(L.shape), L, upper)


# ---- LU ----


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LuFactorsWithInfo:
    """`lu_factor` with LAPACK's info instead of an error.

    >>> import relume as rl
    >>> rl.linalg.lu_factor_ex(rl.zeros(2, 2)).info
    tensor(1, dtype=int32)
    """
    return LuFactorsWithInfo(*_ops["linalg_lu_factor_ex"](A, pivot, check_errors))


def lu_factor(A: Tensor, *, pivot: bool = True) -> LuFactors:
    """The LU decomposition in one matrix, for `lu_solve`.

    Args:
        A: (..., m, n).
        pivot: exchange rows for accuracy; only True is there.

    Returns:
        (LU, pivots): U on and above the diagonal, L (with ones on the diagonal) below it; row i
        was exchanged with row pivots[..., i], counted from 1.

    >>> import relume as rl
    >>> LU, pivots = rl.linalg.lu_factor(rl.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> pivots
    tensor([2, 2], dtype=int32)
    """
    return LuFactors(*_ops["linalg_lu_factor_ex"](A, pivot, False)[:2])


def lu(A: Tensor, *, pivot: bool = True) -> LuResult:
    """A as P L U: a permutation, a lower triangle with ones on the diagonal, an upper triangle.

    Args:
        A: (..., m, n).

    Returns:
        P (..., m, m), L (..., m, k), U (..., k, n) with k = min(m, n).

    >>> import relume as rl
    >>> P, L, U = rl.linalg.lu(rl.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> P @ L @ U
    tensor([[0., 1.],
            [2., 3.]])
    """
    return lu_unpack(*lu_factor(A, pivot=pivot))


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> LuResult:
    """P, L and U of what `lu_factor` gave.

    Args:
        unpack_data: False leaves L and U empty.
        unpack_pivots: False leaves P empty.

    >>> import relume as rl
    >>> rl.lu_unpack(*rl.linalg.lu_factor(rl.eye(2))).P
    tensor([[1., 0.],
            [0., 1.]])
    """
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    ones = _ops["eye"](m, k, dtype=LU_data.dtype)
    lower = LU_data[..., :k].tril(-1) + ones
    upper = LU_data[..., :k, :].triu()
    order = _ops["eye"](m, dtype=LU_data.dtype).expand((*LU_data.shape[:-2], m, m))
    permutation = _ops["linalg_exchange_rows"](order, LU_pivots, True)
    nothing = LU_data.new_empty(0)
    if not unpack_data:
        lower = upper = nothing
    return LuResult(permutation if unpack_pivots else nothing, lower, upper)


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A X = B, where (LU, pivots) is the LU decomposition of A.

    Args:
        LU, pivots: what `lu_factor` gave for square matrices.
        B: (..., n, k); of X A = B (..., k, n).
        left: False solves X A = B.
        adjoint: True takes A^H for A.

    >>> import relume as rl
    >>> rl.linalg.lu_solve(*rl.linalg.lu_factor(rl.tensor([[2.0]])), rl.ones(1, 1))
    tensor([[0.5]])
    """
    if not left:  # X A = B is A^H X^H = B^H
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    solve, exchange = _ops["linalg_solve_triangular"], _ops["linalg_exchange_rows"]
    batch = _ops["broadcast_to"]
    shape = _C.ops["matmul"](LU, B).shape
    B = batch(B, shape)
    pivots = batch(pivots, (*shape[:-2], pivots.shape[-1]))
    if adjoint:
        inner = solve(LU.mH, B, False)
        return exchange(solve(LU.mH, inner, True, True, True), pivots, True)
    inner = solve(LU, exchange(B, pivots), False, True, True)
    return solve(LU, inner, True)


# ---- QR ----


def qr(A: Tensor, mode: str = "reduced") -> QrResult:
    """Q with orthonormal columns and an upper triangular R with Q R = A.

    Args:
        A: (..., m, n).
        mode: "reduced" gives Q (..., m, k) and R (..., k, n) with k = min(m, n); "complete" a
            square Q and R (..., m, n); "r" an empty Q.

    >>> import relume as rl
    >>> Q, R = rl.linalg.qr(rl.tensor([[3.0], [4.0]]))
    >>> (Q @ R).round()
    tensor([[3.],
            [4.]])
    """
    if mode == "r" and A.requires_grad:
        reduced = _ops["linalg_qr"](A, "reduced")
        return QrResult(reduced[0].new_empty((0,)), reduced[1])
    return QrResult(*_ops["linalg_qr"](A, mode))


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections, as `geqrf` gives them.

    Args:
        input: (..., m, n), m >= n: each column holds a vector below its diagonal, where it is 1.
        tau: (..., k), k <= n: the factor of each reflection I - tau v v^H.

    Returns:
        Q, (..., m, n).

    >>> import relume as rl
    >>> rl.linalg.householder_product(rl.zeros(2, 1), rl.tensor([2.0]))
    tensor([[-1.],
            [ 0.]])
    """
    m, n = input.shape[-2:]
    count = tau.shape[-1]
    if not m >= n >= count:
        raise ValueError(
            f"householder_product() needs m >= n >= k, got shapes {input.shape} and {tau.shape}"
        )
    vectors = input.tril(-1) + _ops["eye"](m, n, dtype=input.dtype)
    result = _ops["eye"](m, n, dtype=input.dtype).expand(input.shape)
    for k in reversed(range(count)):
        vector = vectors[..., k : k + 1]
        result = result - tau[..., k, None, None] * (vector @ (vector.mH @ result))
    return result


# ---- singular values ----


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> SvdResult:
    """U, S and Vh with U diag(S) Vh = A.

    Args:
        A: (..., m, n).
        full_matrices: U (..., m, m) and Vh (..., n, n); otherwise U (..., m, k) and Vh (..., k, n)
            with k = min(m, n), which the gradient needs.
        driver: for PyTorch's sake: all matrices are decomposed by LAPACK's "gesdd".

    Returns:
        (U, S, Vh): S (..., k) is real and descending.

    >>> import relume as rl
    >>> rl.linalg.svd(rl.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    return SvdResult(*_ops["linalg_svd"](A, full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values (..., min(m, n)) of matrices (..., m, n), descending.

    >>> import relume as rl
    >>> rl.linalg.svdvals(rl.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    return _ops["linalg_svdvals"](A)


# ---- eigenvalues ----


def eigh(A: Tensor, UPLO: str = "L") -> EigResult:
    """Eigenvalues and eigenvectors of Hermitian (real: symmetric) matrices.

    Args:
        A: (..., n, n); only the lower triangle ("L") or the upper ("U") is read.

    Returns:
        (eigenvalues, eigenvectors): real values (..., n), ascending, and orthonormal vectors in
        the columns of (..., n, n). The signs (phases) of the vectors are not determined; the
        gradient is right for functions that do not depend on them.

    >>> import relume as rl
    >>> rl.linalg.eigh(rl.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    return EigResult(*_ops["linalg_eigh"](A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues (..., n) of Hermitian matrices (..., n, n), ascending.

    >>> import relume as rl
    >>> rl.linalg.eigvalsh(rl.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    return _ops["linalg_eigvalsh"](A, UPLO)


def eig(A: Tensor) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, both complex.

    Args:
        A: (..., n, n).

    Returns:
        (eigenvalues, eigenvectors): values (..., n) in no particular order, and vectors of length
        1 in the columns of (..., n, n).

    >>> import relume as rl
    >>> rl.linalg.eig(rl.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return EigResult(*_ops["linalg_eig"](A))


def eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues (..., n) of square matrices (..., n, n).

    >>> import relume as rl
    >>> rl.linalg.eigvals(rl.tensor([[0.0, -1.0], [1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return _ops["linalg_eigvals"](A)
