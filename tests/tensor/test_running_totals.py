"""Running totals and extremes along a dimension, against NumPy."""

import numpy as np
import pytest
from arrays import arrays, dims
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import relume as rl

WHOLE = ["uint8", "int16", "int64", "bool"]


@given(st.data())
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_totals(name, data):
    array = data.draw(arrays(min_dims=1))
    dim = data.draw(dims(array))
    got = getattr(rl.from_numpy(array), name)(dim)
    wide = np.int64 if array.dtype.kind in "uib" else np.float64
    expected = getattr(np, name)(array, dim, dtype=wide)
    assert got.dtype == (rl.int64 if wide is np.int64 else rl.from_numpy(array).dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got.numpy(), expected.astype(got.numpy().dtype))


@pytest.mark.parametrize("length", [1, 3, 4, 5, 1000, 70001])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_long_sums(length, dtype):
    array = (np.random.default_rng(3).standard_normal((2, length)) * 50).astype(dtype)
    wide = "int64" if dtype == "int64" else "float64"
    expected = np.cumsum(array, 1, dtype=wide)
    close = {"float32": (1e-6, 1e-5), "float64": (1e-11, 1e-9), "int64": (0, 0)}[dtype]
    np.testing.assert_allclose(rl.from_numpy(array).cumsum(1).numpy(), expected, *close)
    across = rl.from_numpy(array.T.copy()).cumsum(0).numpy()
    np.testing.assert_allclose(across, expected.T, *close)


def test_the_type_can_be_chosen():
    x = rl.tensor([1, 2, 3], dtype=rl.int32)
    assert rl.cumsum(x, 0, dtype=rl.float64).dtype == rl.float64
    assert rl.cumprod(x, 0, dtype=rl.int32).tolist() == [1, 2, 6]
    out = rl.zeros(3)
    assert rl.cumsum(rl.ones(3), 0, out=out) is out
    assert out.tolist() == [1, 2, 3]


@given(st.data())
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extremes(name, data):
    array = data.draw(arrays(min_dims=1, dtypes=["int64", "uint8", "float32", "float64"]))
    dim = data.draw(dims(array))
    values, indices = getattr(rl, name)(rl.from_numpy(array), dim)
    function = np.maximum if name == "cummax" else np.minimum
    np.testing.assert_array_equal(values.numpy(), function.accumulate(array, dim))
    assert values.dtype == rl.from_numpy(array).dtype
    if array.size:
        picked = np.take_along_axis(array, indices.numpy(), dim)
        np.testing.assert_array_equal(picked, values.numpy())


def test_extremes_keep_the_last_of_equals_and_nan():
    values, indices = rl.cummax(rl.tensor([1.0, 1.0, float("nan"), 5.0, float("nan")]), 0)
    assert indices.tolist() == [0, 1, 2, 2, 4]
    assert np.isnan(values.numpy()[2:]).all()


@given(st.data())
def test_logcumsumexp(data):
    array = data.draw(arrays(min_dims=1, dtypes=["float32", "float64"]))
    dim = data.draw(dims(array))
    got = rl.logcumsumexp(rl.from_numpy(array), dim).numpy()
    wide = array.astype("float64")
    expected = np.log(np.cumsum(np.exp(wide), dim))
    rtol = 1e-6 if array.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, expected, rtol, rtol)


def test_logcumsumexp_at_the_ends():
    x = np.array([-np.inf, -np.inf, 1000.0, 999.0, np.inf, 3.0])
    expected = [special.logsumexp(x[: i + 1]) for i in range(len(x))]
    np.testing.assert_allclose(rl.logcumsumexp(rl.from_numpy(x), 0).numpy(), expected)
    with_nan = rl.logcumsumexp(rl.tensor([1.0, float("nan"), 2.0]), 0).numpy()
    assert np.isnan(with_nan[1:]).all()


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_no_dimensions_and_no_elements(name):
    assert getattr(rl, name)(rl.tensor(2.0), 0).item() == 2.0
    assert getattr(rl, name)(rl.zeros(0, 3), 0).shape == (0, 3)
    assert getattr(rl, name)(rl.zeros(2, 0), 0).shape == (2, 0)
    with pytest.raises(IndexError):
        getattr(rl, name)(rl.zeros(2), 1)
