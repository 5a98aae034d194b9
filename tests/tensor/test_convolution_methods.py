"""Every way of computing a convolution gives the sum that defines it, forward and backward.

The shapes are chosen for the methods inside: Winograd's tiles, direct sums, matrix products and
depthwise loops, with odd edges, strides and several threads.
"""

from __future__ import annotations

import numpy as np
import pytest

import relume as rl

# Batch, channels in and out, height, width, kernel, stride, padding, dilation, groups.
SHAPES = {
    "tiles": (3, 17, 23, 14, 15, 3, 1, 1, 1, 1),
    "tiles of many images": (16, 32, 40, 7, 7, 3, 1, 1, 1, 1),
    "tiles without padding": (2, 16, 16, 40, 19, 3, 1, 0, 1, 1),
    "tiles, wide padding": (2, 16, 16, 20, 20, 3, 1, 4, 1, 1),
    "tiles, long rows": (1, 16, 18, 3, 300, 3, 1, 1, 1, 1),
    "few channels": (2, 3, 8, 20, 20, 3, 1, 1, 1, 1),
    "few channels, many pixels": (2, 3, 8, 66, 70, 3, 2, 1, 1, 1),
    "stride": (2, 3, 8, 20, 21, 3, 2, 1, 1, 1),
    "pointwise, stride": (2, 8, 8, 9, 10, 1, 2, 0, 1, 1),
    "pointwise, stride and padding": (2, 8, 8, 9, 10, 1, 2, 1, 1, 1),
    "dilated groups": (2, 8, 8, 20, 21, 3, 1, 1, 2, 2),
    "stride, many channels": (2, 32, 64, 20, 21, 3, 2, 1, 1, 1),
    "several small images": (7, 12, 20, 7, 8, 3, 2, 1, 1, 2),
    "several pointwise images": (6, 12, 20, 7, 7, 1, 1, 0, 1, 1),
    "many pointwise images": (19, 6, 10, 7, 7, 1, 1, 0, 1, 1),
    "depthwise": (2, 8, 8, 20, 21, 3, 1, 1, 1, 8),
    "depthwise, many groups": (3, 83, 83, 7, 7, 3, 1, 1, 1, 83),
    "depthwise, rows of every length": (2, 4, 4, 9, 31, 3, 1, 1, 1, 4),
    "depthwise, stride": (2, 8, 8, 20, 21, 3, 2, 1, 1, 8),
    "depthwise, large kernel": (1, 8, 8, 20, 21, 5, 2, 2, 1, 8),
    "depthwise, dilated": (1, 8, 8, 21, 20, 3, 1, 2, 2, 8),
    "depthwise, small image": (1, 4, 4, 3, 3, 3, 1, 1, 1, 4),
    "depthwise, two outputs": (2, 8, 16, 20, 21, 3, 2, 1, 1, 8),
    "depthwise, stride beyond the kernel": (2, 8, 8, 20, 21, 2, 3, 1, 1, 8),
}


def windows_of(x, shape):
    """(batch, channels, height, width, kernel, kernel) of the padded input, as views."""
    kernel, stride, dilation = shape[5], shape[6], shape[8]
    extent = dilation * (kernel - 1) + 1
    views = np.lib.stride_tricks.sliding_window_view(x, (extent, extent), (2, 3))
    return views[:, :, ::stride, ::stride, ::dilation, ::dilation]


def grouped(array, axis, groups):
    shape = array.shape
    return array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def reference(x, w, shape):
    """The output, and a function from its gradient to those of x and w: sums in float64."""
    padding, groups = shape[7], shape[9]
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    w = grouped(w.astype(np.float64), 0, groups)
    windows = grouped(windows_of(x, shape), 1, groups)
    out = np.einsum("ngchwij,gkcij->ngkhw", windows, w)

    def gradients(g):
        g = grouped(g.astype(np.float64), 1, groups)
        of_w = np.einsum("ngchwij,ngkhw->gkcij", windows, g)
        of_x = np.zeros_like(x)
        targets = np.lib.stride_tricks.sliding_window_view
        extent = shape[8] * (shape[5] - 1) + 1
        views = targets(of_x, (extent, extent), (2, 3), writeable=True)
        step, dilation = shape[6], shape[8]
        views = grouped(views[:, :, ::step, ::step, ::dilation, ::dilation], 1, groups)
        for i in range(shape[5]):
            for j in range(shape[5]):
                views[..., i, j] += np.einsum("ngkhw,gkc->ngchw", g, w[:, :, :, i, j])
        end = [n - padding for n in x.shape[2:]]
        return of_x[:, :, padding : end[0], padding : end[1]], of_w.reshape(-1, *of_w.shape[2:])

    return out.reshape(out.shape[0], -1, *out.shape[3:]), gradients


def assert_near(actual, expected, tolerance):
    assert actual.shape == expected.shape
    assert np.abs(actual.numpy() - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 4e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_convolution_is_the_sum_that_defines_it(shape, dtype, tolerance, threads):
    batch, inputs, outputs, height, width, kernel, stride, padding, dilation, groups = shape
    random = np.random.default_rng(0)
    x = random.standard_normal((batch, inputs, height, width)).astype(dtype)
    w = random.standard_normal((outputs, inputs // groups, kernel, kernel)).astype(dtype)
    bias = random.standard_normal(outputs).astype(dtype)
    expected, gradients = reference(x, w, shape)
    g = random.standard_normal(expected.shape).astype(dtype)
    before = rl.get_num_threads()
    try:
        rl.set_num_threads(threads)
        x_tensor, w_tensor = rl.tensor(x, requires_grad=True), rl.tensor(w, requires_grad=True)
        settings = [stride] * 2, [padding] * 2, [dilation] * 2, groups
        out = rl.conv2d(x_tensor, w_tensor, rl.tensor(bias), *settings)
        out.backward(rl.tensor(g))
    finally:
        rl.set_num_threads(before)
    assert_near(out.detach(), expected + bias[:, None, None], tolerance)
    of_x, of_w = gradients(g)
    assert_near(x_tensor.grad, of_x, tolerance)
    assert_near(w_tensor.grad, of_w, tolerance)
