"""cat, stack, split, chunk, unbind, repeat and roll, against NumPy."""

import numpy as np
import pytest
from arrays import arrays, dims, relaid
from hypothesis import given
from hypothesis import strategies as st

import relume as rl


def same(tensor, array):
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_array_equal(tensor.numpy(), array)


@given(st.data())
def test_cat(data):
    first = data.draw(arrays(min_dims=1))
    dim = data.draw(dims(first))
    pieces = [first]
    for size in data.draw(st.lists(st.integers(0, 4), max_size=3)):
        shape = list(first.shape)
        shape[dim] = size
        piece = np.resize(np.arange(7).astype(first.dtype), shape)
        pieces.append(data.draw(relaid(piece)))
    joined = rl.cat([rl.from_numpy(piece) for piece in pieces], dim)
    same(joined, np.concatenate(pieces, dim))


@given(st.data())
def test_stack(data):
    first = data.draw(arrays(max_dims=3))
    dim = data.draw(dims(first, extra=1))
    pieces = [first, data.draw(relaid(first)), first]
    same(rl.stack([rl.from_numpy(piece) for piece in pieces], dim), np.stack(pieces, dim))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape, dim", [((700, 300), 0), ((700, 300), 1), ((2, 210_000), 1)])
def test_joining_large_tensors(shape, dim, dtype, threads):
    """Large enough to be split over threads, and into blocks of rows."""
    before = rl.get_num_threads()
    rl.set_num_threads(threads)
    try:
        whole = (np.arange(np.prod(shape)) % 251).astype(dtype).reshape(shape)
        pieces = [
            whole,
            whole[:, 1:] if dim == 1 else whole[1:],
            whole[:, :0] if dim == 1 else whole[:0],
        ]
        pieces = [np.ascontiguousarray(piece) for piece in pieces]
        same(rl.cat([rl.from_numpy(piece) for piece in pieces], dim), np.concatenate(pieces, dim))
        equals = [whole, whole[::-1].copy(), whole[:, ::-1].copy()]
        for new_dim in (0, dim, 2):
            same(rl.stack([rl.from_numpy(a) for a in equals], new_dim), np.stack(equals, new_dim))
    finally:
        rl.set_num_threads(before)


def test_joining_many_narrow_tensors():
    columns = np.random.default_rng(0).random((3000, 400), "float32")
    pieces = [rl.from_numpy(np.ascontiguousarray(columns[:, i])) for i in range(400)]
    same(rl.stack(pieces, 1), columns)
    same(rl.cat([piece.reshape(-1, 1) for piece in pieces], 1), columns)


def test_joining_promotes_types():
    assert rl.cat([rl.tensor([1]), rl.tensor([1.5])]).dtype is rl.float32
    assert (
        rl.stack([rl.tensor([1], dtype=rl.uint8), rl.tensor([1], dtype=rl.int8)]).dtype is rl.int16
    )


def test_an_empty_vector_joins_with_anything():
    x = rl.ones(2, 3)
    assert tuple(rl.cat([rl.zeros(0), x, x], 1).shape) == (2, 6)


def test_cat_into_a_given_tensor():
    out = rl.zeros(4)
    part = out[1:3]
    rl.cat([rl.tensor([1.0]), rl.tensor([2.0])], out=part)
    assert out.tolist() == [0.0, 1.0, 2.0, 0.0]
    x = rl.tensor([1.0, 2.0, 3.0, 4.0])
    rl.cat([x[2:], x[:2]], out=x)  # reads what it writes
    assert x.tolist() == [3.0, 4.0, 1.0, 2.0]


@given(st.data())
def test_split_chunk_and_unbind(data):
    array = data.draw(arrays(min_dims=1))
    dim = data.draw(dims(array))
    tensor = rl.from_numpy(array)
    size = array.shape[dim]

    step = data.draw(st.integers(1, 6))
    pieces = tensor.split(step, dim)
    expected = np.split(array, range(step, max(size, 1), step), dim)
    assert len(pieces) == len(expected)
    for piece, wanted in zip(pieces, expected, strict=True):
        same(piece, wanted)

    cut = data.draw(st.integers(0, size))
    for piece, wanted in zip(
        tensor.split([cut, size - cut], dim), np.split(array, [cut], dim), strict=True
    ):
        same(piece, wanted)

    chunks = tensor.chunk(3, dim)
    assert len(chunks) <= 3
    same(rl.cat(chunks, dim), array)
    assert len({chunk.shape[dim] for chunk in chunks[:-1]}) <= 1

    slices = tensor.unbind(dim)
    assert len(slices) == size
    for i, piece in enumerate(slices):
        same(piece, array.take(i, dim))


def test_pieces_are_views():
    x = rl.zeros(4)
    x.split(2)[1].fill_(1)
    x.chunk(4)[0].fill_(2)
    x.unbind()[1].fill_(3)
    assert x.tolist() == [2.0, 3.0, 1.0, 1.0]


@given(st.data())
def test_repeat_is_numpys_tile(data):
    array = data.draw(arrays(max_dims=3, max_side=3))
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=array.ndim, max_size=array.ndim + 1))
    same(rl.from_numpy(array).repeat(repeats), np.tile(array, repeats))


@given(st.data())
def test_roll(data):
    array = data.draw(arrays())
    tensor = rl.from_numpy(array)
    shift = data.draw(st.integers(-7, 7))
    same(tensor.roll(shift), np.roll(array, shift))
    if array.ndim:
        chosen = data.draw(st.lists(st.integers(0, array.ndim - 1), min_size=1, unique=True))
        shifts = [shift + i for i in range(len(chosen))]
        same(tensor.roll(shifts, chosen), np.roll(array, shifts, chosen))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: rl.cat([]), ValueError, "at least one tensor"),
        (lambda x: rl.stack([]), ValueError, "at least one tensor"),
        (lambda x: rl.cat([x, rl.zeros(3, 3)], 1), ValueError, r"tensor 1 has shape \(3, 3\)"),
        (lambda x: rl.cat([x[0, 0], x[0, 0]]), ValueError, "use stack"),
        (lambda x: rl.stack([x, x[0]]), ValueError, "tensor 1 has shape"),
        (lambda x: x.split(0), ValueError, "at least"),
        (lambda x: x.split([1, 2]), ValueError, "add up to 3"),
        (lambda x: x.split([-1, 3]), ValueError, "-1"),
        (lambda x: x.chunk(0), ValueError, "at least 1"),
        (lambda x: x[0, 0].unbind(), ValueError, "0-d"),
        (lambda x: x.repeat(2), ValueError, "1 repeats for a tensor of 2"),
        (lambda x: x.repeat(2, -1), ValueError, "negative"),
        (lambda x: x.roll([1, 2], [0]), ValueError, "2 shifts, but 1 dims"),
    ],
)
def test_mistakes_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call(rl.zeros(2, 3))


CASES = {
    "cat": lambda x, y: rl.cat([x, y, x * 2], 1),
    "cat with nothing": lambda x, y: rl.cat([rl.zeros(0, dtype=rl.float64), y, x], -1),
    "stack": lambda x, y: rl.stack([x, y[:, :3]], 2),
    "split": lambda x, y: rl.cat(y.split([1, 3], 1)[::-1], 1) * x[0, 0],
    "split, one piece unused": lambda x, y: y.split(3, 1)[0] * x,
    "chunk": lambda x, y: y.chunk(2, 1)[1] * x[:, :2],
    "unbind": lambda x, y: x.unbind(-1)[1] * y.unbind(1)[3],
    "repeat": lambda x, y: x.repeat(2, 1, 3) * y[0, 0],
    "roll": lambda x, y: x.roll([1, -1], [0, 1]) + y.roll(3)[:, :3],
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    x = rl.tensor(np.arange(6.0).reshape(2, 3) / 7, requires_grad=True)
    y = rl.tensor(np.arange(8.0).reshape(2, 4) / 5 - 1, requires_grad=True)
    assert rl.autograd.gradcheck(CASES[name], (x, y))
    assert rl.autograd.gradgradcheck(CASES[name], (x, y))
