"""Linear algebra, `relume.linalg`, with the names of `torch.linalg` and the array API.

Matrices are the last two dimensions of a tensor of any number of dimensions; those before count
them. float32, float64, complex64 and complex128 are computed by LAPACK in their own type,
integers in float32. Every function but `ldl_factor` and `ldl_solve` has derivatives of any order.
"""

from relume.tensor.linalg import root_functions
from relume.tensor.linalg.decompositions import (
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    cholesky_solve,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    lu_unpack,
    qr,
    svd,
    svdvals,
)
from relume.tensor.linalg.errors import LinAlgError
from relume.tensor.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from relume.tensor.linalg.norms import cond, matrix_norm, matrix_rank, norm, pinv, vector_norm
from relume.tensor.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vander,
    vdot,
    vecdot,
)
from relume.tensor.linalg.solving import (
    det,
    inv,
    inv_ex,
    logdet,
    lstsq,
    matrix_exp,
    matrix_power,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]

# What `relume` itself has too, and what are methods of tensors.
FUNCTIONS = (
    cholesky_inverse,
    cholesky_solve,
    logdet,
    lu_unpack,
    vdot,
    *root_functions.FUNCTIONS,
)
ALIASES = {
    "det": det,
    "slogdet": slogdet,
    "inverse": inv,
    "pinverse": pinv,
    "matrix_exp": matrix_exp,
    "matrix_power": matrix_power,
    "cholesky": cholesky,
    "qr": qr,
}
