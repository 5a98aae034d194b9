"""Pooling against a loop over windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relume as rl


def windows(length, kernel, stride, padding, dilation, ceil_mode):
    """The positions of every window's elements along one dimension, padding included."""
    extent = dilation * (kernel - 1) + 1
    starts = []
    start = -padding
    while start + extent <= length + padding or (
        ceil_mode and start + extent - stride < length + padding and start < length
    ):
        starts.append(start)
        start += stride
    return [np.arange(s, s + extent, dilation) for s in starts]


@st.composite
def poolings(draw, dilated):
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = draw(st.none() | st.tuples(st.integers(1, 4), st.integers(1, 4)))
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    dilation = tuple(draw(st.integers(1, 2)) if dilated else 1 for _ in kernel)
    size = tuple(
        max(1, (k - 1) * d + 1 - 2 * p) + draw(st.integers(0, 7))
        for k, p, d in zip(kernel, padding, dilation, strict=True)
    )
    batch = draw(st.sampled_from([(), (1,), (3,)]))
    return (*batch, 2, *size), kernel, stride, padding, dilation, draw(st.booleans())


def window_grid(shape, kernel, stride, padding, dilation, ceil_mode):
    stride = stride or kernel
    return [
        windows(
            shape[axis - 2], kernel[axis], stride[axis], padding[axis], dilation[axis], ceil_mode
        )
        for axis in (0, 1)
    ]


@given(poolings(dilated=True))
def test_max_pool2d_takes_the_first_largest_element(case):
    shape, kernel, stride, padding, dilation, ceil_mode = case
    x = np.random.default_rng(0).integers(0, 9, shape).astype("float64")  # with equal elements
    values, indices = rl.max_pool2d_with_indices(
        rl.from_numpy(x), kernel, stride, padding, dilation, ceil_mode
    )
    rows, columns = window_grid(*case)
    assert tuple(values.shape) == (*shape[:-2], len(rows), len(columns))
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            r_in, c_in = r[(r >= 0) & (r < shape[-2])], c[(c >= 0) & (c < shape[-1])]
            flat = (r_in[:, None] * shape[-1] + c_in).reshape(-1)
            if flat.size == 0:  # a dilated window that meets padding only
                assert np.isneginf(values.numpy()[..., i, j]).all()
                continue
            window = x.reshape(*shape[:-2], -1)[..., flat]
            np.testing.assert_array_equal(values.numpy()[..., i, j], window.max(-1))
            np.testing.assert_array_equal(indices.numpy()[..., i, j], flat[window.argmax(-1)])


@given(poolings(dilated=False), st.booleans())
def test_avg_pool2d(case, count_include_pad):
    shape, kernel, stride, padding, _, ceil_mode = case
    x = np.random.default_rng(0).standard_normal(shape)
    result = rl.avg_pool2d(rl.from_numpy(x), kernel, stride, padding, ceil_mode, count_include_pad)
    rows, columns = window_grid(*case)
    expected = np.zeros((*shape[:-2], len(rows), len(columns)))
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            r_in, c_in = r[(r >= 0) & (r < shape[-2])], c[(c >= 0) & (c < shape[-1])]
            count = len(r_in) * len(c_in)
            if count_include_pad:  # what hangs over the padded end is never counted
                count = (r < shape[-2] + padding[0]).sum() * (c < shape[-1] + padding[1]).sum()
            expected[..., i, j] = x[..., r_in[:, None], c_in].sum((-2, -1)) / count
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


def test_the_largest_element_gets_the_gradient():
    x = rl.tensor([[[1.0, 5.0, 2.0], [0.0, 5.0, 7.0]]], requires_grad=True)
    values = rl.max_pool2d(x, [2, 2], [1, 1])
    values.sum().backward()
    assert values.tolist() == [[[5.0, 7.0]]]
    assert x.grad.tolist() == [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]


def test_nan_is_the_largest():
    x = rl.tensor([[[1.0, float("nan"), 9.0, 2.0]]])
    assert np.isnan(rl.max_pool2d(x, [1, 4]).item())


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32"])
def test_max_pool2d_of_other_types(dtype):
    x = np.arange(24, dtype=dtype).reshape(1, 4, 6)
    values = rl.max_pool2d(rl.from_numpy(x), 2)
    np.testing.assert_array_equal(values.numpy(), [[[7, 9, 11], [19, 21, 23]]])


def test_mistakes_say_what_was_expected():
    x = rl.zeros([1, 4, 4])
    with pytest.raises(ValueError, match="more than the input of size"):
        rl.max_pool2d(x, 5)
    with pytest.raises(ValueError, match="at most half of the kernel"):
        rl.max_pool2d(x, 2, 2, 2)
    with pytest.raises(ValueError, match="kernel_size must be at least 1"):
        rl.avg_pool2d(x, 0)
    with pytest.raises(ValueError, match="must have shape"):
        rl.avg_pool2d(rl.zeros([4, 4]), 2)
    with pytest.raises(TypeError, match="floating-point"):
        rl.avg_pool2d(rl.zeros([1, 4, 4], dtype=rl.bool_), 2)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
def test_means_of_integers_drop_their_fraction(dtype):
    x = np.arange(-12, 12, dtype=dtype).reshape(1, 4, 6)
    means = rl.avg_pool2d(rl.from_numpy(x), (2, 3))
    sums = x.reshape(1, 2, 2, 2, 3).sum((2, 4))
    np.testing.assert_array_equal(means.numpy(), np.trunc(sums / 6))
    assert means.numpy().dtype == dtype
