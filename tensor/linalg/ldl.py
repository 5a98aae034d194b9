"""Symmetric matrices that need not be positive definite: L D L^T with rows exchanged."""

from __future__ import annotations

from typing import NamedTuple

from relume import _C
from relume._C import Tensor

_ops = _C.ops


class LdlFactors(NamedTuple):
    """What `ldl_factor` returns."""

    LD: Tensor
    pivots: Tensor


class LdlFactorsWithInfo(NamedTuple):
    """What `ldl_factor_ex` returns."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> LdlFactorsWithInfo:
    """`ldl_factor` with LAPACK's info instead of an error.

    >>> import relume as rl
    >>> rl.linalg.ldl_factor_ex(rl.zeros(1, 1)).info
    tensor(1, dtype=int32)
    """
    return LdlFactorsWithInfo(*_ops["linalg_ldl_factor_ex"](A, hermitian, check_errors))


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> LdlFactors:
    """The decomposition of symmetric matrices for `ldl_solve`, by Bunch and Kaufman (1977).

    Args:
        A: (..., n, n), of which the lower triangle is read. No gradient.
        hermitian: complex matrices are Hermitian instead of symmetric.

    Returns:
        (LD, pivots) as LAPACK's sytrf gives them: D, of blocks of one or two rows, on the
        diagonal and L below it; a negative pivot tells a block of two.

    Raises:
        LinAlgError: a singular matrix.

    >>> import relume as rl
    >>> rl.linalg.ldl_factor(rl.tensor([[2.0, 0.0], [1.0, 3.0]])).LD
    tensor([[2. , 0. ],
            [0.5, 2.5]])
    """
    return LdlFactors(*_ops["linalg_ldl_factor_ex"](A, hermitian, True)[:2])


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, where (LD, pivots) is what `ldl_factor` gave for A.

    Args:
        LD, pivots: of matrices (..., n, n).
        B: (..., n, k).
        hermitian: as given to `ldl_factor`.

    >>> import relume as rl
    >>> rl.linalg.ldl_solve(*rl.linalg.ldl_factor(rl.tensor([[-2.0]])), rl.ones(1, 1))
    tensor([[-0.5]])
    """
    return _ops["linalg_ldl_solve"](LD, pivots, B, hermitian)
