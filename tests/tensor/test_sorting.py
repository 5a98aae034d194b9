"""sort and topk, against NumPy."""

import numpy as np
import pytest
from arrays import DTYPES, arrays, dims
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relume as rl


def same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array)


@given(st.data())
def test_sort_is_stable(data):
    array = data.draw(arrays(min_dims=1))
    dim = data.draw(dims(array))
    values, indices = rl.from_numpy(array).sort(dim)
    same(values, np.sort(array, dim, kind="stable"))
    same(indices, np.argsort(array, dim, kind="stable"))


@given(st.data())
def test_descending_is_stable_too(data):
    array = data.draw(arrays(min_dims=1, dtypes=["int16", "int64", "float32", "float64"]))
    dim = data.draw(dims(array))
    values, indices = rl.from_numpy(array).sort(dim, descending=True)
    order = np.argsort(-array, dim, kind="stable")
    same(indices, order)
    same(values, np.take_along_axis(array, order, dim))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [10, 511, 512, 5000])
def test_long_lines(dtype, size):
    generator = np.random.default_rng(size)
    array = (generator.standard_normal((2, size)) * 1000).astype("int64").astype(dtype)
    values, indices = rl.from_numpy(array).sort()
    same(values, np.sort(array, -1))
    same(indices, np.argsort(array, -1, kind="stable"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [9, 900])
def test_special_values(dtype, size):
    pool = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], dtype)
    array = np.resize(pool, size)
    values, indices = rl.from_numpy(array).sort()
    same(values, np.sort(array))  # NaN last
    same(indices, np.argsort(array, kind="stable"))
    values, _ = rl.from_numpy(array).sort(descending=True)
    assert np.isnan(values.numpy()[0]) and values.numpy()[-1] == -np.inf


@given(hnp.arrays("int64", st.integers(1, 30)))
def test_all_of_int64(array):
    same(rl.from_numpy(array).sort()[0], np.sort(array))


@given(st.data())
def test_topk(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    dim = data.draw(dims(array))
    k = data.draw(st.integers(0, array.shape[dim]))
    tensor = rl.from_numpy(array)
    ascending = np.sort(array, dim)

    values, indices = tensor.topk(k, dim)
    same(values, np.flip(ascending, dim).take(range(k), dim))
    same(values, np.take_along_axis(array, indices.numpy(), dim))

    values, indices = tensor.topk(k, dim, largest=False)
    same(values, ascending.take(range(k), dim))
    same(values, np.take_along_axis(array, indices.numpy(), dim))

    values, indices = tensor.topk(k, dim, sorted=False)
    same(values.sort(dim)[0], np.sort(np.flip(ascending, dim).take(range(k), dim), dim))


def test_topk_counts_nan_as_the_largest():
    values, indices = rl.tensor([1.0, float("nan"), 3.0]).topk(2)
    assert indices.tolist() == [1, 2]
    assert np.isnan(values.numpy()[0])


def test_zero_dimensions_and_no_elements():
    values, index = rl.tensor(3.0).sort()
    assert values.item() == 3.0 and index.item() == 0
    assert rl.tensor(3.0).topk(1)[0].item() == 3.0
    assert tuple(rl.zeros(0, 3).sort(0)[0].shape) == (0, 3)
    assert tuple(rl.zeros(2, 0).sort()[1].shape) == (2, 0)


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="k must be between 0 and 3"):
        rl.zeros(3).topk(4)
    with pytest.raises(IndexError):
        rl.zeros(3).sort(1)


@pytest.mark.parametrize(
    "function", [lambda x: x.sort(1)[0], lambda x: x.topk(2, 0)[0], lambda x: x.sort(0, True)[0]]
)
def test_gradients(function):
    x = rl.tensor(np.array([[3.0, 1.0, 2.0], [0.5, 7.0, 6.0]]), requires_grad=True)
    assert rl.autograd.gradcheck(function, (x,))
    assert rl.autograd.gradgradcheck(function, (x,))
