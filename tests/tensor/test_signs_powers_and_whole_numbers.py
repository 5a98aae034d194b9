"""Signs, powers of two, whole numbers, shifts, rounded quotients and NaN, against NumPy."""

import numpy as np
import pytest
from arrays import arrays
from hypothesis import given
from hypothesis import strategies as st

import relume as rl

FLOATS = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-300, 3.0])
FLOAT_PAIRS = ["hypot", "copysign", "nextafter", "heaviside", "fmax", "fmin"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FLOAT_PAIRS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs_of_floats(name, dtype):
    x, y = (v.astype(dtype) for v in np.meshgrid(FLOATS, FLOATS))
    got = getattr(rl, name)(rl.from_numpy(x), rl.from_numpy(y)).numpy()
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))


@given(st.data())
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_whole_numbers(name, data):
    array = data.draw(arrays(dtypes=["int8", "int32", "int64", "uint8"]))
    other = data.draw(st.integers(0, 12))
    got = getattr(rl, name)(rl.from_numpy(array), other).numpy()
    np.testing.assert_array_equal(got, getattr(np, name)(array, array.dtype.type(other)))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_shifts(dtype):
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([0, 1, 5, 100, -1, -77]).astype(dtype)[:, None]
    steps = np.arange(0, bits + 3).astype(dtype)
    a, b = rl.from_numpy(x), rl.from_numpy(steps)
    np.testing.assert_array_equal((a << b).numpy(), np.left_shift(x, steps))
    np.testing.assert_array_equal((a >> b).numpy(), np.right_shift(x, steps))
    np.testing.assert_array_equal((a << 2).numpy(), x << 2)
    np.testing.assert_array_equal((1 << b).numpy(), np.left_shift(x[1], steps))
    a = a.clone()
    a <<= 1
    np.testing.assert_array_equal(a.numpy(), x << 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_rounded_division(mode, dtype):
    x, y = np.meshgrid(np.array([-7, -1, 0, 5, 8], dtype), np.array([-3, -1, 2, 7], dtype))
    expected = getattr(np, mode)(x / y).astype(dtype)
    got = rl.div(rl.from_numpy(x), rl.from_numpy(y), rounding_mode=mode)
    np.testing.assert_array_equal(got.numpy(), expected)
    assert got.numpy().dtype == dtype


def test_rounding_modes_are_checked():
    with pytest.raises(ValueError, match="'trunc', 'floor' or None"):
        rl.div(rl.ones(2), 2, rounding_mode="up")


def test_ldexp_and_frexp():
    x = np.concatenate([FLOATS, [5e-324, 1e308, -7.25]])
    steps = np.arange(len(x)) * 100 - 500
    got = rl.ldexp(rl.from_numpy(x), rl.from_numpy(steps)).numpy()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, np.ldexp(x, steps))
    mantissa, exponent = rl.frexp(rl.from_numpy(x))
    assert exponent.dtype == rl.int32
    finite = np.isfinite(x)
    expected = np.frexp(x)
    np.testing.assert_array_equal(mantissa.numpy(), expected[0])
    np.testing.assert_array_equal(exponent.numpy()[finite], expected[1][finite])


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_isclose_and_allclose(equal_nan, dtype):
    pool = [1, 2, 100, 101] if dtype == "int64" else [1.0, 1.0 + 1e-6, 0.0, 1e-9, *FLOATS]
    x, y = np.meshgrid(np.array(pool, dtype), np.array(pool, dtype))
    a, b = rl.from_numpy(x), rl.from_numpy(y)
    expected = np.isclose(x, y, 1e-5, 1e-8, equal_nan)
    np.testing.assert_array_equal(rl.isclose(a, b, 1e-5, 1e-8, equal_nan).numpy(), expected)
    assert rl.allclose(a, b, equal_nan=equal_nan) == expected.all()
    assert rl.allclose(a, a, equal_nan=equal_nan) == np.allclose(x, x, equal_nan=equal_nan)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_to_num(dtype):
    x = FLOATS.astype(dtype)
    np.testing.assert_array_equal(rl.nan_to_num(rl.from_numpy(x)).numpy(), np.nan_to_num(x))
    got = rl.nan_to_num(rl.from_numpy(x), 1.0, 2.0, -3.0).numpy()
    np.testing.assert_array_equal(got, np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0))
    assert rl.nan_to_num(rl.tensor([1, 2])).tolist() == [1, 2]


def test_questions():
    x = rl.from_numpy(FLOATS)
    for name in ("signbit", "isposinf", "isneginf"):
        got = getattr(rl, name)(x).numpy()
        np.testing.assert_array_equal(got, getattr(np, name)(FLOATS))
    assert rl.signbit(rl.tensor([-3, 4])).tolist() == [True, False]
    assert rl.isposinf(rl.tensor([1])).tolist() == [False]


def test_scaled_differences_powers_and_degrees():
    x = np.array([1.0, 2.0, 5.0])
    t = rl.from_numpy(x)
    np.testing.assert_allclose(rl.rsub(t, 3, alpha=2).numpy(), 3 - 2 * x)
    np.testing.assert_array_equal(rl.float_power(rl.tensor([2, 3]), -1).numpy(), [0.5, 1 / 3])
    np.testing.assert_allclose(rl.deg2rad(t).numpy(), np.deg2rad(x), rtol=1e-15)
    np.testing.assert_allclose(rl.rad2deg(t).numpy(), np.rad2deg(x), rtol=1e-15)


@given(st.data())
def test_clamp_between_tensors(data):
    array = data.draw(arrays(dtypes=["int64", "float32", "float64"]))
    low = data.draw(st.integers(-9, 9))
    high = np.full(array.shape, data.draw(st.integers(-9, 9)), array.dtype)
    t = rl.from_numpy(array)
    expected = np.minimum(np.maximum(array, low), high)
    np.testing.assert_array_equal(t.clamp(low, rl.from_numpy(high)).numpy(), expected)
    np.testing.assert_array_equal(t.clamp(max=rl.from_numpy(high)).numpy(), np.minimum(array, high))
    np.testing.assert_array_equal(t.clamp(rl.from_numpy(high)).numpy(), np.maximum(array, high))
    np.testing.assert_array_equal(t.clip(low, 9).numpy(), np.clip(array, low, 9))


def test_clamp_in_place_between_tensors():
    x = rl.tensor([-2.0, 0.5, 3.0])
    assert x.clamp_(rl.tensor([0.0]), rl.tensor([1.0])) is x
    assert x.tolist() == [0.0, 0.5, 1.0]


def test_names_that_mean_the_same():
    x = rl.tensor([1.0, -2.0])
    assert rl.absolute(x).tolist() == x.absolute().tolist() == [1, 2]
    assert rl.multiply(x, 2).tolist() == rl.mul(x, 2).tolist()
    assert x.clone().subtract_(1).tolist() == [0, -3]
    assert rl.special.expit(x).tolist() == rl.sigmoid(x).tolist()
    assert rl.positive(x).tolist() == x.tolist()
    assert rl.isreal(x).tolist() == [True, True]
    assert rl.polygamma(1, x.abs()).tolist() == x.abs().polygamma(1).tolist()


def test_the_numbers_next_to_half_precision_ones():
    """As the steps of the 16 bits, which lie in the order of the numbers on both sides of 0."""
    ends = [0.0, 6e-8, -6e-8, 6.1e-5, 1.0, -1.0, 1.5, 65504.0, -65504.0, np.inf, -np.inf, np.nan]
    a, b = np.meshgrid(np.array(ends, dtype="float16"), np.array(ends, dtype="float16"))
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    result = rl.nextafter(rl.tensor(a), rl.tensor(b))
    assert result.dtype == rl.float16
    np.testing.assert_array_equal(result.numpy(), expected)
    one = rl.tensor([1.0, -1.0], dtype=rl.bfloat16)
    assert rl.nextafter(one, rl.zeros(2, dtype=rl.bfloat16)).tolist() == [1 - 2**-8, 2**-8 - 1]
