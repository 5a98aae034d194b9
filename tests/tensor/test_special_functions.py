"""Special functions against SciPy, over their whole domain and at its ends."""

import numpy as np
import pytest
from scipy import special

import relume as rl

RANDOM = np.random.default_rng(7)
ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e300, 1e-310]
WIDE = np.concatenate([RANDOM.normal(0, scale, 2000) for scale in (1, 8, 60)] + [ENDS])
SMALL = np.concatenate([RANDOM.choice([-1, 1], 500) * 10.0 ** RANDOM.uniform(-300, 0, 500)])
NEAR_ONE = 1 - 10.0 ** RANDOM.uniform(-15, -1, 500)
SYMMETRIC = np.concatenate([SMALL, NEAR_ONE, -NEAR_ONE, [0, 1, -1, 1.5, np.nan]])
UNIT = np.concatenate([np.abs(SMALL), NEAR_ONE, [0, 1, 0.5, -0.1, 1.1, np.nan]])
POSITIVE = np.abs(WIDE[np.isfinite(WIDE) & (np.abs(WIDE) < 1e200)])

# Name: the function of SciPy or NumPy, where, and the accuracy asked for.
CASES = {
    "erf": (special.erf, WIDE, 1e-15),
    "erfc": (special.erfc, WIDE, 1e-13),  # SciPy is off by that much in the tail
    "erfcx": (special.erfcx, WIDE, 1e-13),
    "erfinv": (special.erfinv, SYMMETRIC, 1e-13),
    "ndtr": (special.ndtr, WIDE, 1e-13),
    "log_ndtr": (special.log_ndtr, WIDE, 1e-13),
    "ndtri": (special.ndtri, UNIT, 1e-13),
    "lgamma": (special.gammaln, POSITIVE[POSITIVE > 1e-300], 1e-12),
    "digamma": (special.digamma, WIDE[np.abs(WIDE) < 50], 1e-12),
    "i0": (special.i0, WIDE[np.abs(WIDE) < 1e30], 1e-14),
    "i0e": (special.i0e, WIDE, 1e-14),
    "i1": (special.i1, WIDE[np.abs(WIDE) < 1e30], 1e-14),
    "i1e": (special.i1e, WIDE, 1e-14),
    "bessel_j0": (special.j0, WIDE[np.abs(WIDE) < 100], 1e-12),
    "bessel_j1": (special.j1, WIDE[np.abs(WIDE) < 100], 1e-12),
    "bessel_y0": (special.y0, POSITIVE[POSITIVE < 100], 1e-12),
    "bessel_y1": (special.y1, POSITIVE[POSITIVE < 100], 1e-12),
    "exp2": (np.exp2, WIDE, 1e-15),
    "asinh": (np.arcsinh, WIDE, 1e-15),
    "acosh": (np.arccosh, WIDE, 1e-15),
    "atanh": (np.arctanh, SYMMETRIC, 1e-15),
    "entr": (special.entr, WIDE, 1e-15),
    "logit": (special.logit, UNIT, 1e-12),
    "logsigmoid": (special.log_expit, WIDE, 1e-15),
}


def close(got, expected, accuracy, dtype="float64"):
    got, expected = got.numpy(), np.asarray(expected)
    assert got.dtype == dtype
    if dtype == "float64":
        np.testing.assert_allclose(got, expected, rtol=accuracy, atol=accuracy * 1e-3)
    else:
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(got, expected.astype(dtype), rtol=3e-7, atol=1e-38)


@pytest.mark.parametrize(
    "name, exact, largest, units",
    [
        ("erf", special.erf, np.inf, 1.25),
        ("asin", np.arcsin, 1.0, 1.75),
        ("acos", np.arccos, 1.0, 1.5),
        ("atan", np.arctan, np.inf, 1.75),
    ],
)
def test_functions_of_floats_in_units_of_the_last_place(name, exact, largest, units):
    sizes = np.arange(0, 0x7F800000, 9973, dtype="uint32").view("float32")
    sizes = np.concatenate([sizes, np.linspace(0, 4.2, 300_001, dtype="float32"), [1, np.inf]])
    sizes = sizes[sizes <= largest].astype("float32")
    x = np.concatenate([sizes, -sizes])
    expected = exact(x.astype("float64"))
    got = getattr(rl, name)(rl.from_numpy(x)).numpy()
    unit = np.spacing(np.abs(expected).astype("float32"))
    assert np.max(np.abs(got - expected) / unit) < units
    assert np.array_equal(np.signbit(got), np.signbit(expected))
    outside = rl.tensor([np.nan] if largest == np.inf else [np.nan, 1.0000001, -1.5, np.inf])
    assert np.isnan(getattr(rl, name)(outside).numpy()).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_functions_of_one_element(name):
    function, x, accuracy = CASES[name]
    close(rl._C.ops[name](rl.from_numpy(x)), function(x), accuracy)
    narrow = x.astype("float32")
    expected = function(narrow.astype("float64"))
    close(rl._C.ops[name](rl.from_numpy(narrow)), expected, accuracy, "float32")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "uint8", "bool"])
def test_other_types(name, dtype):
    x = rl.tensor([0.0, 1.0]).to(dtype)
    result = rl._C.ops[name](x)
    assert result.dtype == (x.dtype if dtype in ("float16", "bfloat16") else rl.float32)
    expected = rl._C.ops[name](x.to(rl.float32)).to(result.dtype)
    np.testing.assert_array_equal(result.float().numpy(), expected.float().numpy())


def test_sinc_is_zero_at_whole_numbers():
    x = np.concatenate([WIDE[np.abs(WIDE) < 100], [0.25, 1e-5]])
    np.testing.assert_allclose(rl.sinc(rl.from_numpy(x)).numpy(), np.sinc(x), atol=2e-16)
    assert np.all(rl.sinc(rl.tensor([1.0, 2.0, -7.0])).numpy() == 0)
    assert rl.sinc(rl.tensor(0.0)).item() == 1


@pytest.mark.parametrize("order", [0, 1, 2, 3, 8])
def test_polygamma(order):
    x = POSITIVE[POSITIVE > 0.01]
    close(rl.polygamma(order, rl.from_numpy(x)), special.polygamma(order, x), 1e-12)
    with pytest.raises(ValueError, match="must not be negative"):
        rl.polygamma(-1, rl.ones(2))


def test_mvlgamma():
    x = np.linspace(2.0, 40, 30)
    close(rl.mvlgamma(rl.from_numpy(x), 3), [special.multigammaln(v, 3) for v in x], 1e-13)


def test_incomplete_gamma_functions():
    a = 10.0 ** RANDOM.uniform(-3, 5, 3000)
    x = np.abs(a * (1 + RANDOM.normal(0, 1, 3000) / np.sqrt(a)))
    for name in ("gammainc", "gammaincc"):
        expected = getattr(special, name)(a, x)
        close(rl._C.ops[name](rl.from_numpy(a), rl.from_numpy(x)), expected, 1e-12)
    ends = np.array([0, 1, np.inf, -1.0])
    both = rl.special.gammainc(rl.tensor(2.0), rl.from_numpy(ends)).numpy()
    np.testing.assert_allclose(both, special.gammainc(2.0, ends), rtol=1e-7)


def test_incomplete_beta_function():
    a, b = 10.0 ** RANDOM.uniform(-2, 3, (2, 3000))
    x = np.clip(a / (a + b) * (1 + RANDOM.normal(0, 0.3, 3000)), 1e-9, 1)
    got = rl._C.ops["betainc"](*(rl.from_numpy(v) for v in (a, b, x))).numpy()
    np.testing.assert_allclose(got, special.betainc(a, b, x), rtol=1e-11, atol=1e-14)


def test_zeta():
    s, q = 1 + 10.0 ** RANDOM.uniform(-2, 2, 500), 10.0 ** RANDOM.uniform(-2, 3, 500)
    close(rl.special.zeta(rl.from_numpy(s), rl.from_numpy(q)), special.zeta(s, q), 1e-12)
    assert rl.special.zeta(rl.tensor(1.0), rl.tensor(1.0)).item() == np.inf


PAIRS = {
    "xlogy": special.xlogy,
    "xlog1py": special.xlog1py,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_elements(name):
    x, y = WIDE, RANDOM.permutation(WIDE)
    expected = PAIRS[name](x, y)
    got = rl._C.ops[name](rl.from_numpy(x), rl.from_numpy(y))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-15)


def test_logit_keeps_away_from_the_ends():
    got = rl.logit(rl.tensor([0.0, 0.5, 1.0]), eps=0.25)
    np.testing.assert_allclose(got.numpy(), np.log([1 / 3, 1, 3]), atol=1e-7)


def test_missing_derivatives_are_named():
    a = rl.tensor([1.5], requires_grad=True)
    with pytest.raises(NotImplementedError, match="derivative of gammainc"):
        rl.special.gammainc(a, rl.tensor([0.5])).backward()
