"""The standard's linear algebra extension."""

from __future__ import annotations

from typing import Any

import relume
from relume import Tensor
from relume.array_api.products import matmul, matrix_transpose, tensordot, vecdot
from relume.tensor import linalg as _linalg

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of symmetric positive-definite matrices."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors along a dimension of size 3."""
    return relume.cross(x1, x2, axis)


def det(x: Tensor, /) -> Tensor:
    """The determinant of square matrices."""
    return _linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A view of a diagonal of the last two dimensions."""
    return relume.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> Any:
    """Eigenvalues and eigenvectors of symmetric (Hermitian) matrices."""
    return _linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of symmetric (Hermitian) matrices, ascending."""
    return _linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse of square matrices."""
    return _linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of the matrices in the last two dimensions."""
    return _linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices multiplied with themselves; a negative power inverts."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values exceed `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    return relume.outer(x1, x2)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values below `rtol` times the largest count as 0."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Orthonormal columns times an upper triangle; mode "reduced" or "complete"."""
    return _linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """Sign and logarithm of the absolute value of determinants."""
    return _linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of linear equations; a 1-d `x2` is one right-hand side."""
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    return _linalg.solve(x1, x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Singular value decomposition of matrices."""
    return _linalg.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values of matrices, descending."""
    return _linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum over a diagonal of the last two dimensions; integers are summed as int64."""
    return relume.sum(diagonal(x, offset=offset), -1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm over dimensions, or over all elements as one vector."""
    return _linalg.vector_norm(x, ord, axis, keepdims)
