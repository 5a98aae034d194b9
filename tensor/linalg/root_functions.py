"""Functions of PyTorch's root that `torch.linalg` has under other names or with other results."""

from __future__ import annotations

from typing import Any, NamedTuple

from relume import _C
from relume._C import Tensor
from relume.tensor.dimensions import takes_numpy_names
from relume.tensor.linalg.decompositions import cholesky, eigh
from relume.tensor.linalg.decompositions import lu_solve as solve_by_factors
from relume.tensor.linalg.decompositions import svd as full_svd
from relume.tensor.linalg.norms import matrix_norm
from relume.tensor.linalg.solving import solve_triangular

_ops = _C.ops


class SvdResult(NamedTuple):
    """U diag(S) V^H is the matrix."""

    U: Tensor
    S: Tensor
    V: Tensor


class TriangularSolution(NamedTuple):
    """What was solved for, and the matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SvdResult:
    """U, S and V with U diag(S) V^H = input; `relume.linalg.svd` gives V^H.

    Args:
        input: (..., m, n).
        some: U (..., m, k) and V (..., n, k) with k = min(m, n); False gives square ones.
        compute_uv: False leaves U and V zero.

    >>> import relume as rl
    >>> rl.svd(rl.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    U, S, Vh = full_svd(input, full_matrices=not some)
    if not compute_uv:
        return SvdResult(_ops["zeros_like"](U), S, _ops["zeros_like"](Vh.mH))
    return SvdResult(U, S, Vh.mH)


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> SvdResult:
    """The q largest singular values of A - M with their vectors.

    Args:
        niter: taken for PyTorch's sake: the result is exact.

    >>> import relume as rl
    >>> rl.svd_lowrank(rl.diag(rl.tensor([1.0, 3.0, 2.0])), 2).S
    tensor([3., 2.])
    """
    size = min(A.shape[-2:])
    if not 0 <= q <= size:
        raise ValueError(f"svd_lowrank(): q must be between 0 and {size}, not {q}")
    U, S, V = svd(A if M is None else A - M)
    return SvdResult(U[..., :q], S[..., :q], V[..., :q])


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> SvdResult:
    """The principal components of rows: the singular values of the centred matrix.

    Args:
        A: rows of samples, (..., m, n).
        q: how many components; min(6, m, n) when left out.
        center: subtract the mean of each column.

    >>> import relume as rl
    >>> rl.pca_lowrank(rl.tensor([[1.0, 0.0], [-1.0, 0.0]]), 1).V.abs()
    tensor([[1.],
            [0.]])
    """
    count = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, True) if center else A, count, niter)


def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> TriangularSolution:
    """X with A X = input for triangular A; `relume.linalg.solve_triangular` says it newer.

    >>> import relume as rl
    >>> rl.triangular_solve(rl.tensor([[2.0]]), rl.tensor([[4.0]])).solution
    tensor([[0.5]])
    """
    matrix, side = (A.mT, not upper) if transpose else (A, upper)
    solution = solve_triangular(matrix, input, upper=side, unitriangular=unitriangular)
    return TriangularSolution(solution, A)


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with A X = b; `relume.linalg.lu_solve` takes the decomposition of A first.

    >>> import relume as rl
    >>> rl.lu_solve(rl.ones(1, 1), *rl.linalg.lu_factor(rl.tensor([[2.0]])))
    tensor([[0.5]])
    """
    return solve_by_factors(LU_data, LU_pivots, b)


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool = True,
    method: str | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A x = w B x, with their vectors in columns.

    Args:
        A: symmetric (Hermitian), (..., n, n).
        k: how many; by default as many as X has columns, or 1.
        B: symmetric and positive definite, (..., n, n); the identity when left out.
        X, n, iK, niter, tol, method, others: taken for PyTorch's sake: the result is exact, as
            matrices are dense here.

    >>> import relume as rl
    >>> rl.lobpcg(rl.diag(rl.tensor([1.0, 3.0, 2.0])), 2)[0]
    tensor([3., 2.])
    """
    if k is None:
        k = n if n is not None else 1 if X is None else X.shape[-1]
    if not 0 <= k <= A.shape[-1]:
        raise ValueError(f"lobpcg(): k must be between 0 and {A.shape[-1]}, not {k}")
    if B is None:
        values, vectors = eigh(A)
    else:  # with B = L L^H, y = L^H x is an eigenvector of L^-1 A L^-H
        L = cholesky(B)
        halved = solve_triangular(L, A, upper=False)
        values, vectors = eigh(solve_triangular(L.mH, halved, upper=True, left=False))
        vectors = solve_triangular(L.mH, vectors, upper=True)
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


@takes_numpy_names
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of a matrix's singular values.

    >>> import relume as rl
    >>> rl.nuclear_norm(rl.eye(3))
    tensor(3.)
    """
    return matrix_norm(input, "nuc", dim, keepdim)


@takes_numpy_names
def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares.

    >>> import relume as rl
    >>> rl.frobenius_norm(rl.tensor([[3.0, 4.0]]))
    tensor(5.)
    """
    return _ops["norm"](input, 2, dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which are kept with size 1; of everything for dim -1.

    >>> import relume as rl
    >>> rl.norm_except_dim(rl.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
    if dim == -1:
        return _ops["norm"](v, pow)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return _ops["norm"](v, pow, others, True) if others else v.abs()


FUNCTIONS = (
    frobenius_norm,
    lobpcg,
    lu_solve,
    norm_except_dim,
    nuclear_norm,
    pca_lowrank,
    svd,
    svd_lowrank,
    triangular_solve,
)
