"""Pooling of sequences, planes and volumes against NumPy's views of windows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import relume as rl

SHAPES = {1: (2, 3, 11), 2: (2, 2, 7, 9), 3: (1, 2, 5, 6, 7)}


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def each(n, value):
    return (value,) * n if isinstance(value, int) else value


def windows(x, n, kernel, stride):
    """The elements under every window, flattened, as the last dimension."""
    axes = tuple(range(x.ndim - n, x.ndim))
    view = sliding_window_view(x, each(n, kernel), axes)
    steps = (slice(None),) * (x.ndim - n) + tuple(slice(None, None, s) for s in each(n, stride))
    view = view[steps]
    return view.reshape(*view.shape[: x.ndim], -1)


def padded(x, n, padding, value):
    pairs = [(0, 0)] * (x.ndim - n) + [(p, p) for p in each(n, padding)]
    return np.pad(x, pairs, constant_values=value)


@st.composite
def poolings(draw):
    n = draw(st.sampled_from([1, 2, 3]))
    kernel = tuple(draw(st.integers(1, 4)) for _ in range(n))
    stride = tuple(draw(st.integers(1, 3)) for _ in range(n))
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    return n, kernel, stride, padding


@settings(max_examples=60, deadline=None)
@given(poolings(), st.sampled_from(["float32", "float64"]))
def test_sliding_windows(case, dtype):
    n, kernel, stride, padding = case
    x = random(SHAPES[n]).astype(dtype)
    t = rl.tensor(x)
    largest = windows(padded(x, n, padding, -np.inf), n, kernel, stride).max(-1)
    mean = windows(padded(x, n, padding, 0), n, kernel, stride).mean(-1)
    name = f"pool{n}d"
    np.testing.assert_array_equal(getattr(rl, f"max_{name}")(t, kernel, stride, padding), largest)
    result = getattr(rl, f"avg_{name}")(t, kernel, stride, padding)
    np.testing.assert_allclose(result, mean, atol=1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("n", SHAPES)
def test_indices_point_at_the_values(n):
    x = np.random.default_rng(0).integers(0, 5, SHAPES[n]).astype("float32")  # with equal ones
    values, indices = getattr(rl, f"max_pool{n}d_with_indices")(rl.tensor(x), 3, 2, 1)
    flat = x.reshape(*x.shape[:2], -1)
    chosen = np.take_along_axis(flat, indices.numpy().reshape(*x.shape[:2], -1), -1)
    np.testing.assert_array_equal(chosen.reshape(values.shape), values)
    # Of equal elements the first.
    first = windows(padded(x, n, 1, -np.inf), n, 3, 2).argmax(-1)
    places = np.arange(flat.shape[-1]).reshape(x.shape[2:])
    where = windows(padded(np.broadcast_to(places, x.shape), n, 1, -1), n, 3, 2)
    np.testing.assert_array_equal(
        np.take_along_axis(where, first[..., None], -1)[..., 0], indices.numpy()
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "bool"])
def test_max_pooling_of_other_types(dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 99, SHAPES[2]).astype(dtype)
    result = rl.max_pool2d(rl.tensor(x), 2, 1)
    assert result.dtype == rl.tensor(x).dtype
    np.testing.assert_array_equal(result, windows(x, 2, 2, 1).max(-1))


def test_integers_beyond_the_reach_of_floats():
    big = 2**62
    assert rl.max_pool1d(rl.tensor([[big, big + 1, big - 1]]), 3).tolist() == [[big + 1]]


def parts(length, count):
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("n", SHAPES)
def test_adaptive_pooling(n, size):
    x = random(SHAPES[n])
    means = getattr(rl, f"adaptive_avg_pool{n}d")(rl.tensor(x), size).numpy()
    values, indices = getattr(rl, f"adaptive_max_pool{n}d")(rl.tensor(x), size)
    ranges = [parts(length, size) for length in x.shape[2:]]
    for place in itertools.product(range(size), repeat=n):
        cut = tuple(slice(*ranges[axis][i]) for axis, i in enumerate(place))
        part = x[(..., *cut)].reshape(*x.shape[:2], -1)
        np.testing.assert_allclose(means[(..., *place)], part.mean(-1), atol=1e-12)
        np.testing.assert_array_equal(values.numpy()[(..., *place)], part.max(-1))
    flat = x.reshape(*x.shape[:2], -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, indices.numpy().reshape(*x.shape[:2], -1), -1).ravel(),
        values.numpy().ravel(),
    )


@pytest.mark.parametrize("n", SHAPES)
def test_unpooling_puts_the_largest_back(n):
    x = random(SHAPES[n])
    values, indices = getattr(rl, f"max_pool{n}d_with_indices")(rl.tensor(x), 2)
    back = getattr(rl, f"max_unpool{n}d")(values, indices, 2, output_size=x.shape[2:]).numpy()
    assert back.shape == x.shape
    kept = back != 0
    np.testing.assert_array_equal(back[kept], x[kept])
    assert kept.sum() == values.numel()


@pytest.mark.parametrize("n", SHAPES)
def test_p_norms_under_windows(n):
    x = np.abs(random(SHAPES[n])) + 0.1
    for p in (1.0, 2.0, 3.5):
        expected = np.linalg.norm(windows(x, n, 2, 2), p, -1)
        np.testing.assert_allclose(getattr(rl, f"lp_pool{n}d")(rl.tensor(x), p, 2), expected)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_windows_cover_the_ends(n):
    x = random(SHAPES[n])
    samples = rl.rand(SHAPES[n][0], SHAPES[n][1], n, dtype=rl.float64)
    op = getattr(rl, f"fractional_max_pool{n}d")
    values, indices = op(rl.tensor(x), 2, 3, samples)
    assert tuple(values.shape) == (*x.shape[:2], *(3,) * n)
    flat = x.reshape(*x.shape[:2], -1)
    chosen = np.take_along_axis(flat, indices.numpy().reshape(*x.shape[:2], -1), -1)
    np.testing.assert_array_equal(chosen.ravel(), values.numpy().ravel())
    corner = x[(..., *(slice(-2, None),) * n)].reshape(*x.shape[:2], -1).max(-1)
    np.testing.assert_array_equal(values.numpy()[(..., *(-1,) * n)], corner)


def test_regions_of_interest():
    x = random((2, 3, 8, 9))
    rois = [[1.0, 1, 2, 6, 7], [0.0, 0, 0, 8, 7], [1.0, 4, 4, 4, 4]]
    values, indices = rl.roi_pool(rl.tensor(x), rl.tensor(rois), (2, 3))
    for r, (image, left, top, right, bottom) in enumerate(rois):
        region = x[int(image), :, int(top) : int(bottom) + 1, int(left) : int(right) + 1]
        high, wide = region.shape[1:]
        for i, j in itertools.product(range(2), range(3)):
            rows = slice(int(np.floor(i * high / 2)), int(np.ceil((i + 1) * high / 2)))
            columns = slice(int(np.floor(j * wide / 3)), int(np.ceil((j + 1) * wide / 3)))
            expected = region[:, rows, columns].max((-2, -1))
            np.testing.assert_array_equal(values.numpy()[r, :, i, j], expected)
    np.testing.assert_array_equal(x.ravel()[indices.numpy()], values.numpy())


def test_regions_outside_are_empty():
    x = rl.ones(1, 1, 4, 4, requires_grad=True)
    values, indices = rl.roi_pool(x, rl.tensor([[0.0, 10, 10, 12, 12]]), 1)
    assert (values.item(), indices.item()) == (0.0, -1)
    values.sum().backward()
    assert x.grad.sum().item() == 0
    with pytest.raises(IndexError, match="region 0 is of image 3"):
        rl.roi_pool(x, rl.tensor([[3.0, 0, 0, 1, 1]]), 1)


def test_mistakes_say_what_was_expected():
    x = rl.ones(1, 2, 4, 4)
    with pytest.raises(TypeError, match="complex numbers have no order"):
        rl.max_pool2d(x.to(rl.complex64), 2)
    with pytest.raises(ValueError, match=r"must have shape \(channels, depth, height, width\)"):
        rl.max_pool3d(rl.ones(4, 4), 2)
    with pytest.raises(ValueError, match="one number or 2 numbers"):
        rl.avg_pool2d(x, (1, 2, 3))
    with pytest.raises(ValueError, match="divisor_override must not be 0"):
        rl.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(IndexError, match="index 99 is outside of a plane of 16 elements"):
        rl.max_unpool2d(rl.ones(1, 1, 1), rl.tensor([[[99]]]), 2, output_size=(4, 4))
    with pytest.raises(ValueError, match="need an input of at least 5"):
        rl.fractional_max_pool2d(x, 2, 4, rl.rand(1, 2, 2))
    with pytest.raises(ValueError, match="random_samples must have shape"):
        rl.fractional_max_pool2d(x, 2, 2, rl.rand(1, 3))
