"""Special functions, order statistics and running totals, with gradients, against PyTorch."""

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((4, 5))
P = np.abs(X) + 0.1
TIES = np.array([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 0.0, -1.0], [0.0, -1.0, 0.0, 0.0]])
U = RANDOM.uniform(0.05, 0.95, (4, 5))

SPECIAL = [
    *((name, X) for name in "erf erfc erfcx ndtr log_ndtr i0 i0e i1 i1e sinc exp2 expit".split()),
    *((name, P) for name in "gammaln digamma entr".split()),
    *((name, U) for name in "erfinv ndtri logit".split()),
]
PLAIN = [
    ("asinh", X, {}),
    ("acosh", P + 1, {}),
    ("atanh", U, {}),
    ("mvlgamma", P + 2, {"p": 3}),
    ("logcumsumexp", X, {"dim": 1}),
    ("cumprod", X, {"dim": 0}),
    ("cumprod", TIES, {"dim": 1}),
    ("nansum", X, {"dim": 1}),
    ("nanmean", X, {"dim": 0, "keepdim": True}),
    ("quantile", X, {"q": 0.3, "dim": 1}),
    ("nanquantile", X, {"q": 0.3}),
    ("diff", X, {"n": 2}),
    ("cov", X, {}),
    ("corrcoef", X, {}),
    ("trapezoid", X, {"dim": 0}),
    ("renorm", X, {"p": 2, "dim": 0, "maxnorm": 1.0}),
    ("msort", X, {}),
    ("nan_to_num", X, {}),
    ("deg2rad", X, {}),
    ("logit", U, {"eps": 0.2}),
]
PAIRS = ["xlogy", "logaddexp", "logaddexp2", "hypot", "copysign", "fmax", "fmin", "ldexp"]
PICKED = [
    ("median", {"dim": 1}),
    ("nanmedian", {"dim": 0}),
    ("kthvalue", {"k": 2, "dim": 1}),
    ("cummax", {"dim": 0}),
    ("cummin", {"dim": 1}),
    ("sort", {"dim": 0, "stable": True}),
]


def results(library, function, arrays):
    inputs = [
        (rl.tensor if library is rl else torch.tensor)(a, dtype=library.float64).requires_grad_()
        for a in arrays
    ]
    value = function(library, *inputs)
    grad = rl.grad if library is rl else torch.autograd.grad
    first = grad((value * value).sum(), inputs, create_graph=True)
    second = grad(sum((g * g).sum() for g in first), inputs)
    return [value, *first, *second]


def compare(function, *arrays, rtol=1e-8):
    ours = [r.detach().numpy() for r in results(rl, function, arrays)]
    theirs = [r.detach().numpy() for r in results(torch, function, arrays)]
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize(("name", "x"), SPECIAL, ids=lambda v: v if isinstance(v, str) else "")
def test_special_functions(name, x):
    compare(lambda lib, t: getattr(lib.special, name)(t), x)


@pytest.mark.parametrize(("name", "x", "arguments"), PLAIN)
def test_values_and_gradients(name, x, arguments):
    compare(lambda lib, t: getattr(lib, name)(t, **arguments), x)


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    compare(lambda lib, a, b: getattr(lib, name)(a, b), X, P[:, :1])


@pytest.mark.parametrize(("name", "arguments"), PICKED)
def test_what_is_picked(name, arguments):
    compare(lambda lib, t: getattr(lib, name)(t, **arguments)[0], X)
    ours = getattr(rl, name)(rl.from_numpy(X), **arguments)[1]
    theirs = getattr(torch, name)(torch.from_numpy(X), **arguments)[1]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_division(mode):
    compare(lambda lib, a, b: lib.div(a, b, rounding_mode=mode) + a + b, X, P)


def test_clamp_between_tensors():
    compare(lambda lib, a, b, c: lib.clamp(a, b, c), X, U - 0.5, U)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_unique(dim):
    array = RANDOM.integers(0, 2, (6, 3))
    options = {"return_inverse": True, "return_counts": True, "dim": dim}
    ours = rl.unique(rl.from_numpy(array), **options)
    theirs = torch.unique(torch.from_numpy(array), **options)
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())
    ours = rl.unique_consecutive(rl.from_numpy(array), return_inverse=True, dim=dim)
    theirs = torch.unique_consecutive(torch.from_numpy(array), return_inverse=True, dim=dim)
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_histograms():
    x = X.reshape(-1)
    ours = rl.histogram(rl.from_numpy(x), 5, range=(-1.0, 2.0), density=True)
    theirs = torch.histogram(torch.from_numpy(x), 5, range=(-1.0, 2.0), density=True)
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-12)
    ours = rl.histc(rl.from_numpy(x), 7)
    np.testing.assert_array_equal(ours.numpy(), torch.histc(torch.from_numpy(x), 7).numpy())
