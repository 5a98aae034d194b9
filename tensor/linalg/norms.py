"""Norms, and what is measured by singular values: rank, condition, pseudo-inverse."""

from __future__ import annotations

import math
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.dtype_limits import finfo

_ops = _C.ops


def _floating(x: Tensor, dtype: Any) -> Tensor:
    if dtype is not None:
        return x.to(dtype)
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(_C.default_float())


def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm sum(abs(x)**ord)**(1/ord) along dimensions, or of all elements.

    Args:
        ord: any number; inf is the largest absolute value, -inf the smallest, 0 counts the
            elements that are not 0.
        dim: a dimension or several; None means all.
        dtype: convert to this type first.

    >>> import relume as rl
    >>> rl.linalg.vector_norm(rl.tensor([3.0, 4.0]))
    tensor(5.)
    """
    x = _floating(x, dtype)
    if x.dtype.is_complex:
        x = x.abs()
    return _ops["norm"](x, ord, dim, keepdim)


def _kept(result: Tensor, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """A result without two dimensions, with them as 1 where `keepdim`."""
    for dim in sorted(dims) if keepdim else ():
        result = result.unsqueeze(dim)
    return result


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """A norm of matrices.

    Args:
        A: matrices in the dimensions `dim`.
        ord: "fro" (root of the sum of squares), "nuc" (sum of the singular values), 2 and -2 (the
            largest and smallest singular value), inf and -inf (the largest and smallest sum of
            absolute values in a row), 1 and -1 (in a column).

    >>> import relume as rl
    >>> rl.linalg.matrix_norm(rl.tensor([[1.0, -2.0], [3.0, 4.0]]), float("inf"))
    tensor(7.)
    """
    A = _floating(A, dtype)
    if isinstance(dim, int) or len(dim) != 2:
        raise ValueError(f"matrix_norm() needs two dimensions, got dim={dim}")
    rows, columns = (d % A.ndim for d in dim)
    if rows == columns:
        raise ValueError(f"matrix_norm() needs two different dimensions, got dim={tuple(dim)}")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = _ops["linalg_svdvals"](_ops["movedim"](A, (rows, columns), (-2, -1)))
        result = {"nuc": values.sum, 2: values.amax, -2: values.amin}[ord](-1)
        return _kept(result, (rows, columns), keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"matrix_norm() knows no norm {ord!r}")
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = A.abs().sum(summed, keepdim=True)
    result = sums.amax(other, keepdim=True) if ord > 0 else sums.amin(other, keepdim=True)
    return result if keepdim else result.squeeze((rows, columns))


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """`vector_norm` or `matrix_norm`.

    Args:
        ord: None is the root of the sum of squares; with it and no `dim`, of all elements.
            Otherwise a matrix norm when `dim` has two dimensions or A is a matrix.

    >>> import relume as rl
    >>> rl.linalg.norm(rl.tensor([[3.0, 4.0]]), "nuc")
    tensor(5.)
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim not in (1, 2):
            raise ValueError(
                f"norm() with ord and without dim needs a vector or a matrix, not shape {A.shape}"
            )
        dim = tuple(range(A.ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise ValueError(f"norm() {ord!r} is of matrices; give two dimensions")
    return vector_norm(A, ord, dims, keepdim, dtype=dtype)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of matrices: norm(A) * norm(inverse).

    Args:
        A: (..., m, n), square unless p is None, 2 or -2.
        p: an `ord` of `matrix_norm`; None is 2.

    >>> import relume as rl
    >>> rl.linalg.cond(rl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    if p in (None, 2, -2):
        values = _ops["linalg_svdvals"](A)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    inverse, info = _ops["linalg_inv_ex"](A)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return _ops["where"](info == 0, result, math.inf)


def _tolerance(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """By default what lies within the type's precision of the largest singular value is 0."""
    atol = 0.0 if atol is None else atol
    if rtol is None:
        default = finfo(A.dtype).eps * max(A.shape[-2:])
        if isinstance(atol, Tensor):
            rtol = _ops["where"](atol > 0, 0.0, default)
        else:
            rtol = 0.0 if float(atol) > 0 else default
    return atol, rtol


def _per_matrix(A: Tensor, tolerance: Any) -> Tensor:
    """A tolerance for each matrix, in a row."""
    given = tolerance if isinstance(tolerance, Tensor) else _C.tensor_from_data(tolerance, None)
    return given.expand(A.shape[:-2]).reshape(math.prod(A.shape[:-2]))


def _of_lower_triangle(A: Tensor) -> Tensor:
    """The Hermitian matrices whose lower triangles are those of A."""
    return A.tril() + A.tril(-1).mH


def _sizes(A: Tensor, hermitian: bool) -> Tensor:
    return _ops["linalg_eigvalsh"](A).abs() if hermitian else _ops["linalg_svdvals"](A)


def matrix_rank(
    A: Tensor,
    tol: float | Tensor | None = None,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """How many singular values of matrices (..., m, n) are larger than max(atol, rtol * largest).

    Args:
        tol: another name of `atol`, as NumPy has it.
        atol: a number, or a tensor (...) with one for each matrix; likewise rtol.
        rtol: by default the type's precision times max(m, n), or 0 when atol is positive.
        hermitian: the matrices are Hermitian, whose eigenvalues are found faster.

    Returns:
        int64, (...).

    >>> import relume as rl
    >>> rl.linalg.matrix_rank(rl.ones(3, 3))
    tensor(1)
    """
    A = _floating(A, None)
    absolute, relative = _tolerance(A, tol if atol is None else atol, rtol)
    if 0 in A.shape[-2:]:
        return A.new_zeros(A.shape[:-2]).to("int64")
    values = _sizes(A, hermitian)
    absolute, relative = (
        given.unsqueeze(-1) if isinstance(given, Tensor) else given
        for given in (absolute, relative)
    )
    bound = _ops["maximum"](values.amax(-1, keepdim=True) * relative, absolute)
    return (values > bound).sum(-1)


def pinv(
    A: Tensor,
    rcond: float | Tensor | None = None,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).

    Args:
        rcond: another name of `rtol`.
        atol, rtol: singular values up to max(atol, rtol * largest) count as 0; rtol is by default
            the type's precision times max(m, n), or 0 when atol is positive. Numbers, or
            tensors (...) with one for each matrix.
        hermitian: the matrices are Hermitian; only their lower triangles are read.

    The gradient is that of Golub and Pereyra (1973), right where the rank stays the same.

    >>> import relume as rl
    >>> rl.linalg.pinv(rl.tensor([[2.0], [0.0]]))
    tensor([[0.5, 0. ]])
    """
    A = _floating(A, None)
    absolute, relative = _tolerance(A, atol, rcond if rtol is None else rtol)
    if hermitian:
        A = _of_lower_triangle(A)
    if not isinstance(absolute, Tensor) and not isinstance(relative, Tensor):
        return _ops["linalg_pinv"](A, float(absolute), float(relative))
    rows, columns = A.shape[-2:]
    tolerances = zip(
        _per_matrix(A, absolute).tolist(), _per_matrix(A, relative).tolist(), strict=True
    )
    matrices = A.reshape(math.prod(A.shape[:-2]), rows, columns)
    inverses = [
        _ops["linalg_pinv"](matrix, *each)
        for matrix, each in zip(matrices, tolerances, strict=True)
    ]
    if not inverses:
        return A.new_zeros((*A.shape[:-2], columns, rows))
    return _ops["stack"](inverses).reshape((*A.shape[:-2], columns, rows))
