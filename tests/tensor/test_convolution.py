"""Convolutions against a direct sum over windows, and their gradients against one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relume as rl


def random(shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def naive_conv2d(x, weight, stride, padding, dilation, groups):
    """Every output pixel is the sum of its window times the weight."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    outputs, inputs, kh, kw = weight.shape
    height = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    width = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    result = np.zeros((x.shape[0], outputs, height, width), x.dtype)
    per_group = outputs // groups
    for o in range(outputs):
        first = o // per_group * inputs
        for i in range(height):
            for j in range(width):
                top, left = i * stride[0], j * stride[1]
                window = x[
                    :,
                    first : first + inputs,
                    top : top + dilation[0] * (kh - 1) + 1 : dilation[0],
                    left : left + dilation[1] * (kw - 1) + 1 : dilation[1],
                ]
                result[:, o, i, j] = (window * weight[o]).sum((1, 2, 3))
    return result


@st.composite
def convolutions(draw):
    groups = draw(st.integers(1, 3))
    inputs, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3)) * groups
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 4)))
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 3)))
    size = tuple(
        max(1, (k - 1) * d + 1 - 2 * p) + draw(st.integers(0, 6))
        for k, d, p in zip(kernel, dilation, padding, strict=True)
    )
    batch = draw(st.integers(1, 3))
    return (
        (batch, inputs * groups, *size),
        (outputs, inputs, *kernel),
        stride,
        padding,
        dilation,
        groups,
    )


@settings(deadline=None, max_examples=80)
@given(convolutions(), st.sampled_from(["float32", "float64"]))
def test_conv2d_is_a_sum_over_windows(case, dtype):
    shape, weight_shape, stride, padding, dilation, groups = case
    x, weight = random(shape, 1, dtype), random(weight_shape, 2, dtype)
    bias = random(weight_shape[0], 3, dtype)
    result = rl.conv2d(
        rl.from_numpy(x),
        rl.from_numpy(weight),
        rl.from_numpy(bias),
        stride,
        padding,
        dilation,
        groups,
    )
    expected = naive_conv2d(x, weight, stride, padding, dilation, groups) + bias[:, None, None]
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape,weight_shape,stride,padding",
    [
        ((2, 16, 30, 30), (32, 16, 3, 3), (1, 1), (1, 1)),
        ((1, 3, 64, 50), (24, 3, 7, 7), (2, 2), (3, 3)),
        ((3, 32, 17, 9), (48, 32, 1, 1), (1, 1), (0, 0)),
        ((3, 20, 17, 9), (18, 20, 1, 1), (2, 2), (0, 0)),
        ((1, 40, 20, 300), (33, 40, 3, 5), (1, 2), (1, 0)),
    ],
)
def test_larger_convolutions(shape, weight_shape, stride, padding, dtype):
    x, weight = random(shape, 1, dtype), random(weight_shape, 2, dtype)
    result = rl.conv2d(rl.from_numpy(x), rl.from_numpy(weight), None, stride, padding)
    expected = naive_conv2d(x, weight, stride, padding, (1, 1), 1)
    tolerance = 2e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


@settings(deadline=None, max_examples=60)
@given(convolutions())
def test_gradients_are_adjoint_to_the_convolution(case):
    """<g, conv(x, w)> has the gradients that finite differences give exactly: it is bilinear."""
    shape, weight_shape, stride, padding, dilation, groups = case
    x = rl.tensor(random(shape, 1), requires_grad=True)
    weight = rl.tensor(random(weight_shape, 2), requires_grad=True)
    out = rl.conv2d(x, weight, None, stride, padding, dilation, groups)
    g = rl.from_numpy(random(tuple(out.shape), 3))
    grad_x, grad_weight = rl.grad((out * g).sum(), [x, weight])
    value = float((out * g).sum().item())
    assert grad_x.shape == x.shape and grad_weight.shape == weight.shape
    np.testing.assert_allclose(float((grad_x * x).sum().item()), value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        float((grad_weight * weight).sum().item()), value, rtol=1e-9, atol=1e-9
    )
    dx = random(shape, 4)
    moved = rl.conv2d(rl.from_numpy(dx), weight.detach(), None, stride, padding, dilation, groups)
    np.testing.assert_allclose(
        float((moved * g).sum().item()), (grad_x.numpy() * dx).sum(), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "stride,padding,output_padding,dilation",
    [
        ((1, 1), (0, 0), (0, 0), (1, 1)),
        ((2, 3), (1, 0), (1, 2), (1, 1)),
        ((2, 2), (1, 2), (0, 1), (2, 1)),
        ((1, 2), (0, 1), (1, 3), (2, 4)),
    ],
)
def test_conv_transpose2d_spreads_every_pixel(groups, stride, padding, output_padding, dilation):
    x, weight, bias = random((2, 4, 5, 6), 1), random((4, 3, 3, 2), 2), random(3 * groups, 3)
    size = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, s, p, d, k, o in zip(
            (5, 6), stride, padding, dilation, (3, 2), output_padding, strict=True
        )
    ]
    full = np.zeros((2, 3 * groups, size[0] + 2 * padding[0], size[1] + 2 * padding[1]))
    for c in range(4):
        first = c // (4 // groups) * 3
        for i, j, u, v in np.ndindex(5, 6, 3, 2):
            target = full[
                :,
                first : first + 3,
                i * stride[0] + u * dilation[0],
                j * stride[1] + v * dilation[1],
            ]
            target += x[:, c, i, j, None] * weight[c, :, u, v]
    expected = full[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]
    result = rl.conv_transpose2d(
        rl.from_numpy(x),
        rl.from_numpy(weight),
        rl.from_numpy(bias),
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )
    np.testing.assert_allclose(result.numpy(), expected + bias[:, None, None], atol=1e-12)


def test_images_without_a_batch_and_odd_layouts():
    x, weight = random((2, 9, 8)), random((3, 2, 3, 3), 1)
    expected = naive_conv2d(x[None], weight, (1, 1), (0, 0), (1, 1), 1)[0]
    result = rl.conv2d(rl.from_numpy(x), rl.from_numpy(weight))
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
    turned = rl.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1))).permute([1, 2, 0])
    np.testing.assert_allclose(
        rl.conv2d(turned, rl.from_numpy(weight)).numpy(), expected, atol=1e-12
    )


@pytest.mark.parametrize("batched", [True, False])
def test_conv1d(batched):
    x, weight, bias = random((2, 4, 20)), random((6, 2, 3), 1), random(6, 2)
    if not batched:
        x = x[0]
    result = rl.conv1d(rl.from_numpy(x), rl.from_numpy(weight), rl.from_numpy(bias), 2, 1, 3, 2)
    x4 = x.reshape(-1, 4, 1, 20)
    expected = naive_conv2d(x4, weight[:, :, None], (1, 2), (0, 1), (1, 3), 2) + bias[:, None, None]
    np.testing.assert_allclose(
        result.numpy(), expected[:, :, 0] if batched else expected[0, :, 0], atol=1e-12
    )


def test_half_precision():
    x, weight = random((1, 2, 6, 6), 1, "float16"), random((3, 2, 3, 3), 2, "float16")
    result = rl.conv2d(rl.from_numpy(x), rl.from_numpy(weight))
    assert result.dtype == rl.float16
    expected = naive_conv2d(
        x.astype("float64"), weight.astype("float64"), (1, 1), (0, 0), (1, 1), 1
    )
    np.testing.assert_allclose(result.numpy().astype("float64"), expected, rtol=2e-3, atol=1e-2)


def test_an_empty_batch():
    assert tuple(rl.conv2d(rl.zeros([0, 2, 5, 5]), rl.zeros([3, 2, 3, 3])).shape) == (0, 3, 3, 3)


@pytest.mark.parametrize(
    "change,text",
    [
        ({"input": (2, 5, 5)}, "need an input of 3 channels, but it has 2"),
        (
            {"input": (3, 2, 5)},
            r"covers \(3, 3\) elements, more than the input with its padding, \(2, 5\)",
        ),
        ({"input": (3, 5)}, r"must have shape \(channels, height, width\)"),
        ({"weight": (4, 3, 3)}, "weight must have shape"),
        ({"stride": 0}, "stride must be at least 1"),
        ({"padding": -1}, "padding must be at least 0"),
        ({"stride": [1, 1, 1]}, "one number or"),
        ({"groups": 0}, "groups must be at least 1"),
        ({"groups": 3}, "cannot be split into 3 groups"),
        ({"bias": (3,)}, r"bias must have shape \(4\)"),
    ],
)
def test_mistakes_say_what_was_expected(change, text):
    settings = {
        "input": (3, 5, 5),
        "weight": (4, 3, 3, 3),
        "bias": None,
        "stride": 1,
        "padding": 0,
        "groups": 1,
    }
    settings.update(change)
    for name in ("input", "weight", "bias"):
        settings[name] = None if settings[name] is None else rl.zeros(list(settings[name]))
    with pytest.raises(ValueError, match=text):
        rl.conv2d(**settings)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_whole_numbers_are_convolved_exactly(dtype):
    draw = np.random.default_rng(5)
    x, weight = draw.integers(0, 99, (2, 4, 6, 5)), draw.integers(0, 99, (6, 2, 3, 2))
    expected = naive_conv2d(x, weight, (2, 1), (1, 0), (1, 2), 2).astype(dtype)
    tensors = rl.tensor(x.astype(dtype)), rl.tensor(weight.astype(dtype))
    result = rl.conv2d(*tensors, None, (2, 1), (1, 0), (1, 2), 2)
    assert result.numpy().dtype == dtype
    np.testing.assert_array_equal(result.numpy(), expected)
    with pytest.raises(ValueError, match="could be inexact"):
        rl.conv1d(rl.full((1, 3), 2**40), rl.full((1, 1, 2), 2**20))


def test_the_output_padding_of_a_transposed_convolution_is_part_of_a_step():
    with pytest.raises(ValueError, match="output_padding must be smaller"):
        rl.conv_transpose2d(rl.ones(1, 3, 3), rl.ones(1, 1, 2, 2), stride=2, output_padding=2)


def test_integers_with_a_weight_of_floats_are_refused():
    with pytest.raises(TypeError, match="floating-point"):
        rl.conv2d(rl.zeros([1, 3, 3], dtype=rl.int64), rl.zeros([1, 1, 3, 3]))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_complex_convolution(dimensions):
    """By its parts: the products of real numbers that complex ones are made of."""
    draw = np.random.default_rng(3).normal
    shape, kernel = (2, 3) + (5,) * dimensions, (4, 3) + (2,) * dimensions
    x, w = (draw(size=s) + 1j * draw(size=s) for s in (shape, kernel))
    bias = draw(size=4) + 1j * draw(size=4)
    convolve = getattr(rl, f"conv{dimensions}d")
    ours = convolve(rl.tensor(x), rl.tensor(w), rl.tensor(bias), padding=1).numpy()
    padded = np.pad(x, [(0, 0)] * 2 + [(1, 1)] * dimensions)
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, (2,) * dimensions, tuple(range(2, 2 + dimensions))
    )
    axes = [1, *range(2 + dimensions, 2 + 2 * dimensions)]
    expected = np.tensordot(windows, w, (axes, [1, *range(2, 2 + dimensions)]))
    expected = np.moveaxis(expected, -1, 1) + bias.reshape(-1, *[1] * dimensions)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10)
