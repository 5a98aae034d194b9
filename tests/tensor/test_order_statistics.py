"""kthvalue, median, mode, quantiles, distinct elements and counting, against NumPy."""

import numpy as np
import pytest
from arrays import arrays, dims
from hypothesis import given
from hypothesis import strategies as st

import relume as rl

NAN = float("nan")


def same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array)


@given(st.data())
def test_kthvalue(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    dim = data.draw(dims(array))
    k = data.draw(st.integers(1, array.shape[dim]))
    keepdim = data.draw(st.booleans())
    values, indices = rl.from_numpy(array).kthvalue(k, dim, keepdim)
    order = np.argsort(array, dim, kind="stable").take([k - 1], dim)
    expected = np.take_along_axis(array, order, dim)
    same(values, expected if keepdim else expected.squeeze(dim))
    same(indices, order if keepdim else order.squeeze(dim))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "uint8", "int16"])
@pytest.mark.parametrize("size", [4095, 5000, 40000])
def test_selection_in_long_lines(size, dtype):
    array = (np.random.default_rng(size).standard_normal(size) * 1000).astype("int64").astype(dtype)
    for k in (1, 2, size // 3, size // 2, size):
        value, index = rl.from_numpy(array).kthvalue(k)
        position = np.argsort(array, kind="stable")[k - 1]
        assert (value.item(), index.item()) == (array[position], position)
    equal = np.full(size, 7).astype(dtype)
    assert rl.from_numpy(equal).kthvalue(5)[1].item() == 4


@given(st.data())
def test_median(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    dim = data.draw(dims(array))
    middle = np.sort(array, dim).take((array.shape[dim] - 1) // 2, dim)
    values, indices = rl.median(rl.from_numpy(array), dim)
    same(values, middle)
    picked = np.take_along_axis(array, np.expand_dims(indices.numpy(), dim), dim)
    same(values, picked.squeeze(dim))
    flat = np.sort(array, None)[(array.size - 1) // 2]
    assert rl.median(rl.from_numpy(array)).item() == flat


def test_median_and_nan():
    x = rl.tensor([[1.0, NAN, 3.0], [4.0, 6.0, 5.0], [NAN, NAN, NAN]])
    values, indices = x.median(1)
    assert np.isnan(values.numpy()).tolist() == [True, False, True]
    assert indices.tolist()[:2] == [1, 2]
    values, indices = x.nanmedian(1)
    assert values.tolist()[:2] == [1.0, 5.0]
    assert np.isnan(values[2].item())
    assert indices.tolist()[:2] == [0, 2]
    assert x.nanmedian().item() == 4.0


@given(st.data())
def test_mode(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    dim = data.draw(dims(array))
    values, indices = rl.from_numpy(array).mode(dim)
    lines = np.moveaxis(array, dim, -1).reshape(-1, array.shape[dim])
    for line, value, index in zip(
        lines, values.numpy().reshape(-1), indices.numpy().reshape(-1), strict=True
    ):
        distinct, counts = np.unique(line, return_counts=True)
        assert value == distinct[np.argmax(counts)]
        assert index == np.flatnonzero(line == value)[-1]


@given(st.data())
def test_unique(data):
    array = data.draw(arrays())
    tensor = rl.from_numpy(array)
    values, inverse, counts = rl.unique(tensor, return_inverse=True, return_counts=True)
    expected = np.unique(array, return_inverse=True, return_counts=True)
    same(values, expected[0])
    same(inverse, expected[1].reshape(array.shape))
    same(counts, expected[2])
    same(rl.unique(tensor), expected[0])


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "int32"])
@pytest.mark.parametrize("spread", [10, 10**6])
def test_unique_of_many(dtype, spread):
    array = np.random.default_rng(2).integers(-spread, spread, 5000).astype(dtype)
    values, inverse, counts = rl.from_numpy(array).unique(return_inverse=True, return_counts=True)
    expected = np.unique(array, return_inverse=True, return_counts=True)
    for got, right in zip((values, inverse, counts), expected, strict=True):
        same(got, right)
    same(rl.unique(rl.from_numpy(array)), expected[0])


def test_every_nan_is_unique():
    x = rl.tensor([NAN, 1.0, NAN, 1.0, -0.0, 0.0])
    values, counts = rl.unique(x, return_counts=True)
    assert counts.tolist() == [2, 2, 1, 1]
    assert values.tolist()[:2] == [0.0, 1.0]
    assert rl.unique(x, return_inverse=True)[1].tolist() == [2, 1, 3, 1, 0, 0]


@given(st.data())
def test_unique_slices(data):
    array = data.draw(arrays(min_dims=1, min_side=1, dtypes=["int64", "float32", "uint8"]))
    array = array % 2  # so that slices repeat
    dim = data.draw(dims(array))
    got = rl.unique(rl.from_numpy(array), dim=dim, return_inverse=True, return_counts=True)
    expected = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
    same(got[0], expected[0])
    same(got[1], expected[1].reshape(-1))
    same(got[2], expected[2])


@given(st.data())
def test_unique_consecutive(data):
    array = data.draw(arrays(min_dims=1)) % 2
    flat = array.reshape(-1)
    starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]])[: flat.size])
    got = rl.unique_consecutive(rl.from_numpy(array), return_inverse=True, return_counts=True)
    same(got[0], flat[starts])
    same(got[2], np.diff(np.append(starts, flat.size)))
    if flat.size:
        same(got[0].index_select(0, got[1].reshape(-1)), flat)
    rows = rl.tensor([[1, 2], [1, 2], [0, 2]])
    assert rl.unique_consecutive(rows, dim=0).tolist() == [[1, 2], [0, 2]]


@given(st.data())
def test_searchsorted_and_bucketize(data):
    sequence = np.sort(data.draw(arrays(min_dims=1, max_dims=1, layouts=False)))
    values = data.draw(arrays())
    right = data.draw(st.booleans())
    side = "right" if right else "left"
    expected = np.searchsorted(sequence, values, side)
    a, b = rl.from_numpy(sequence), rl.from_numpy(values)
    same(rl.searchsorted(a, b, right=right), expected)
    same(rl.searchsorted(a, b, side=side), expected)
    got = rl.bucketize(b, a, right=right, out_int32=True)
    same(got, expected)
    assert got.dtype == rl.int32


def test_searchsorted_by_row_and_with_a_sorter():
    rows = np.sort(np.random.default_rng(1).standard_normal((3, 50)))
    values = np.random.default_rng(2).standard_normal((3, 20))
    expected = [np.searchsorted(row, value) for row, value in zip(rows, values, strict=True)]
    same(rl.searchsorted(rl.from_numpy(rows), rl.from_numpy(values)), expected)
    mixed = rl.tensor([3, 1, 2])
    assert rl.searchsorted(mixed, 2, sorter=rl.argsort(mixed)).item() == 1
    with pytest.raises(ValueError, match="sorted sequence of shape"):
        rl.searchsorted(rl.zeros(2, 3), rl.zeros(4))
    with pytest.raises(ValueError, match="'left' or 'right'"):
        rl.searchsorted(mixed, 2, side="middle")


@given(st.data())
def test_bincount(data):
    array = data.draw(arrays(min_dims=1, max_dims=1, dtypes=["uint8", "int64"])) % 7
    least = data.draw(st.integers(0, 9))
    same(rl.from_numpy(array).bincount(minlength=least), np.bincount(array, minlength=least))
    weights = np.linspace(0, 1, array.size)
    got = rl.bincount(rl.from_numpy(array), rl.from_numpy(weights))
    np.testing.assert_allclose(got.numpy(), np.bincount(array, weights))


def test_bincount_refuses_what_it_cannot_count():
    for wrong in (rl.tensor([-1]), rl.zeros(2, 2, dtype=rl.int64), rl.tensor([2**62])):
        with pytest.raises(ValueError):
            rl.bincount(wrong)
    with pytest.raises(TypeError):
        rl.bincount(rl.tensor([1.0]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histograms(dtype):
    array = np.random.default_rng(5).standard_normal(2000).astype(dtype)
    array[:3] = [NAN, 9, -9]
    tensor = rl.from_numpy(array)
    same(rl.histc(tensor, 16, -2, 2), np.histogram(array, 16, (-2, 2))[0])
    counts, edges = rl.histogram(tensor, 16, range=(-2, 2))
    expected = np.histogram(array, 16, (-2, 2))
    same(counts, expected[0])
    np.testing.assert_allclose(edges.numpy(), expected[1], rtol=1e-6)

    weight = np.abs(np.nan_to_num(array))
    own = np.array([-1.5, 0, 0.25, 3], dtype)
    got = rl.histogram(tensor, rl.from_numpy(own), weight=rl.from_numpy(weight), density=True)
    wide = np.histogram(
        array.astype("float64"), own.astype("float64"), weights=weight, density=True
    )
    np.testing.assert_allclose(got[0].numpy(), wide[0], rtol=1e-5)
    assert rl.histc(rl.tensor([1.0, 2.0, 1.0]), 2).tolist() == [2, 1]
    assert rl.histc(rl.tensor([3.0, 3.0]), 3).tolist() == [0, 2, 0]
    with pytest.raises(ValueError, match="at least 1"):
        rl.histc(tensor, 0)


INTERPOLATIONS = ["linear", "lower", "higher", "midpoint", "nearest"]


@given(st.data())
def test_quantile(data):
    array = data.draw(arrays(min_dims=1, min_side=1, dtypes=["float32", "float64"]))
    interpolation = data.draw(st.sampled_from(INTERPOLATIONS))
    q = data.draw(st.sampled_from([0.0, 0.25, 0.4, 0.5, 1.0]))
    dim = data.draw(st.none() | dims(array))
    keepdim = data.draw(st.booleans())
    wide = array.astype("float64")
    for name in ("quantile", "nanquantile"):
        for given_q in (q, np.array([q, 0.5])):
            asked = rl.from_numpy(given_q) if isinstance(given_q, np.ndarray) else given_q
            got = getattr(rl, name)(
                rl.from_numpy(array), asked, dim, keepdim, interpolation=interpolation
            )
            function = getattr(np, name)
            expected = function(wide, given_q, dim, keepdims=keepdim, method=interpolation)
            assert got.shape == expected.shape
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_quantile_and_nan():
    array = np.array([[1.0, NAN, 3.0, 2.0], [4.0, 6.0, 5.0, 9.0], [NAN] * 4])
    q = np.array([0.25, 0.5])
    same(rl.quantile(rl.from_numpy(array), rl.from_numpy(q), 1), np.quantile(array, q, 1))
    got = rl.nanquantile(rl.from_numpy(array), rl.from_numpy(q), 1).numpy()
    np.testing.assert_array_equal(got[:, :2], np.nanquantile(array[:2], q, 1))
    assert np.isnan(got[:, 2]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        rl.quantile(rl.ones(2), 1.5)


@given(st.data())
def test_isin(data):
    array, known = data.draw(arrays()), data.draw(arrays())
    invert = data.draw(st.booleans())
    got = rl.isin(rl.from_numpy(array), rl.from_numpy(known), invert=invert)
    same(got, np.isin(array, known, invert=invert))


def test_sorting_options():
    x = rl.tensor([[3, 1], [2, 1]])
    assert rl.sort(x, stable=True)[0].tolist() == [[1, 3], [1, 2]]
    assert x.argsort(0, stable=True).tolist() == [[1, 0], [0, 1]]
    assert rl.msort(x).tolist() == [[2, 1], [3, 1]]


@pytest.mark.parametrize("name", ["kthvalue", "median", "mode", "nanmedian"])
def test_nothing_to_choose_from(name):
    arguments = (1, 1) if name == "kthvalue" else (1,)
    with pytest.raises(ValueError):
        getattr(rl.zeros(2, 0), name)(*arguments)
    arguments = (1, 1) if name == "kthvalue" else (1,)
    assert getattr(rl.zeros(0, 3), name)(*arguments)[0].shape == (0,)
    value, index = getattr(rl.tensor(5.0), name)(*((1, 0) if name == "kthvalue" else (0,)))
    assert (value.item(), index.item()) == (5.0, 0)
