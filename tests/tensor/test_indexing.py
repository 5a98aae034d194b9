"""Indexing by tensors and masks, gather and scatter, against NumPy."""

import numpy as np
import pytest
from arrays import arrays, dims
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relume as rl

INDEX_DTYPES = ["int8", "int16", "int32", "int64"]


def same(tensor, array):
    result = tensor.numpy()
    assert result.shape == array.shape
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


@st.composite
def index_arrays(draw, size, shape):
    """Valid indices (negative ones too) into a dimension of a size."""
    wide_enough = [dtype for dtype in INDEX_DTYPES if size <= np.iinfo(dtype).max]
    dtype = draw(st.sampled_from(wide_enough))
    return draw(hnp.arrays(dtype, shape, elements=st.integers(-size, size - 1)))


@st.composite
def advanced_indices(draw, shape):
    """A NumPy index of slices, integer arrays that broadcast, and masks."""
    broadcast = draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
    index, dim = [], 0
    while dim < len(shape):
        kind = draw(st.sampled_from(["all", "integers", "integers", "mask", "stop"]))
        if kind == "stop" and any(isinstance(i, np.ndarray) for i in index):
            break
        if kind == "mask":
            covered = draw(st.integers(1, len(shape) - dim))
            count = int(np.prod(broadcast[-1:]))
            mask = np.zeros(shape[dim : dim + covered], bool)
            if mask.size < count:  # as many as the other arrays, so that they broadcast
                continue
            chosen = draw(st.permutations(range(mask.size)))[:count]
            mask.reshape(-1)[chosen] = True
            index.append(mask)
            dim += covered
        elif kind == "integers":
            own = tuple(draw(st.sampled_from([1, side])) for side in broadcast)
            index.append(draw(index_arrays(shape[dim], own)))
            dim += 1
        else:
            index.append(slice(None))
            dim += 1
    if not any(isinstance(i, np.ndarray) for i in index):
        index[-1] = np.array([0])
    return index


def as_tensors(index):
    return [None if isinstance(i, slice) else rl.from_numpy(np.array(i)) for i in index]


@given(st.data())
def test_index_reads_what_numpy_reads(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    index = data.draw(advanced_indices(array.shape))
    tensor = rl.from_numpy(array)
    same(tensor.index(as_tensors(index)), array[tuple(index)])
    keys = tuple(slice(None) if i is None else i for i in as_tensors(index))
    same(tensor[keys], array[tuple(index)])


@given(st.data())
def test_index_put_writes_what_numpy_writes(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    index = data.draw(advanced_indices(array.shape))
    expected = array.copy()
    shape = tuple(data.draw(st.sampled_from([1, side])) for side in array[tuple(index)].shape)
    values = np.resize(np.arange(1, 8), shape).astype(array.dtype)
    expected[tuple(index)] = values
    same(rl.from_numpy(array).index_put(as_tensors(index), rl.from_numpy(values)), expected)
    target = array.copy()
    rl.from_numpy(target).index_put_(as_tensors(index), rl.from_numpy(values))
    np.testing.assert_array_equal(target, expected)


@given(st.data())
def test_index_put_accumulates(data):
    array = data.draw(arrays(min_dims=1, min_side=1, dtypes=["int64", "float64", "uint8"]))
    index = data.draw(advanced_indices(array.shape))
    values = np.arange(array[tuple(index)].size).reshape(array[tuple(index)].shape)
    values = values.astype(array.dtype)
    expected = array.copy()
    np.add.at(expected, tuple(index), values)
    same(rl.from_numpy(array).index_put(as_tensors(index), rl.from_numpy(values), True), expected)


def test_the_place_of_the_result_dimensions():
    x = rl.zeros(2, 3, 4, 5)
    i = rl.tensor([[0, 1, 1]])
    assert tuple(x.index([None, i, i]).shape) == (2, 1, 3, 5)
    assert tuple(x.index([i, None, i]).shape) == (1, 3, 3, 5)
    assert tuple(x.index([None, i, None, i]).shape) == (1, 3, 2, 4)
    assert tuple(x.index([rl.zeros(2, 3, dtype=rl.bool_), i[:, :0]]).shape) == (1, 0, 5)


def test_a_mask_without_dimensions():
    array = np.arange(3)
    tensor = rl.from_numpy(array)
    yes, no = rl.tensor(True), rl.tensor(False)
    same(tensor.index([yes]), array[np.array(True)])
    same(tensor.index([no]), array[np.array(False)])


@given(st.data())
def test_index_select_and_add(data):
    array = data.draw(arrays(min_dims=1, min_side=1, dtypes=["float32", "int64", "int16"]))
    dim = data.draw(dims(array))
    index = data.draw(index_arrays(array.shape[dim], data.draw(st.integers(0, 5))))
    selected = array.take(index, dim)
    same(rl.from_numpy(array).index_select(dim, rl.from_numpy(index)), selected)

    expected = array.copy()
    np.add.at(np.moveaxis(expected, dim, 0), index, np.moveaxis(selected, dim, 0))
    result = rl.from_numpy(array).index_add(dim, rl.from_numpy(index), rl.from_numpy(selected))
    same(result, expected)


@given(st.data())
def test_gather_scatter_and_scatter_add(data):
    array = data.draw(arrays(min_dims=1, min_side=1, dtypes=["float64", "int32"]))
    dim = data.draw(dims(array)) % array.ndim
    shape = [data.draw(st.integers(0, size)) for size in array.shape]
    shape[dim] = data.draw(st.integers(0, 4))
    index = data.draw(index_arrays(array.shape[dim], tuple(shape)))
    place = list(np.indices(shape))
    place[dim] = index
    place = tuple(place)
    tensor, where = rl.from_numpy(array), rl.from_numpy(index)
    same(tensor.gather(dim, where), array[place])

    source = (np.arange(index.size) + 1).reshape(shape).astype(array.dtype)
    expected = array.copy()
    np.add.at(expected, place, source)
    same(tensor.scatter_add(dim, where, rl.from_numpy(source)), expected)

    expected = array.copy()
    for position in np.ndindex(*shape):  # in order: the last one stays
        expected[tuple(axis[position] for axis in place)] = source[position]
    same(tensor.scatter(dim, where, rl.from_numpy(source)), expected)

    expected = array.copy()
    expected[place] = 3
    same(tensor.scatter(dim, where, 3), expected)


@given(st.data())
def test_take(data):
    array = data.draw(arrays(min_side=1))
    index = data.draw(index_arrays(array.size, data.draw(st.sampled_from([(), (3,), (2, 0)]))))
    same(rl.from_numpy(array).take(rl.from_numpy(index)), np.asarray(array.take(index)))


@given(st.data())
def test_masks(data):
    array = data.draw(arrays())
    mask = data.draw(hnp.arrays(bool, array.shape))
    tensor, where = rl.from_numpy(array), rl.from_numpy(mask)
    same(tensor.masked_select(where), array[mask])
    same(tensor.masked_fill(where, 5), np.where(mask, np.array(5, array.dtype), array))
    same(tensor[where], array[mask])
    same(tensor.nonzero(), np.argwhere(array))
    expected = np.where(mask, np.array(4, array.dtype), array)
    target = array.copy()
    rl.from_numpy(target).masked_fill_(where, 4)
    np.testing.assert_array_equal(target, expected)


def test_masks_broadcast():
    x = rl.tensor([[1.0, 2.0], [3.0, 4.0]])
    mask = rl.tensor([True, False])
    assert x.masked_fill(mask, 0).tolist() == [[0.0, 2.0], [0.0, 4.0]]
    assert x.masked_select(mask).tolist() == [1.0, 3.0]
    assert x.masked_fill(mask, rl.tensor(7)).tolist() == [[7.0, 2.0], [7.0, 4.0]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x, i: x.index([i + 9]),
            IndexError,
            "index 9 is out of range for dimension 0 with size 2",
        ),
        (
            lambda x, i: x.index([None, i - 4]),
            IndexError,
            "index -4 is out of range for dimension 1",
        ),
        (lambda x, i: x.index([i, i, i]), IndexError, "too many indices"),
        (lambda x, i: x.index([None, None, None]), IndexError, "too many indices"),
        (lambda x, i: x.index([None]), IndexError, "at least one index"),
        (lambda x, i: x.index([rl.zeros(2)]), TypeError, "must hold integers, not float32"),
        (lambda x, i: x.index([rl.zeros(3, dtype=rl.bool_)]), IndexError, r"mask of shape \(3,\)"),
        (
            lambda x, i: x.index([rl.zeros(2, dtype=rl.int64), rl.zeros(3, dtype=rl.int64)]),
            IndexError,
            "broadcast",
        ),
        (lambda x, i: x.index_put([i], rl.zeros(5)), ValueError, "expand"),
        (
            lambda x, i: x.index_select(0, i + 2),
            IndexError,
            "index 2 is out of range for dimension 0",
        ),
        (lambda x, i: x.index_select(0, rl.zeros(1, 1, dtype=rl.int64)), ValueError, "1 dimension"),
        (lambda x, i: x.index_add(0, i, rl.zeros(2, 3)), ValueError, r"must be \(1, 3\)"),
        (lambda x, i: x.gather(0, i), ValueError, "must fit"),
        (
            lambda x, i: x.gather(1, rl.full((2, 1), 3)),
            IndexError,
            "index 3 is out of range for dimension 1",
        ),
        (
            lambda x, i: x.scatter(0, rl.zeros(1, 2, dtype=rl.int64), rl.zeros(1, 1)),
            ValueError,
            "too small",
        ),
        (lambda x, i: x.take(i - 7), IndexError, "index -7"),
        (lambda x, i: x.masked_fill(rl.zeros(2, 3), 1), TypeError, "bool"),
        (lambda x, i: x.masked_select(rl.zeros(2, 3)), TypeError, "bool"),
        (
            lambda x, i: x.masked_fill(rl.ones(3, dtype=rl.bool_), rl.zeros(3)),
            ValueError,
            "one element",
        ),
    ],
)
def test_mistakes_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call(rl.zeros(2, 3), rl.zeros(1, dtype=rl.int64))


def test_writing_into_an_expanded_tensor_is_refused():
    with pytest.raises(ValueError, match="expanded"):
        rl.zeros(1).expand(3).index_put_([rl.tensor([0])], rl.tensor(1.0))


def test_results_go_into_tensors_of_any_layout():
    x = np.arange(12.0).reshape(3, 4)
    out = np.zeros((4, 3))
    tensor, into = rl.from_numpy(x), rl.from_numpy(out).t()
    rl.index_select(tensor, 0, rl.tensor([2, 0, 1]), out=into)
    np.testing.assert_array_equal(out.T, x[[2, 0, 1]])
    rl.masked_fill(tensor, tensor > 5, 0, out=into)
    np.testing.assert_array_equal(out.T, np.where(x > 5, 0, x))
    rl.tril(tensor, out=into)
    np.testing.assert_array_equal(out.T, np.tril(x))
    rl.sort(tensor, 0, True, out=(into, rl.zeros(3, 4, dtype=rl.int64)))
    np.testing.assert_array_equal(out.T, np.sort(x, 0)[::-1])
    tensor.masked_fill_(tensor > 5, -1)
    assert x.max() == 5


INDEX = rl.tensor([2, 0, -1, 0])
MATRIX_INDEX = rl.tensor([[0, 2, 1], [1, 0, 2]])
MASK = rl.tensor([[True, False, True, False], [False, True, True, False], [False] * 4])

CASES = {
    "index": lambda x, y: x.index([INDEX, INDEX]) * y[0, 0],
    "index beside a slice": lambda x, y: x.index([None, INDEX]) * y[0, 0],
    "index by a mask": lambda x, y: x.index([MASK]) * y[0, 0],
    "index_put": lambda x, y: x.index_put([rl.tensor([2, 0])], y),
    "index_put, broadcast": lambda x, y: x.index_put([rl.tensor([2, 0])], y[:1]),
    "index_put, accumulating": lambda x, y: x.index_put([rl.tensor([2, 2])], y, True),
    "index_put_": lambda x, y: x.clone().index_put_([None, rl.tensor([1, 0])], y[0, :2]),
    "index_select": lambda x, y: x.index_select(0, INDEX) * y[0],
    "index_select of a column": lambda x, y: x.index_select(1, rl.tensor(3)) * y[0, 0],
    "index_add": lambda x, y: x.index_add(0, rl.tensor([2, 2]), y),
    "gather": lambda x, y: x.gather(1, MATRIX_INDEX) * y[:, :3],
    "scatter": lambda x, y: x.scatter(0, rl.tensor([[0, 2, 1, 1]]), y),
    "scatter of a number": lambda x, y: x.scatter(1, MATRIX_INDEX, 2.0) * y[0],
    "scatter_add": lambda x, y: x.scatter_add(1, MATRIX_INDEX, y),
    "take": lambda x, y: x.take(MATRIX_INDEX) * y[:, 1:],
    "masked_fill": lambda x, y: x.masked_fill(MASK, y[0, 0]),
    "masked_fill, broadcast": lambda x, y: y[:1].masked_fill(MASK, 3.0) * x,
    "masked_select": lambda x, y: x.masked_select(MASK) * y[0, 1],
    "masked_select, broadcast": lambda x, y: y[:1].masked_select(MASK) * x[0, 1],
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    x = rl.tensor(np.arange(12.0).reshape(3, 4) / 7, requires_grad=True)
    y = rl.tensor(np.arange(8.0).reshape(2, 4) / 5 - 1, requires_grad=True)
    assert rl.autograd.gradcheck(CASES[name], (x, y))
    assert rl.autograd.gradgradcheck(CASES[name], (x, y))
