"""Remainders, rounded quotients and angles of floats, exact for every pair of numbers."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(9)
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 3.0, np.inf, -np.inf, np.nan, 1e38, 1e-42, 2**24]
)
WIDE = 10.0 ** RANDOM.uniform(-30, 30, 3000) * RANDOM.choice([-1, 1], 3000)
NEAR = RANDOM.normal(0, 20, 5000)
WHOLE = RANDOM.integers(-(2**24), 2**24, 3000)


def pairs():
    x, y = (v.reshape(-1) for v in np.meshgrid(SPECIAL, SPECIAL))
    yield x, y
    yield NEAR, RANDOM.permutation(NEAR)
    yield WIDE, RANDOM.permutation(WIDE)
    yield WHOLE, RANDOM.integers(1, 1000, 3000)
    yield WHOLE * 0.1, np.full(3000, np.float32(0.1))
    yield NEAR, np.nextafter(NEAR, 0, dtype="float32")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(6))
def test_remainders(number):
    x, y = (v.astype("float32") for v in list(pairs())[number])
    a, b = rl.from_numpy(x), rl.from_numpy(y)
    got = rl.fmod(a, b).numpy()
    np.testing.assert_array_equal(got, np.fmod(x, y))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.fmod(x, y)))
    finite = np.isfinite(y)
    np.testing.assert_array_equal(rl.remainder(a, b).numpy()[finite], np.remainder(x, y)[finite])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(1, 6))
def test_rounded_quotients(number):
    x, y = (v.astype("float32") for v in list(pairs())[number])
    short = np.abs(x.astype("float64") / y) < 2**29
    exact = np.floor(x.astype("float64") / y).astype("float32")[short]
    got = rl.floor_divide(rl.from_numpy(x), rl.from_numpy(y)).numpy()
    np.testing.assert_array_equal(got[short], exact)


def test_operands_of_any_layout():
    x = NEAR[:3000].astype("float32").reshape(50, 60)
    t = rl.from_numpy(x)
    np.testing.assert_array_equal((t % 0.7).numpy(), np.remainder(x, np.float32(0.7)))
    np.testing.assert_array_equal((t.t() % t[0, 0]).numpy(), np.remainder(x.T, x[0, 0]))
    np.testing.assert_array_equal((7.5 % t).numpy(), np.remainder(np.float32(7.5), x))
    t = t.clone()
    t %= 0.7
    np.testing.assert_array_equal(t.numpy(), np.remainder(x, np.float32(0.7)))


@pytest.mark.parametrize("number", range(6))
def test_angles_of_points(number):
    y, x = (v.astype("float32") for v in list(pairs())[number])
    got = rl.atan2(rl.from_numpy(y), rl.from_numpy(x)).numpy()
    expected = np.arctan2(y.astype("float64"), x.astype("float64")).astype("float32")
    np.testing.assert_allclose(got, expected, rtol=2e-7, atol=1e-45)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "function"), [("atan", np.arctan), ("asin", np.arcsin), ("acos", np.arccos)]
)
def test_inverse_functions(name, function):
    x = np.concatenate([SPECIAL, WIDE, RANDOM.uniform(-1, 1, 5000)]).astype("float32")
    expected = function(x.astype("float64")).astype("float32")
    np.testing.assert_allclose(getattr(rl, name)(rl.from_numpy(x)).numpy(), expected, rtol=2e-7)
