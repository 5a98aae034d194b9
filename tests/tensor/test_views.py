"""Views: their values, strides and sharing, against NumPy."""

import numpy as np
import pytest
from arrays import arrays, dims
from hypothesis import assume, given
from hypothesis import strategies as st

import relume as rl

bounds = st.none() | st.integers(-7, 7)
steps = st.integers(-3, 3).filter(bool)


def same(tensor, array, shares=None):
    """Equal to an array and, with `shares`, on its memory."""
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_array_equal(tensor.numpy(), array)
    if shares is not None and array.size:
        assert np.shares_memory(tensor.numpy(), shares)


@given(st.data())
def test_permute_transpose_and_t(data):
    array = data.draw(arrays())
    tensor = rl.from_numpy(array)
    order = data.draw(st.permutations(range(array.ndim)))
    same(tensor.permute(*order) if order else tensor.permute([]), array.transpose(order), array)
    if array.ndim:
        first, second = data.draw(dims(array)), data.draw(dims(array))
        same(tensor.transpose(first, second), array.swapaxes(first, second), array)
    if array.ndim <= 2:
        same(tensor.t(), array.T, array)


@given(st.data())
def test_slices_and_selections(data):
    array = data.draw(arrays(min_dims=1))
    tensor = rl.from_numpy(array)
    dim = data.draw(dims(array))
    start, stop, step = data.draw(bounds), data.draw(bounds), data.draw(steps)
    index = [slice(None)] * array.ndim
    index[dim] = slice(start, stop, step)
    same(tensor.slice(dim, start, stop, step), array[tuple(index)], array)
    same(tensor[tuple(index)], array[tuple(index)], array)
    size = array.shape[dim]
    if size:
        position = data.draw(st.integers(-size, size - 1))
        same(tensor.select(dim, position), array.take(position, dim), array)
    first = data.draw(st.integers(0, size))
    length = data.draw(st.integers(0, size - first))
    index[dim] = slice(first, first + length)
    same(tensor.narrow(dim, first, length), array[tuple(index)], array)


@given(st.data())
def test_reshape_is_a_view_where_numpy_makes_one(data):
    array = data.draw(arrays())
    shape = data.draw(st.permutations((*array.shape, 1)))
    shape = [-1, *shape[1:]] if array.size and data.draw(st.booleans()) else shape
    expected = array.reshape(shape)
    tensor = rl.from_numpy(array)
    same(tensor.reshape(*shape), expected)
    if array.size:
        is_view = np.shares_memory(expected, array)
        assert np.shares_memory(tensor.reshape(*shape).numpy(), array) == is_view
        if is_view:
            same(tensor.view(*shape), expected, array)
        else:
            with pytest.raises(ValueError, match="reshape"):
                tensor.view(*shape)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 2), (1, 6, 1), (2, -1)])
def test_reshape_of_a_transposed_matrix_copies(shape):
    array = np.arange(6.0).reshape(2, 3).T
    same(rl.from_numpy(array).reshape(*shape), array.reshape(shape))


@given(st.data())
def test_squeeze_unsqueeze_and_flatten(data):
    array = data.draw(arrays(max_side=2))
    tensor = rl.from_numpy(array)
    same(tensor.squeeze(), array.squeeze(), array)
    position = data.draw(dims(array, extra=1))
    same(tensor.unsqueeze(position), np.expand_dims(array, position), array)
    if array.ndim:
        dim = data.draw(dims(array))
        expected = array.squeeze(dim) if array.shape[dim] == 1 else array
        same(tensor.squeeze(dim), expected, array)
        first = data.draw(st.integers(0, array.ndim - 1))
        last = data.draw(st.integers(first, array.ndim - 1))
        middle = int(np.prod(array.shape[first : last + 1]))
        shape = (*array.shape[:first], middle, *array.shape[last + 1 :])
        same(tensor.flatten(first, last), array.reshape(shape))
    else:
        same(tensor.flatten(), array.reshape(1), array)


@given(st.data())
def test_expand(data):
    array = data.draw(arrays())
    shape = tuple(3 if size == 1 else size for size in array.shape)
    shape = (2, *shape) if data.draw(st.booleans()) else shape
    same(
        rl.from_numpy(array).expand(*shape) if shape else rl.from_numpy(array).expand([]),
        np.broadcast_to(array, shape),
        array,
    )


@given(st.data())
def test_diagonal(data):
    array = data.draw(arrays(min_dims=2))
    first, second = data.draw(dims(array)), data.draw(dims(array))
    assume(first % array.ndim != second % array.ndim)
    offset = data.draw(st.integers(-6, 6))
    expected = np.diagonal(array, offset, first, second)
    same(rl.from_numpy(array).diagonal(offset, first, second), expected, array)


@given(st.data())
def test_unfold(data):
    array = data.draw(arrays(min_dims=1, min_side=1))
    dim = data.draw(dims(array))
    size, step = data.draw(st.integers(1, array.shape[dim])), data.draw(st.integers(1, 3))
    windows = np.lib.stride_tricks.sliding_window_view(array, size, dim % array.ndim)
    index = [slice(None)] * windows.ndim
    index[dim % array.ndim] = slice(None, None, step)
    same(rl.from_numpy(array).unfold(dim, size, step), windows[tuple(index)], array)


@given(st.data())
def test_flip_copies(data):
    array = data.draw(arrays())
    chosen = data.draw(st.lists(st.integers(0, array.ndim - 1), unique=True)) if array.ndim else []
    flipped = rl.from_numpy(array).flip(chosen)
    same(flipped, np.flip(array, chosen))
    assert not array.size or not np.shares_memory(flipped.numpy(), array)


def test_as_strided():
    array = np.arange(12.0)
    tensor = rl.from_numpy(array)
    windows = tensor.as_strided((3, 4), (2, 1), 1)
    same(windows, np.lib.stride_tricks.as_strided(array[1:], (3, 4), (16, 8)), array)
    # Without an offset: the tensor's own.
    assert tensor[2:].as_strided((2,), (3,)).tolist() == [2.0, 5.0]
    with pytest.raises(ValueError, match="outside of its storage"):
        tensor.as_strided((13,), (1,))
    with pytest.raises(ValueError, match="outside of its storage"):
        tensor.as_strided((2,), (-1,), 0)


def test_writing_through_a_view():
    array = np.zeros((3, 4))
    tensor = rl.from_numpy(array)
    tensor.t()[1].fill_(5)
    tensor[2, ::-1].copy_(rl.tensor([1.0, 2.0, 3.0, 4.0]))
    expected = np.zeros((3, 4))
    expected[:, 1] = 5
    expected[2] = [4, 3, 2, 1]
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.view(4, 4), ValueError, "cannot reshape 6 elements to"),
        (lambda x: x.reshape(-1, -1), ValueError, "only one size can be -1"),
        (lambda x: x.reshape(4, -1), ValueError, "cannot reshape 6 elements"),
        (lambda x: x.reshape(-2, 3), ValueError, "negative"),
        (lambda x: x.reshape(2**40, 2**40, -1), ValueError, "too many elements"),
        (lambda x: x[:0].reshape(0, -1), ValueError, "cannot infer"),
        (
            lambda x: x.select(0, 2),
            IndexError,
            "index 2 is out of range for dimension 0",
        ),
        (lambda x: x.select(1, -4), IndexError, "index -4 is out of range for dimension 1"),
        (lambda x: x.select(2, 0), IndexError, "2"),
        (lambda x: x.narrow(1, 2, 2), IndexError, "2 elements from 2"),
        (lambda x: x.narrow(1, 0, -1), IndexError, "-1 elements"),
        (lambda x: x.slice(0, 0, 1, 0), ValueError, "step of 0"),
        (lambda x: x.expand(3, 3), ValueError, r"\(2, 3\) to \(3, 3\)"),
        (lambda x: x[:1, :1].expand(2**40, 2**40), ValueError, "too many elements"),
        (lambda x: x.permute(0, 0), ValueError, "twice"),
        (lambda x: x.permute(0), ValueError, "1 dimensions were given"),
        (lambda x: x.unfold(1, 4, 1), ValueError, "between 0 and 3"),
        (lambda x: x.unfold(1, 1, 0), ValueError, "step of at least 1"),
        (lambda x: x.diagonal(0, 1, 1), ValueError, "two different dimensions"),
        (lambda x: x.unsqueeze(0).t(), ValueError, "at most 2 dimensions"),
        (lambda x: x.flatten(1, 0), ValueError, "after"),
        (lambda x: x[0, 0].select(0, 0), IndexError, "0-d"),
        (lambda x: x[0, 0].slice(0, 0, 1), IndexError, "0-d"),
    ],
)
def test_mistakes_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call(rl.zeros(2, 3))


def test_views_of_nothing_with_odd_strides():
    array = np.zeros((4, 0, 3), "float32")[::-1, :, ::-2]
    tensor = rl.from_numpy(array)
    assert tuple(tensor[-1].shape) == (0, 2)
    assert tuple(tensor[1:3, :, 1].t().shape) == (0, 2)
    assert tuple(tensor.select(0, 3).flip([0]).shape) == (0, 2)


CASES = {
    "reshape": lambda x: x.reshape(4, 3),
    "reshape copy": lambda x: x.t().reshape(2, 6),
    "view": lambda x: x.view(2, -1),
    "flatten": lambda x: x.flatten(),
    "expand": lambda x: x.unsqueeze(0).expand(2, 3, 4),
    "permute": lambda x: x.unsqueeze(2).permute(1, 2, 0),
    "transpose": lambda x: x.transpose(-1, 0),
    "t": lambda x: x.t(),
    "t of a vector": lambda x: x[0].t(),
    "narrow": lambda x: x.narrow(1, -3, 2),
    "select": lambda x: x.select(-1, -2),
    "slice": lambda x: x.slice(1, None, None, -2),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "unfold": lambda x: x.unfold(1, 3, 1),
    "as_strided": lambda x: x.as_strided((2, 3), (3, 2), 1),
    "as_strided of a part": lambda x: x[1:].as_strided((2, 2), (1, 1)),
    "diagonal": lambda x: x.diagonal(1),
    "flip": lambda x: x.flip([0, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    x = rl.tensor(np.arange(12.0).reshape(3, 4) / 7, requires_grad=True)
    assert rl.autograd.gradcheck(CASES[name], (x,))
    assert rl.autograd.gradgradcheck(lambda x: CASES[name](x.clone()), (x,))


def test_gradients_through_changes_of_views():
    x = rl.tensor(np.arange(12.0).reshape(3, 4) / 7, requires_grad=True)
    y = rl.tensor(np.arange(3.0), requires_grad=True)

    def change(x, y):
        whole = x.clone()
        column = whole.t()[1]
        column.copy_(y)
        whole[0, ::2].zero_()
        return whole

    assert rl.autograd.gradcheck(change, (x, y))
