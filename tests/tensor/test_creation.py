"""New tensors, against NumPy."""

import numpy as np
import pytest
from arrays import DTYPES, arrays
from hypothesis import given
from hypothesis import strategies as st

import relume as rl


def equal(tensor, array):
    result = tensor.numpy()
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


def rl_dtype(name):
    return getattr(rl, "bool_" if name == "bool" else name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_constants(dtype, shape):
    kind = rl_dtype(dtype)
    equal(rl.zeros(shape, dtype=kind), np.zeros(shape, dtype))
    equal(rl.ones(shape, dtype=kind), np.ones(shape, dtype))
    equal(rl.full(shape, 7, dtype=kind), np.full(shape, 7, dtype))
    assert tuple(rl.empty(shape, dtype=kind).shape) == shape
    assert rl.empty(shape, dtype=kind).dtype is kind


def test_types_without_a_dtype():
    assert rl.zeros(2).dtype is rl.float32
    assert rl.full((2,), 1).dtype is rl.int64
    assert rl.full((2,), 1.0).dtype is rl.float32
    assert rl.full((2,), True).dtype is rl.bool_
    assert rl.arange(3).dtype is rl.int64
    assert rl.arange(3.0).dtype is rl.float32
    assert rl.linspace(0, 1, 3).dtype is rl.float32


@given(arrays())
def test_like(array):
    tensor = rl.from_numpy(array)
    equal(rl.zeros_like(tensor), np.zeros_like(array))
    equal(rl.ones_like(tensor), np.ones_like(array))
    equal(rl.full_like(tensor, 5), np.full_like(array, 5))
    assert rl.empty_like(tensor).shape == tensor.shape
    assert rl.zeros_like(tensor, dtype=rl.int8).dtype is rl.int8
    assert rl.zeros_like(tensor).is_contiguous()


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-5, 5).filter(bool))
def test_integer_ranges(start, end, step):
    equal(rl.arange(start, end, step), np.arange(start, end, step))


@given(
    st.floats(-10, 10, width=32),
    st.floats(-10, 10, width=32),
    st.sampled_from([0.25, 0.3, -0.5, -0.7, 3.0]),
)
def test_float_ranges(start, end, step):
    result = rl.arange(start, end, step, dtype=rl.float64)
    np.testing.assert_allclose(result.numpy(), np.arange(start, end, step), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_long_ranges_and_constants(dtype, threads):
    before = rl.get_num_threads()
    rl.set_num_threads(threads)
    try:
        type_of = getattr(rl, dtype)
        expected = np.arange(-5, 400_000 * 3 - 5, 3).astype(dtype)
        np.testing.assert_array_equal(rl.arange(-5, 400_000 * 3 - 5, 3, dtype=type_of), expected)
        expected = (0.25 * np.arange(400_001)).astype(dtype)
        np.testing.assert_array_equal(rl.arange(0, 100_000.25, 0.25, dtype=type_of), expected)
        np.testing.assert_array_equal(
            rl.full([300_001], 7, dtype=type_of), np.full(300_001, 7, dtype)
        )
        np.testing.assert_array_equal(
            rl.full([3, 70_001], 9, dtype=type_of)[:, 1:], np.full((3, 70_000), 9, dtype)
        )
    finally:
        rl.set_num_threads(before)


def test_ranges_at_the_ends_of_int64():
    top = 2**63 - 1
    assert rl.arange(top - 2, top).tolist() == [top - 2, top - 1]
    assert rl.arange(-(2**63), -(2**63) + 2).tolist() == [-(2**63), -(2**63) + 1]
    assert rl.arange(-(2**63), top, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]


@given(st.floats(-100, 100), st.floats(-100, 100), st.integers(0, 20))
def test_linspace(start, end, steps):
    result = rl.linspace(start, end, steps, dtype=rl.float64).numpy()
    np.testing.assert_allclose(result, np.linspace(start, end, steps), rtol=1e-12, atol=1e-12)
    if steps > 1:
        assert result[0] == start and result[-1] == end


@pytest.mark.parametrize("size", [(0,), (1,), (3,), (2, 4), (4, 2), (0, 3)])
def test_eye(size):
    equal(rl.eye(*size, dtype=rl.float64), np.eye(*size))


@given(arrays(min_dims=2), st.integers(-6, 6))
def test_triangles(array, diagonal):
    tensor = rl.from_numpy(array)
    equal(tensor.tril(diagonal), np.tril(array, diagonal))
    equal(tensor.triu(diagonal), np.triu(array, diagonal))


@pytest.mark.parametrize("op", [rl.tril, rl.triu])
def test_gradients_of_triangles(op):
    x = rl.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    assert rl.autograd.gradcheck(lambda x: op(x, 1), (x,))
    assert rl.autograd.gradgradcheck(lambda x: op(x, -1), (x,))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rl.zeros(-1), "negative"),
        (lambda: rl.zeros(2**40, 2**40), "too many elements"),
        (lambda: rl.zeros(2**40, 2**40, 0), "too many elements"),
        (lambda: rl.arange(0, 1, 0), "step"),
        (lambda: rl.arange(0.0, 1.0, 0.0), "step"),
        (lambda: rl.arange(0.0, float("inf"), 1.0), "cannot count"),
        (lambda: rl.arange(0.0, float("nan"), 1.0), "cannot count"),
        (lambda: rl.linspace(0, 1, -1), "negative"),
        (lambda: rl.eye(-1), "negative"),
        (lambda: rl.zeros(3).tril(), "at least 2 dimensions"),
    ],
)
def test_mistakes_are_explained(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_more_memory_than_there_is():
    with pytest.raises(MemoryError):
        rl.zeros(2**55)
    assert rl.ones(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("scalar", [np.float64(1.5), np.float32(1.5), np.int32(3), np.bool_(True)])
def test_numpy_scalars_keep_their_type(scalar):
    assert rl.tensor(scalar).numpy().dtype == scalar.dtype


@pytest.mark.parametrize("diagonal", [2**63 - 1, 2**63 - 3, -(2**63), 2**40])
def test_triangles_beyond_the_matrix(diagonal):
    everything, nothing = rl.ones(3, 3).tolist(), rl.zeros(3, 3).tolist()
    below, above = (everything, nothing) if diagonal > 0 else (nothing, everything)
    assert rl.tril(rl.ones(3, 3), diagonal).tolist() == below
    assert rl.triu(rl.ones(3, 3), diagonal).tolist() == above
