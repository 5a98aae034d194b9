"""Reductions against NumPy: any dimensions, any layout, exact sums, ties and NaN."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relume as rl

TYPES = ["bool", "uint8", "int16", "int64", "float32", "float64"]
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "amax": np.amax,
    "amin": np.amin,
    "any": np.any,
    "all": np.all,
}


@st.composite
def arrays_and_dims(draw, dtype, min_side=1):
    """An array of any layout, and dimensions to reduce (None: all)."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=min_side, max_side=6))
    elements = {"bool": st.booleans(), "uint8": st.integers(0, 4)}.get(dtype, st.integers(-4, 4))
    array = draw(hnp.arrays(dtype, shape, elements=elements))
    if draw(st.booleans()):
        array = array.transpose(draw(st.permutations(range(len(shape)))))
    if shape and draw(st.booleans()):
        array = array[..., ::-1]
    dims = draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape)))
    if dims is not None:
        negative = draw(st.booleans())
        dims = tuple(d - len(shape) if negative else d for d in sorted(dims))
    return array, dims


@settings(max_examples=120, deadline=None)
@given(
    data=st.data(),
    name=st.sampled_from(sorted(REDUCTIONS)),
    dtype=st.sampled_from(TYPES),
    keepdim=st.booleans(),
)
def test_reductions_along_any_dimensions(data, name, dtype, keepdim):
    array, dims = data.draw(arrays_and_dims(dtype))
    if name == "prod" and array.dtype.kind == "f":
        array = np.asarray(np.sign(array))  # a long product may overflow before it meets a zero
    expected = REDUCTIONS[name](array, axis=dims, keepdims=keepdim)
    got = getattr(rl, name)(rl.from_numpy(array), dims, keepdim)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dtype=st.sampled_from(TYPES), keepdim=st.booleans())
def test_positions_of_extremes(data, dtype, keepdim):
    array, _ = data.draw(arrays_and_dims(dtype))
    tensor = rl.from_numpy(array)
    assert rl.argmax(tensor).item() == np.argmax(array)
    assert rl.argmin(tensor).item() == np.argmin(array)
    for dim in range(array.ndim):
        expected = np.argmax(array, dim, keepdims=keepdim)
        np.testing.assert_array_equal(rl.argmax(tensor, dim, keepdim).numpy(), expected)
        values, indices = rl.max_with_indices(tensor, dim, keepdim)
        np.testing.assert_array_equal(indices.numpy(), expected)
        np.testing.assert_array_equal(values.numpy(), np.amax(array, dim, keepdims=keepdim))
        values, indices = rl.min_with_indices(tensor, dim, keepdim)
        np.testing.assert_array_equal(indices.numpy(), np.argmin(array, dim, keepdims=keepdim))
        np.testing.assert_array_equal(values.numpy(), np.amin(array, dim, keepdims=keepdim))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dtype=st.sampled_from(["float32", "float64"]), keepdim=st.booleans())
def test_spread_and_norms(data, dtype, keepdim):
    array, dims = data.draw(arrays_and_dims(dtype))
    tensor = rl.from_numpy(array)
    axes = tuple(range(array.ndim)) if dims is None else dims
    close = {"rtol": 1e-5, "atol": 1e-6}
    kwargs = {"axis": axes, "keepdims": keepdim}
    got = rl.var(tensor, dims, correction=0, keepdim=keepdim).numpy()
    np.testing.assert_allclose(got, np.var(array, **kwargs), **close)
    got = rl.std(tensor, dims, correction=0, keepdim=keepdim).numpy()
    np.testing.assert_allclose(got, np.std(array, **kwargs), **close)
    size = np.abs(array)
    for p, expected in [
        (2, np.sqrt(np.sum(size**2, **kwargs))),
        (1, np.sum(size, **kwargs)),
        (3, np.sum(size**3, **kwargs) ** (1 / 3)),
        (0, np.sum(size != 0, **kwargs)),
        (math.inf, np.amax(size, **kwargs)),
        (-math.inf, np.amin(size, **kwargs)),
    ]:
        np.testing.assert_allclose(rl.norm(tensor, p, dims, keepdim).numpy(), expected, **close)
    got = rl.logsumexp(tensor, list(axes), keepdim).numpy()
    np.testing.assert_allclose(got, np.log(np.sum(np.exp(array), **kwargs)), **close)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_running_sums(data, dtype):
    array, _ = data.draw(arrays_and_dims(dtype, min_side=0))
    for dim in range(array.ndim):
        got = rl.cumsum(rl.from_numpy(array), dim).numpy()
        np.testing.assert_array_equal(got, np.cumsum(array, dim))


def test_variance_far_from_zero_is_exact():
    x = 1e8 + np.arange(5, dtype="float64")
    assert rl.var(rl.from_numpy(x)).item() == 2.5
    assert rl.std(rl.from_numpy(x), correction=0).item() == pytest.approx(math.sqrt(2))


def test_logsumexp_does_not_overflow():
    x = rl.tensor([[1000.0, 1000.0], [-math.inf, -math.inf], [math.inf, 0.0]])
    assert rl.logsumexp(x, 1).tolist() == pytest.approx([1000 + math.log(2), -math.inf, math.inf])


@pytest.mark.parametrize(
    "shape", [(1_000_003,), (1_000_003, 1), (1, 1_000_003), (1003, 997), (997, 4, 251)]
)
def test_long_float_sums_are_exact_enough(shape):
    x = np.random.default_rng(0).uniform(0, 1, shape).astype("float32")
    tensor = rl.from_numpy(x)
    exact = x.astype("float64")
    np.testing.assert_allclose(rl.sum(tensor).item(), exact.sum(), rtol=2e-7)
    for dim in range(x.ndim):
        np.testing.assert_allclose(rl.sum(tensor, dim).numpy(), exact.sum(dim), rtol=5e-7)
        np.testing.assert_allclose(rl.mean(tensor, dim).numpy(), exact.mean(dim), rtol=5e-7)
        np.testing.assert_array_equal(rl.amax(tensor, dim).numpy(), x.max(dim))
        np.testing.assert_array_equal(rl.argmin(tensor, dim).numpy(), x.argmin(dim))


def test_long_double_sums():
    x = np.random.default_rng(0).standard_normal(300_001)
    assert rl.sum(rl.from_numpy(x)).item() == pytest.approx(math.fsum(x), rel=1e-13, abs=1e-11)


def test_sums_do_not_depend_on_the_number_of_threads():
    x = rl.from_numpy(np.random.default_rng(0).standard_normal((700, 701)).astype("float32"))
    expected = [rl.sum(x).item(), rl.sum(x, 0).tolist(), rl.sum(x, 1).tolist()]
    before = rl.get_num_threads()
    try:
        for count in (1, 2, 3, 8):
            rl.set_num_threads(count)
            assert [rl.sum(x).item(), rl.sum(x, 0).tolist(), rl.sum(x, 1).tolist()] == expected
    finally:
        rl.set_num_threads(before)
    with pytest.raises(ValueError, match="at least 1"):
        rl.set_num_threads(0)


def test_nan_wins_and_the_first_of_equals_is_chosen():
    x = rl.tensor([[1.0, math.nan, math.nan], [3.0, 3.0, 1.0]])
    values, indices = rl.max_with_indices(x, 1)
    assert math.isnan(values[0].item()) and values[1].item() == 3
    assert indices.tolist() == [1, 0]
    assert math.isnan(rl.amin(x).item()) and rl.argmin(x).item() == 1
    assert rl.argmax(rl.tensor([-math.inf, -math.inf])).item() == 0
    long = np.zeros(1000, "float32")
    long[437] = math.nan
    assert math.isnan(rl.amax(rl.from_numpy(long)).item())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_with_a_nan_anywhere(dtype):
    """In the vectors at the front, in what is left behind them, and in rows folded together."""
    values = np.random.default_rng(0).standard_normal((19, 141)).astype(dtype)
    for place in range(0, 19 * 141, 37):
        x = values.copy()
        x.flat[place] = np.nan
        t = rl.from_numpy(x)
        for dim in (0, 1):
            np.testing.assert_array_equal(rl.amax(t, dim).numpy(), x.max(dim))
            np.testing.assert_array_equal(rl.amin(t, dim).numpy(), x.min(dim))
    infinite = rl.from_numpy(np.full((9, 141), -np.inf, dtype))
    assert rl.amax(infinite).item() == -np.inf and rl.amax(infinite, 0).tolist() == [-np.inf] * 141


def test_nothing_to_reduce():
    empty = rl.zeros(0, 3)
    assert rl.sum(empty).item() == 0 and rl.prod(empty).item() == 1
    assert rl.sum(empty, 0).tolist() == [0, 0, 0] and rl.sum(empty, 1).shape == (0,)
    assert math.isnan(rl.mean(empty).item())
    assert rl.any(empty).item() is False and rl.all(empty).item() is True
    assert rl.amax(empty, 1).shape == (0,)
    with pytest.raises(ValueError, match="no elements"):
        rl.amax(empty)
    with pytest.raises(ValueError, match="no elements"):
        rl.argmax(empty, 0)


def test_zero_dimensional_tensors():
    x = rl.tensor(3.0)
    assert rl.sum(x, 0).item() == 3 and rl.amax(x, -1).item() == 3
    assert rl.argmax(x).item() == 0 and rl.max_with_indices(x, 0)[1].item() == 0
    assert rl.cumsum(x, 0).item() == 3


def test_wrong_dimensions_are_named():
    with pytest.raises(IndexError):
        rl.sum(rl.ones(2, 3), 2)
    with pytest.raises(ValueError, match="more than once"):
        rl.sum(rl.ones(2, 3), [0, -2])


def test_sum_to_undoes_broadcasting():
    x = rl.from_numpy(np.arange(24.0).reshape(2, 3, 4))
    assert (
        rl.sum_to(x, [3, 1]).tolist()
        == np.arange(24.0).reshape(2, 3, 4).sum((0, 2)).reshape(3, 1).tolist()
    )
    assert rl.sum_to(x, []).item() == 276
    assert rl.sum_to(x, [2, 3, 4]).tolist() == x.tolist()
    with pytest.raises(ValueError, match="broadcast"):
        rl.sum_to(x, [2, 4])


def test_out_takes_the_result():
    x = rl.from_numpy(np.arange(6.0).reshape(2, 3))
    out = rl.zeros(3, dtype="float64")
    rl.sum(x, 0, out=out)
    assert out.tolist() == [3, 5, 7]
    stepped = rl.zeros(6, dtype="float64")[::2]
    rl.amax(x, 0, out=stepped)
    assert stepped.tolist() == [3, 4, 5]


# Gradients where a choice has to be made


def gradient(function, values):
    x = rl.tensor(values, dtype="float64", requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_equal_extremes_share_the_gradient():
    assert gradient(rl.amax, [1.0, 3.0, 3.0]) == [0, 0.5, 0.5]
    assert gradient(lambda x: rl.max_with_indices(x, 0)[0], [1.0, 3.0, 3.0]) == [0, 1, 0]
    assert gradient(lambda x: rl.maximum(x, 3.0), [1.0, 3.0, 4.0]) == [0, 0.5, 1]


def test_products_with_zeros_have_gradients():
    assert gradient(rl.prod, [2.0, 3.0, 4.0]) == [12, 8, 6]
    assert gradient(rl.prod, [2.0, 0.0, 4.0]) == [0, 8, 0]
    assert gradient(rl.prod, [0.0, 0.0, 4.0]) == [0, 0, 0]
    assert gradient(lambda x: rl.prod(x, 1), [[2.0, 0.0], [3.0, 5.0]]) == [[0, 2], [5, 3]]


def test_gradients_at_corners():
    assert gradient(rl.abs, [-2.0, 0.0, 2.0]) == [-1, 0, 1]
    assert gradient(rl.relu, [-2.0, 0.0, 2.0]) == [0, 0, 1]
    assert gradient(lambda x: x**2, [0.0, 3.0]) == [0, 6]
    assert gradient(lambda x: x**0, [0.0, 3.0]) == [0, 0]
    assert gradient(lambda x: x ** rl.tensor([0.0, 2.0], dtype="float64"), [0.0, 3.0]) == [0, 6]
    assert gradient(lambda x: rl.pow(rl.tensor([0.0, 1.0], dtype="float64"), x), [2.0, 3.0]) == [
        0,
        0,
    ]
    assert gradient(lambda x: rl.clamp(x, -1, 1), [-2.0, -1.0, 0.0, 1.0]) == [0, 1, 1, 1]
    assert gradient(lambda x: rl.hardtanh(x), [-2.0, -1.0, 0.0, 1.0]) == [0, 0, 1, 0]
    assert gradient(rl.norm, [0.0, 0.0]) == [0, 0]
    assert gradient(rl.std, [2.0, 2.0, 2.0]) == [0, 0, 0]
    assert gradient(lambda x: 0.0**x, [2.0, 3.0]) == [0, 0]
    assert gradient(lambda x: rl.where(x > 1, x * 2, 5.0), [0.0, 2.0]) == [0, 2]


@pytest.mark.parametrize("shape, dim", [((3, 700), 1), ((24, 37), 0), ((700,), 0)])
@pytest.mark.parametrize("factors", [(1e30, 1e30, 1e-30, 1e-30), (1e-30, 1e-12, 1e30, 1e12)])
def test_products_of_floats_may_leave_their_range_on_the_way(shape, dim, factors):
    values = np.ones(shape, np.float32)
    line = np.moveaxis(values, dim, 0)
    for at, factor in zip((0, 8, 16, 20), factors, strict=True):
        line[at] = factor
    expected = values.astype(np.float64).prod(dim)
    np.testing.assert_allclose(rl.tensor(values).prod(dim).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("shape, dim", [((3, 700), 1), ((24, 37), 0)])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -1e-42])
def test_products_with_a_special_number(shape, dim, special):
    values = np.random.default_rng(3).choice(np.float32([0.5, -1, 2]), shape)
    values[2, 5] = special
    expected = values.astype(np.float64).prod(dim).astype(np.float32)
    np.testing.assert_array_equal(rl.tensor(values).prod(dim).numpy(), expected)


LONG_SHAPES = [
    ((5000, 3), 0),
    ((5000, 3), 1),
    ((3, 5000), 1),
    ((40, 700, 5), (0, 1)),
    ((20000, 16), 0),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize(("shape", "dims"), LONG_SHAPES)
def test_many_short_rows_and_few_columns(shape, dims, dtype):
    array = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    for view in (array, array[1:], array[::2]):
        exact = view.astype("float64")
        for name in ("sum", "amax", "amin", "nansum"):
            if name == "nansum" and dtype == "int64":
                continue
            expected = REDUCTIONS.get(name, np.nansum)(exact, axis=dims)
            got = getattr(rl, name)(rl.from_numpy(view), dims).numpy()
            np.testing.assert_array_equal(got.astype("float64"), expected)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("place", [0, 1023, 1024, 4999])
def test_any_and_all_find_one_element_among_many(place, dtype):
    array = np.zeros(5000, dtype)
    array[place] = 1
    one = rl.from_numpy(array)
    assert one.any().item() and not (one == 0).all().item()
    assert not one[:place].any().item() and not one[place + 1 :].any().item()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_floats_are_summed_exactly(kind):
    numbers = np.random.default_rng(0).integers(-2, 3, 3000).astype("float32")
    short = rl.from_numpy(numbers).to(getattr(rl, kind))
    assert short.sum().item() == numbers.sum()
    assert (short.amax().item(), short.amin().item()) == (2, -2)
    assert rl.count_nonzero(short).item() == np.count_nonzero(numbers)
    assert short.any().item() and not short.all().item()


def test_strided_sums_and_norms_along_columns():
    array = np.random.default_rng(0).standard_normal((300, 70)).astype("float32")
    exact = array.astype("float64")
    tensor = rl.from_numpy(array)
    np.testing.assert_allclose(tensor[:, ::2].sum().item(), exact[:, ::2].sum(), rtol=1e-5)
    np.testing.assert_allclose(tensor.norm(dim=0).numpy(), np.linalg.norm(exact, axis=0), rtol=1e-6)


@pytest.mark.parametrize("p", [3, 0.5, -1, 2, 1])
def test_norms_of_short_floats_whose_powers_do_not_fit(p):
    x = rl.tensor([300.0, -400.0, 20.0], dtype=rl.float16, requires_grad=True)
    norm = x.norm(p)
    norm.backward()
    assert norm.dtype == rl.float16
    assert norm.item() == pytest.approx(np.linalg.norm(x.detach().double().numpy(), p), rel=2e-3)
    assert np.isfinite(x.grad.numpy()).all()
