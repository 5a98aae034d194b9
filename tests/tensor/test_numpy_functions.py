"""NumPy's ufuncs and functions, and SciPy's, on tensors."""

import copy
import pickle

import numpy as np
import pytest

import relume as rl

A = np.arange(1.0, 7.0).reshape(2, 3)


def same(result, expected):
    if isinstance(expected, list | tuple):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            same(one, other)
        return
    assert np.shape(result) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(result), expected)


UNARY = ["exp", "log", "sqrt", "arctan", "rint", "floor", "sign", "isfinite", "cbrt", "degrees"]
BINARY = ["add", "arctan2", "power", "hypot", "maximum", "less", "copysign", "fmod", "float_power"]


@pytest.mark.parametrize("name", UNARY)
def test_ufuncs_of_one(name):
    result = getattr(np, name)(rl.tensor(A))
    assert isinstance(result, rl.Tensor)
    same(result, getattr(np, name)(A))


@pytest.mark.parametrize("name", BINARY)
def test_ufuncs_of_two(name):
    ufunc = getattr(np, name)
    for other in (A[0], 2.5):
        mine = rl.tensor(other) if isinstance(other, np.ndarray) else other
        for result in (ufunc(rl.tensor(A), mine), ufunc(rl.tensor(A), other)):
            assert isinstance(result, rl.Tensor)
            same(result, ufunc(A, other))


def test_methods_and_outputs_of_ufuncs():
    t = rl.tensor(A)
    same(np.add.reduce(t, axis=0), A.sum(0))
    same(np.multiply.outer(t, t), np.multiply.outer(A, A))
    out = rl.empty(2, 3, dtype=rl.float64)
    assert np.exp(t, out=out) is out
    same(out, np.exp(A))
    same(np.modf(t), np.modf(A))


FUNCTIONS = [
    ("sum", {"axis": 0}),
    ("mean", {"axis": 1, "keepdims": True}),
    ("std", {"ddof": 1}),
    ("var", {}),
    ("prod", {}),
    ("max", {}),
    ("amin", {"axis": 1}),
    ("argmax", {}),
    ("any", {}),
    ("cumsum", {"axis": 1}),
    ("cumsum", {}),
    ("sort", {"axis": 0}),
    ("sort", {"axis": None}),
    ("transpose", {}),
    ("transpose", {"axes": (1, 0)}),
    ("round", {"decimals": 1}),
    ("median", {}),
    ("unique", {}),
    ("nonzero", {}),
    ("diff", {"n": 2}),
    ("flip", {"axis": 1}),
    ("linalg.norm", {}),
    ("linalg.svd", {"full_matrices": False}),
    ("fft.rfft", {}),
    ("percentile", {"q": 30}),
    ("tril", {"k": -1}),
]


@pytest.mark.parametrize(("name", "options"), FUNCTIONS)
def test_functions_of_one(name, options):
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    same(function(rl.tensor(A), **options), function(A, **options))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.concatenate([a, a], axis=1),
        lambda a: np.concatenate([a, a], axis=None),
        lambda a: np.stack([a, a]),
        lambda a: np.vstack([a, a]),
        lambda a: np.where(a > 2, a, 0),
        lambda a: np.where(a > 2),
        lambda a: np.clip(a, 2, 4),
        lambda a: np.clip(a, a_min=2, a_max=None),
        lambda a: np.reshape(a, (3, 2)),
        lambda a: np.moveaxis(a, 0, 1),
        lambda a: np.swapaxes(a, 0, 1),
        lambda a: np.tensordot(a, a, axes=([0, 1], [0, 1])),
        lambda a: np.einsum("ij,kj->ik", a, a),
        lambda a: np.kron(a, a),
        lambda a: np.outer(a[0], a[1]),
        lambda a: np.dot(a, np.ones(3)),
        lambda a: np.take(a, [0, 5]),
        lambda a: np.repeat(a, 2, axis=0),
        lambda a: np.roll(a, 1),
        lambda a: np.interp(2.5, a[0], a[1]),
        lambda a: np.histogram(a, bins=3),
        lambda a: np.allclose(a, a),
        lambda a: np.array_equal(a, a),
        lambda a: np.meshgrid(a[0], a[1]),
        lambda a: np.split(a, 3, axis=1),
        lambda a: np.ptp(a),
        lambda a: np.broadcast_to(a, (2, 2, 3)),
    ],
)
def test_calls(call):
    same(call(rl.tensor(A)), call(A))


def test_functions_that_relume_has_stay_on_the_tape():
    x = rl.tensor(A, requires_grad=True)
    np.sum(np.concatenate([np.exp(x), np.transpose(x, (0, 1))], axis=0)).backward()
    same(x.grad, np.exp(A) + 1)
    with pytest.raises(RuntimeError, match="gradient"):
        np.median(x)


def test_scipy_takes_tensors():
    linalg = pytest.importorskip("scipy.linalg")
    special = pytest.importorskip("scipy.special")
    stats = pytest.importorskip("scipy.stats")
    integrate = pytest.importorskip("scipy.integrate")
    optimize = pytest.importorskip("scipy.optimize")
    ndimage = pytest.importorskip("scipy.ndimage")
    sparse = pytest.importorskip("scipy.sparse")
    square = A @ A.T
    t = rl.tensor(square)
    same(linalg.expm(t / 50), linalg.expm(square / 50))
    same(linalg.solve(t, rl.tensor(A[:, 0])), linalg.solve(square, A[:, 0]))
    same(special.gammaln(rl.tensor(A)), special.gammaln(A))
    same(stats.norm.pdf(rl.tensor(A)), stats.norm.pdf(A))
    same(integrate.trapezoid(rl.tensor(A)), integrate.trapezoid(A))
    same(ndimage.gaussian_filter(rl.tensor(A), 1.0), ndimage.gaussian_filter(A, 1.0))
    matrix = sparse.csr_matrix(np.asarray(t))
    same(matrix @ rl.tensor(A).numpy(), square @ A)
    found = optimize.minimize(
        lambda v: float(((rl.tensor(v) - 3) ** 2).sum()), rl.zeros(2).double()
    )
    np.testing.assert_allclose(found.x, [3, 3], atol=1e-4)


def test_a_tensor_gives_scipy_its_gradient():
    optimize = pytest.importorskip("scipy.optimize")

    def value_and_gradient(point):
        x = rl.tensor(point, requires_grad=True)
        loss = ((x - rl.arange(3)) ** 4).sum()
        loss.backward()
        return loss.item(), x.grad.numpy()

    found = optimize.minimize(value_and_gradient, np.ones(3), jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, [0, 1, 2], atol=0.05)


def test_names_of_methods_that_numpy_has():
    t = rl.tensor(A)
    assert t.astype("int64").dtype == rl.int64
    assert t.astype(np.float32).dtype == rl.float32
    twin = t.copy()
    twin.fill(7)
    assert twin.tolist() == [[7.0] * 3] * 2
    assert t.tolist() == A.tolist()
    assert t.tobytes() == A.tobytes()
    assert rl.tensor(np.asfortranarray(A)).tobytes() == A.tobytes()
    assert t.sum(axis=0, keepdims=True).shape == (1, 3)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_values_types_and_shared_memory(protocol):
    base = rl.arange(6.0)
    whole, part, leaf = base, base[2:5], rl.ones(2, requires_grad=True)
    whole, part, leaf = pickle.loads(pickle.dumps((whole, part, leaf), protocol))
    part[0] = 50
    assert whole.tolist() == [0, 1, 50, 3, 4, 5]
    assert leaf.requires_grad
    for name in ("bool", "uint8", "int16", "bfloat16", "float16", "float64"):
        t = rl.tensor([0, 1, 1]).to(name)
        again = pickle.loads(pickle.dumps(t, protocol))
        assert again.dtype == t.dtype
        assert again.tolist() == t.tolist()


def test_copies():
    x = rl.ones(3, requires_grad=True)
    deep = copy.deepcopy(x)
    assert deep.requires_grad
    assert deep.data_ptr() != x.data_ptr()
    assert copy.deepcopy([x, x])[0] is not x
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1]
