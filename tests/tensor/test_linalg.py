"""relume.linalg against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

import relume as rl

random = np.random.default_rng(11)
TYPES = [np.float32, np.float64, np.complex64, np.complex128]
BATCHES = [(), (3,), (2, 0), (2, 3)]


def _matrices(*shape, dtype=np.float64):
    values = random.normal(size=shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.normal(size=shape)
    return values.astype(dtype)


def _definite(*shape, dtype=np.float64):
    a = _matrices(*shape, dtype=dtype)
    return a @ np.swapaxes(a.conj(), -1, -2) + 2 * np.eye(shape[-1], dtype=dtype)


def _adjoint(a):
    return np.swapaxes(a.conj(), -1, -2)


def _close(result, expected, dtype=np.float64, scale=1):
    result = result.numpy() if isinstance(result, rl.Tensor) else result
    single = np.finfo(np.asarray(expected).dtype).eps > 1e-10 if np.size(expected) else False
    tolerance = (2e-4 if single or dtype in (np.float32, np.complex64) else 1e-9) * scale
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def _t(a):
    """A tensor that is not contiguous."""
    padded = np.zeros((*a.shape[:-1], a.shape[-1] * 2), dtype=a.dtype)
    padded[..., ::2] = a
    return rl.from_numpy(padded)[..., ::2]


# ---- solving ----


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_solve_inv_det(dtype, batch):
    a, b = _definite(*batch, 4, 4, dtype=dtype), _matrices(*batch, 4, 2, dtype=dtype)
    x = rl.linalg.solve(_t(a), _t(b))
    assert x.numpy().dtype == dtype
    _close(x, np.linalg.solve(a, b), dtype)
    _close(
        rl.linalg.solve(_t(a), _t(_adjoint(b)), left=False),
        b.conj().swapaxes(-1, -2) @ np.linalg.inv(a),
        dtype,
    )
    _close(rl.linalg.inv(_t(a)), np.linalg.inv(a), dtype)
    _close(rl.linalg.det(_t(a)), np.linalg.det(a), dtype, 100)
    sign, logarithm = rl.linalg.slogdet(_t(a))
    expected = np.linalg.slogdet(a)
    _close(sign, expected[0], dtype)
    _close(logarithm, expected[1], dtype)


def test_vectors_and_broadcasting():
    a, v, many = _definite(3, 3), _matrices(3), _definite(5, 3, 3)
    _close(rl.linalg.solve(_t(a), rl.tensor(v)), np.linalg.solve(a, v))
    vectors = _matrices(5, 3)
    expected = np.linalg.solve(many, vectors[..., None])[..., 0]
    _close(rl.linalg.solve(_t(many), rl.tensor(vectors)), expected)
    sides = _matrices(2, 1, 3, 4)
    _close(rl.linalg.solve(_t(many), rl.tensor(sides)), np.linalg.solve(many, sides))
    mixed = rl.linalg.solve(rl.tensor(a), rl.tensor(v + 1j))
    assert mixed.dtype == rl.complex128
    _close(mixed, np.linalg.solve(a, v + 1j))


def test_singular_matrices():
    singular = rl.tensor([[1.0, 2.0], [2.0, 4.0]])
    for function in (rl.linalg.inv, lambda a: rl.linalg.solve(a, rl.ones(2))):
        with pytest.raises(rl.linalg.LinAlgError, match="singular"):
            function(singular)
    with pytest.raises(np.linalg.LinAlgError, match="matrix 1 of the stack"):
        rl.linalg.inv(rl.stack([rl.eye(2), singular]))
    with pytest.raises(RuntimeError):
        rl.linalg.inv(singular)
    inverse, info = rl.linalg.inv_ex(singular)
    assert info.item() == 2 and inverse.isnan().all()
    assert rl.linalg.solve_ex(singular, rl.ones(2, 1)).result.isnan().all()
    assert rl.det(singular).item() == 0
    assert rl.slogdet(singular)[0].item() == 0 and rl.slogdet(singular)[1].item() == -np.inf
    assert rl.logdet(-rl.eye(3)).isnan() and rl.logdet(rl.eye(3)).item() == 0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(dtype, upper, unit):
    a = _matrices(2, 4, 4, dtype=dtype) + 3 * np.eye(4, dtype=dtype)
    triangle = (np.triu if upper else np.tril)(a)
    if unit:
        triangle[:, range(4), range(4)] = 1
    b = _matrices(2, 4, 3, dtype=dtype)
    result = rl.linalg.solve_triangular(_t(a), _t(b), upper=upper, unitriangular=unit)
    _close(triangle @ result.numpy(), b, dtype, 10)
    result = rl.linalg.solve_triangular(
        _t(a), _t(b).mT, upper=upper, left=False, unitriangular=unit
    )
    _close(result.numpy() @ triangle, b.swapaxes(-1, -2), dtype, 10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_lstsq(dtype, shape):
    a, b = _matrices(*shape, dtype=dtype), _matrices(shape[0], 2, dtype=dtype)
    result = rl.linalg.lstsq(_t(a), _t(b))
    solution, residuals, rank, values = np.linalg.lstsq(a, b, rcond=None)
    _close(result.solution, solution, dtype, 10)
    _close(result.residuals, residuals, dtype, 10)
    assert result.rank.item() == rank
    _close(result.singular_values, values, dtype)


def test_lstsq_of_deficient_rank_and_vectors():
    a = np.outer(_matrices(5), _matrices(3))
    b = _matrices(5)
    result = rl.linalg.lstsq(rl.tensor(a), rl.tensor(b))
    assert result.rank.item() == 1 and result.residuals.shape == (0,)
    _close(result.solution, np.linalg.lstsq(a, b, rcond=None)[0])
    many = _matrices(3, 4, 2)
    stack = rl.linalg.lstsq(rl.tensor(many), rl.tensor(_matrices(4, 1)))
    assert stack.solution.shape == (3, 2, 1)


# ---- decompositions ----


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(dtype, batch, upper):
    a = _definite(*batch, 4, 4, dtype=dtype)
    factor = rl.linalg.cholesky(_t(a), upper=upper)
    expected = np.linalg.cholesky(a)
    _close(factor, _adjoint(expected) if upper else expected, dtype, 10)
    b = _matrices(*batch, 4, 2, dtype=dtype)
    _close(rl.cholesky_solve(rl.tensor(b), factor, upper), np.linalg.solve(a, b), dtype, 10)
    _close(rl.cholesky_inverse(factor, upper), np.linalg.inv(a), dtype, 10)


def test_cholesky_refuses():
    with pytest.raises(rl.linalg.LinAlgError, match="positive definite"):
        rl.linalg.cholesky(-rl.eye(2))
    assert rl.linalg.cholesky_ex(-rl.eye(2)).info.item() == 1


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0)])
def test_lu(dtype, shape):
    a = _matrices(*shape, dtype=dtype)
    p, lower, upper = rl.linalg.lu(_t(a))
    _close((p @ lower @ upper), a, dtype)
    if a.ndim == 2 and a.size:
        for ours, theirs in zip((p, lower, upper), scipy.linalg.lu(a), strict=True):
            _close(ours, theirs, dtype, 10)


@pytest.mark.parametrize("dtype", TYPES)
def test_lu_solve(dtype):
    a, b = _matrices(2, 4, 4, dtype=dtype), _matrices(4, 3, dtype=dtype)
    factors = rl.linalg.lu_factor(_t(a))
    _close(rl.linalg.lu_solve(*factors, _t(b)), np.linalg.solve(a, b), dtype, 100)
    adjoint = rl.linalg.lu_solve(*factors, _t(b), adjoint=True)
    _close(adjoint, np.linalg.solve(_adjoint(a), b), dtype, 100)
    right = rl.linalg.lu_solve(*factors, _t(b).mT, left=False)
    _close(right, b.T @ np.linalg.inv(a), dtype, 100)
    _close(rl.lu_solve(_t(b), *factors), np.linalg.solve(a, b), dtype, 100)  # PyTorch's order


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_ldl_decomposition_solves_symmetric_systems(dtype, hermitian, batch):
    a, b = _matrices(*batch, 5, 5, dtype=dtype), _matrices(5, 2, dtype=dtype)
    a = a + (_adjoint(a) if hermitian else np.swapaxes(a, -1, -2))
    a[..., 0, 0] = 0  # needs a block of two
    noise = np.triu(np.ones((5, 5)), 1)  # the upper triangle is not read
    factors = rl.linalg.ldl_factor(_t(a + noise), hermitian=hermitian)
    solution = rl.linalg.ldl_solve(*factors, _t(b), hermitian=hermitian)
    _close(solution, np.linalg.solve(a, np.broadcast_to(b, (*batch, 5, 2))), dtype, 200)


def test_ldl_decomposition_of_what_it_cannot_take():
    with pytest.raises(rl.linalg.LinAlgError, match="singular"):
        rl.linalg.ldl_factor(rl.zeros(2, 2))
    assert rl.linalg.ldl_factor_ex(rl.zeros(2, 2)).info.item() == 1
    for pivots in ([1, 7], [0, 1], [1, -1], [-2, 2]):
        with pytest.raises(ValueError, match="no pivots"):
            rl.linalg.ldl_solve(rl.eye(2), rl.tensor(pivots, dtype="int32"), rl.ones(2, 1))
    assert rl.linalg.ldl_factor(rl.zeros(0, 3, 3)).LD.shape == (0, 3, 3)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("generalized", [True, False])
def test_lobpcg(largest, generalized):
    a, b = _matrices(6, 6, dtype="float64"), _matrices(6, 6, dtype="float64")
    a, b = a @ a.T, b @ b.T + np.eye(6) if generalized else None
    expected = scipy.linalg.eigh(a, b, eigvals_only=True)
    values, vectors = rl.lobpcg(_t(a), 2, _t(b) if generalized else None, largest=largest)
    np.testing.assert_allclose(values, expected[::-1][:2] if largest else expected[:2], rtol=1e-10)
    right = (b @ vectors.numpy() if generalized else vectors.numpy()) * values.numpy()
    np.testing.assert_allclose(a @ vectors.numpy(), right, atol=1e-10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 5, 3), (0, 3), (3, 0), (2, 0, 0)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(dtype, shape, mode):
    a = _matrices(*shape, dtype=dtype)
    q, r = rl.linalg.qr(_t(a), mode)
    if mode == "r":
        assert q.shape == (0,)
        expected = np.linalg.qr(a, mode="r") if a.size else r.numpy()
        _close(np.abs(r.numpy()), np.abs(expected), dtype)
        return
    _close(q @ r, a, dtype)
    _close(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (q.mH @ q).shape), dtype)
    _close(r.numpy(), np.triu(r.numpy()), dtype)
    assert q.shape[-1] == (shape[-2] if mode == "complete" else min(shape[-2:]))


def test_geqrf_and_householder_product():
    a = _matrices(2, 5, 3)
    packed, tau = rl.geqrf(_t(a))
    q = rl.linalg.householder_product(packed, tau)
    _close(q @ packed[..., :3, :].triu(), a)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 5, 3), (0, 3), (3, 0)])
@pytest.mark.parametrize("full", [False, True])
def test_svd(dtype, shape, full):
    a = _matrices(*shape, dtype=dtype)
    u, s, vh = rl.linalg.svd(_t(a), full_matrices=full)
    k = min(shape[-2:])
    _close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a, dtype)
    _close(s, np.linalg.svd(a, compute_uv=False), dtype)
    _close(rl.linalg.svdvals(_t(a)), np.linalg.svd(a, compute_uv=False), dtype)
    assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
    _close(u.mH @ u, np.broadcast_to(np.eye(u.shape[-1]), (u.mH @ u).shape), dtype)
    _close(vh @ vh.mH, np.broadcast_to(np.eye(vh.shape[-2]), (vh @ vh.mH).shape), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigh(dtype, batch, triangle):
    a = _definite(*batch, 4, 4, dtype=dtype)
    one_triangle = np.tril(a) if triangle == "L" else np.triu(a)
    values, vectors = rl.linalg.eigh(_t(one_triangle), triangle)
    _close(values, np.linalg.eigvalsh(a), dtype, 10)
    _close((vectors * values.unsqueeze(-2)) @ vectors.mH, a, dtype, 10)
    _close(rl.linalg.eigvalsh(_t(one_triangle), triangle), np.linalg.eigvalsh(a), dtype, 10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_eig(dtype, batch):
    a = _matrices(*batch, 5, 5, dtype=dtype)
    values, vectors = rl.linalg.eig(_t(a))
    assert values.dtype.is_complex and vectors.dtype.is_complex
    _close(
        rl.tensor(a).to(vectors.dtype) @ vectors, (vectors * values.unsqueeze(-2)).numpy(), dtype
    )
    _close(vectors.abs().square().sum(-2), np.ones((*batch, 5)), dtype)
    expected = np.sort_complex(np.linalg.eigvals(a).astype(np.complex128))
    _close(
        np.sort_complex(rl.linalg.eigvals(_t(a)).numpy().astype(np.complex128)), expected, dtype, 10
    )


def test_numbers_that_are_not_finite_are_refused():
    bad = rl.tensor([[1.0, float("nan")], [0.0, 1.0]])
    for name in ("svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv"):
        with pytest.raises(rl.linalg.LinAlgError, match="not finite"):
            getattr(rl.linalg, name)(bad)
    with pytest.raises(rl.linalg.LinAlgError, match="not finite"):
        rl.linalg.lstsq(bad, rl.ones(2, 1))


# ---- functions of matrices ----


@pytest.mark.parametrize("dtype", TYPES)
def test_matrix_exp(dtype):
    a = _matrices(6, 4, 4, dtype=dtype) * np.array([0.01, 0.1, 1, 3, 8, 20])[:, None, None]
    a = a.astype(dtype)
    for ours, matrix in zip(rl.linalg.matrix_exp(_t(a)).numpy(), a, strict=True):
        expected = scipy.linalg.expm(matrix.astype(np.complex128))
        size = np.abs(expected).max()
        tolerance = 1e-3 if dtype in (np.float32, np.complex64) else 1e-10
        np.testing.assert_allclose(ours / size, expected / size, atol=tolerance)
    assert rl.linalg.matrix_exp(rl.zeros(0, 3, 3)).shape == (0, 3, 3)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -3])
def test_matrix_power(n):
    a = _definite(2, 3, 3)
    _close(rl.linalg.matrix_power(_t(a), n), np.linalg.matrix_power(a, n), scale=100)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 3, 5), (0, 3)])
def test_pinv_and_rank(dtype, shape):
    a = _matrices(*shape, dtype=dtype)
    _close(rl.linalg.pinv(_t(a)), np.linalg.pinv(a), dtype, 10)
    np.testing.assert_array_equal(
        rl.linalg.matrix_rank(_t(a)).numpy(), np.linalg.matrix_rank(a) if a.size else 0
    )
    deficient = np.outer(_matrices(4), _matrices(4))
    _close(rl.linalg.pinv(rl.tensor(deficient)), np.linalg.pinv(deficient, rcond=1e-10))
    assert rl.linalg.matrix_rank(rl.tensor(deficient)).item() == 1
    assert rl.linalg.matrix_rank(rl.diag(rl.tensor([3.0, 0.5, 0.1])), atol=0.2).item() == 2
    assert rl.linalg.matrix_rank(rl.tensor(_definite(4, 4)), hermitian=True).item() == 4


# ---- norms ----


@pytest.mark.parametrize("complex_numbers", [False, True])
@pytest.mark.parametrize("order", [None, "fro", "nuc", np.inf, -np.inf, 1, -1, 2, -2])
def test_matrix_norms(order, complex_numbers):
    a = _matrices(4, 3, dtype=np.complex128 if complex_numbers else np.float64)
    _close(rl.linalg.norm(_t(a), order), np.linalg.norm(a, order))
    many = _matrices(4, 2, 3)
    dim = (0, 2)
    for keepdim in (False, True):
        _close(
            rl.linalg.norm(rl.tensor(many), order, dim, keepdim),
            np.linalg.norm(many, order, dim, keepdims=keepdim),
        )


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
def test_vector_norms(order):
    v = _matrices(5)
    _close(rl.linalg.norm(rl.tensor(v), order), np.linalg.norm(v, order))
    many = _matrices(4, 5) + 1j
    _close(rl.linalg.vector_norm(rl.tensor(many), order, 1), np.linalg.norm(many, order, 1))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_cond(p):
    a = _definite(3, 3)
    _close(rl.linalg.cond(_t(a), p), np.linalg.cond(a, p))


def test_cond_of_a_singular_matrix():
    assert rl.linalg.cond(rl.zeros(2, 2), 1).item() == np.inf


# ---- products ----


def test_products():
    a, b, c = _matrices(4, 3), _matrices(3, 5), _matrices(5)
    t = rl.tensor
    _close(rl.linalg.multi_dot([t(a), t(b), t(c)]), np.linalg.multi_dot([a, b, c]))
    _close(rl.linalg.multi_dot([t(a[0]), t(b), t(c)]), a[0] @ b @ c)
    x, y = _matrices(2, 3) + 1j, _matrices(3) - 2j
    _close(rl.linalg.vecdot(t(x), t(y)), (x.conj() * y).sum(-1))
    _close(rl.linalg.cross(t(x), t(y)), np.cross(x, y))
    _close(rl.linalg.vander(t(c), N=3), np.vander(c, 3, increasing=True))
    many = _matrices(2, 3, 4)
    _close(rl.linalg.diagonal(t(many), offset=1), np.diagonal(many, 1, -2, -1))
    _close(rl.linalg.trace(t(many)), np.trace(many, axis1=-2, axis2=-1))
    square = _matrices(6, 6)
    tensor = square.reshape(2, 3, 6)
    _close(rl.linalg.tensorinv(t(tensor)), np.linalg.tensorinv(tensor))
    side = _matrices(2, 3)
    _close(rl.linalg.tensorsolve(t(tensor), t(side)), np.linalg.tensorsolve(tensor, side))


# ---- arguments ----


@pytest.mark.parametrize(
    "name",
    "inv det slogdet cholesky eigh eigvalsh eig eigvals matrix_exp inv_ex cholesky_ex".split(),
)
def test_square_matrices_are_asked_for(name):
    function = getattr(rl.linalg, name)
    with pytest.raises(ValueError, match="square"):
        function(rl.ones(2, 3))
    with pytest.raises(ValueError, match="at least two dimensions"):
        function(rl.ones(3))
    with pytest.raises(TypeError, match="float16"):
        function(rl.ones(3, 3, dtype="float16"))
    assert function(rl.eye(2, dtype="int64")) is not None


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: rl.linalg.solve(rl.eye(2), rl.ones(3, 1)), "rows"),
        (lambda: rl.linalg.solve_triangular(rl.eye(2), rl.ones(3, 1), upper=True), "right sides"),
        (lambda: rl.linalg.lstsq(rl.eye(2), rl.ones(3, 1)), "rows"),
        (lambda: rl.linalg.lstsq(rl.eye(2), rl.ones(2), driver="x"), "driver"),
        (lambda: rl.linalg.qr(rl.eye(2), "x"), "mode"),
        (lambda: rl.linalg.eigh(rl.eye(2), "x"), "UPLO"),
        (lambda: rl.linalg.matrix_norm(rl.eye(2), 7), "7"),
        (lambda: rl.linalg.matrix_norm(rl.eye(2), dim=(0, 0)), "different"),
        (lambda: rl.linalg.multi_dot([rl.eye(2)]), "two"),
        (lambda: rl.linalg.matrix_power(rl.ones(2, 3), 2), "square"),
        (lambda: rl.linalg.tensorinv(rl.ones(2, 3), 1), "elements"),
        (lambda: rl.linalg.householder_product(rl.ones(2, 3), rl.ones(3)), "m >= n"),
        (lambda: rl.lu_unpack(rl.eye(3), rl.tensor([1, 2], dtype="int32")[:0]), None),
    ],
)
def test_wrong_arguments(function, words):
    if words is None:
        function()
        return
    with pytest.raises(ValueError, match=words):
        function()


def test_pivots_out_of_range():
    with pytest.raises(IndexError, match="pivot"):
        rl.lu_unpack(rl.eye(2), rl.tensor([1, 9], dtype="int32"))
    with pytest.raises(TypeError, match="int32"):
        rl.lu_unpack(rl.eye(2), rl.tensor([1, 2]))


def test_names_on_tensors_and_on_relume():
    a = rl.tensor(_definite(3, 3))
    for name in "det inverse logdet slogdet pinverse matrix_exp cholesky qr".split():
        ours, other = getattr(a, name)(), getattr(rl, name)(a)
        first = ours[0] if isinstance(ours, tuple) else ours
        second = other[0] if isinstance(other, tuple) else other
        np.testing.assert_array_equal(first.numpy(), second.numpy())
