"""copy_, fill_, clone, contiguous and casts, against NumPy."""

import numpy as np
import pytest
from arrays import DTYPES, arrays, relaid
from hypothesis import given
from hypothesis import strategies as st

import relume as rl


def equal(tensor, array):
    result = tensor.numpy()
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


@given(arrays())
def test_clone_is_a_row_major_copy(array):
    source = rl.from_numpy(array)
    copy = source.clone()
    equal(copy, array)
    assert copy.is_contiguous()
    if array.size:
        copy.fill_(1)
        assert copy.data_ptr() != source.data_ptr()


@given(arrays(), st.sampled_from(DTYPES))
def test_casts_agree_with_numpy(array, dtype):
    if array.dtype.kind == "i" and dtype == "uint8" and (array < 0).any():
        array = np.abs(array)
    target = getattr(rl, dtype if dtype != "bool" else "bool_")
    equal(rl.from_numpy(array).to_dtype(target), array.astype(dtype))


@given(st.data())
def test_copy_into_any_layout_broadcasts_and_converts(data):
    target = data.draw(arrays())
    source_shape = tuple(data.draw(st.sampled_from([1, size])) for size in target.shape)
    source = data.draw(arrays(min_dims=1, max_dims=1, min_side=1, max_side=1, layouts=False))
    values = np.resize(np.arange(5).astype(source.dtype), source_shape)
    values = data.draw(relaid(values))
    tensor = rl.from_numpy(target)
    assert tensor.copy_(rl.from_numpy(values)) is tensor
    expected = np.broadcast_to(values, target.shape).astype(target.dtype)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(70, 90), (33, 200), (5, 64, 64), (300, 3), (3, 300), (17, 5, 40)]
)
def test_large_transposed_copies(dtype, shape):
    array = (np.arange(np.prod(shape)) % 101).astype(dtype).reshape(shape)
    for order in ([*range(len(shape))][::-1], [len(shape) - 1, *range(len(shape) - 1)]):
        view = array.transpose(order)
        equal(rl.from_numpy(view).contiguous(), np.ascontiguousarray(view))
        equal(rl.from_numpy(view).to_dtype(rl.float64), view.astype("float64"))


@given(arrays())
def test_fill_and_zero(array):
    tensor = rl.from_numpy(array)
    assert tensor.fill_(3) is tensor
    np.testing.assert_array_equal(array, np.full_like(array, 3))
    tensor.zero_()
    np.testing.assert_array_equal(array, np.zeros_like(array))


def test_fill_leaves_the_rest_of_the_storage_alone():
    array = np.zeros((4, 6), "float32")
    rl.from_numpy(array)[1:3, ::2].fill_(5)
    expected = np.zeros((4, 6), "float32")
    expected[1:3, ::2] = 5
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("shift", [1, 3, -2])
def test_copy_between_overlapping_parts(shift):
    array = np.arange(10.0)
    expected = array.copy()
    tensor = rl.from_numpy(array)
    if shift > 0:
        expected[shift:] = expected[:-shift].copy()
        tensor[shift:].copy_(tensor[:-shift])
    else:
        expected[:shift] = expected[-shift:].copy()
        tensor[:shift].copy_(tensor[-shift:])
    np.testing.assert_array_equal(array, expected)


def test_copy_between_arrays_that_overlap():
    array = np.arange(6.0)
    rl.from_numpy(array[1:]).copy_(rl.from_numpy(array[:-1]))
    np.testing.assert_array_equal(array, [0, 0, 1, 2, 3, 4])


def test_copy_of_a_transposed_self():
    array = np.arange(9.0).reshape(3, 3)
    expected = array.T.copy()
    tensor = rl.from_numpy(array)
    tensor.copy_(tensor.t())
    np.testing.assert_array_equal(array, expected)


def test_floats_become_integers_by_truncation():
    values = rl.tensor([1.9, -1.9, 0.5, -0.5, 255.0, -1.0], dtype=rl.float64)
    assert values.to_dtype(rl.int32).tolist() == [1, -1, 0, 0, 255, -1]
    # As C converts on x86, and as Torch7 did: wrapped into the type.
    assert values.to_dtype(rl.uint8).tolist() == [1, 255, 0, 0, 255, 255]


@pytest.mark.parametrize("dtype", [rl.float32, rl.float64, rl.float16, rl.bfloat16])
def test_casts_of_values_without_an_integer_are_defined(dtype):
    values = rl.tensor([float("nan"), float("inf"), float("-inf")], dtype=rl.float64).to_dtype(
        dtype
    )
    assert values.to_dtype(rl.int64).tolist() == [-(2**63)] * 3
    assert values.to_dtype(rl.int32).tolist() == [-(2**31)] * 3
    assert values.to_dtype(rl.uint8).tolist() == [0] * 3
    assert values.to_dtype(rl.bool_).tolist() == [True] * 3


@given(st.lists(st.floats(width=64), min_size=1, max_size=50))
def test_double_to_half_rounds_once(values):
    array = np.array(values)
    with np.errstate(all="ignore"):
        expected = array.astype("float16")
    equal(rl.from_numpy(array).to_dtype(rl.float16), expected)


@pytest.mark.parametrize("count", [7, 8, 100_003])
def test_rows_of_floats_become_the_same_halves_as_single_floats(count):
    bits = np.random.default_rng(count).integers(0, 2**32, count, dtype="uint32")
    bits[: 7 if count == 7 else 8] = np.resize(
        [0x7F800001, 0xFFC12345, 0x7F800000, 0xFF7FFFFF, 0x33000001], 8
    )[:count]
    array = bits.view("float32")
    halves = rl.from_numpy(array).to_dtype(rl.float16).numpy()
    with np.errstate(all="ignore"):
        expected = array.astype("float16")
    numbers = ~np.isnan(array)
    np.testing.assert_array_equal(halves.view("uint16")[numbers], expected.view("uint16")[numbers])
    # Of a NaN the sign is kept, and nothing else.
    nans = halves.view("uint16")[~numbers]
    np.testing.assert_array_equal(nans, np.where(bits[~numbers] >> 31, 0xFE00, 0x7E00))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_rows_reversed_and_filled(dtype):
    array = (np.arange(3 * 5001) % 113).astype(dtype).reshape(3, 5001)
    equal(rl.from_numpy(array).flip([1]), array[:, ::-1])
    equal(rl.from_numpy(array).flip([0, 1]), array[::-1, ::-1])
    t = rl.from_numpy(array.copy())
    t[:, 1:].fill_(3)
    expected = array.copy()
    expected[:, 1:] = 3
    equal(t, expected)


@given(st.integers(0, 2**16 - 1))
def test_every_half_survives_the_way_through_float(bits):
    half = np.array([bits], "uint16").view("float16")
    if np.isnan(half[0]):
        return
    equal(rl.from_numpy(half).to_dtype(rl.float32), half.astype("float32"))
    equal(rl.from_numpy(half).to_dtype(rl.float32).to_dtype(rl.float16), half)


def test_contiguous_and_same_type_cost_nothing():
    tensor = rl.tensor([1.0, 2.0])
    assert tensor.contiguous() is tensor or tensor.contiguous().data_ptr() == tensor.data_ptr()
    assert tensor.to_dtype(rl.float32).data_ptr() == tensor.data_ptr()


def test_copy_into_an_expanded_tensor_is_refused():
    with pytest.raises(ValueError, match="expanded"):
        rl.zeros(1).expand(3).copy_(rl.tensor([1.0, 2.0, 3.0]))


def test_copy_of_a_shape_that_does_not_broadcast():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        rl.zeros(3).copy_(rl.zeros(2))


def test_gradients():
    x = rl.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    y = rl.tensor(np.arange(3.0), requires_grad=True)

    def through_copies(x, y):
        target = x.clone()
        target[0].copy_(y)
        target[1, 1:].fill_(4)
        return target.t().contiguous()

    assert rl.autograd.gradcheck(through_copies, (x, y))


def test_a_leaf_that_is_contiguous_already_stays_a_leaf():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    x.contiguous().to_dtype(rl.float32)
    assert x.is_leaf


def test_gradient_of_a_cast_has_the_type_of_the_input():
    x = rl.tensor([1.0, 2.0], dtype=rl.float32, requires_grad=True)
    y = x.to_dtype(rl.float64)
    y.backward(rl.tensor([1.0, 3.0], dtype=rl.float64))
    assert x.grad.dtype is rl.float32
    assert x.grad.tolist() == [1.0, 3.0]
