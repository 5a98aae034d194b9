"""Batch normalisation, softmax and dropout against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relume as rl

SHAPES = [(5, 3), (4, 3, 7), (2, 3, 4, 5), (1, 3, 6), (300, 3)]


def random(shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_training(shape, affine):
    x, weight, bias = random(shape) * 3 + 7, random(3, 1), random(3, 2)
    mean, var = random(3, 3), np.abs(random(3, 4))
    running_mean, running_var = rl.tensor(mean), rl.tensor(var)
    parameters = [rl.from_numpy(weight), rl.from_numpy(bias)] if affine else [None, None]
    out, batch_mean, inverse = rl.batch_norm(
        rl.from_numpy(x), *parameters, running_mean, running_var, True, 0.2, 1e-3
    )
    axes = tuple(i for i in range(len(shape)) if i != 1)
    channel = (3,) + (1,) * (len(shape) - 2)
    expected_mean, biased = x.mean(axes), x.var(axes)
    normal = (x - expected_mean.reshape(channel)) / np.sqrt(biased.reshape(channel) + 1e-3)
    expected = normal * weight.reshape(channel) + bias.reshape(channel) if affine else normal
    np.testing.assert_allclose(out.numpy(), expected, atol=1e-11)
    np.testing.assert_allclose(batch_mean.numpy(), expected_mean, atol=1e-12)
    np.testing.assert_allclose(inverse.numpy(), 1 / np.sqrt(biased + 1e-3), atol=1e-12)
    np.testing.assert_allclose(running_mean.numpy(), 0.8 * mean + 0.2 * expected_mean, atol=1e-12)
    np.testing.assert_allclose(
        running_var.numpy(), 0.8 * var + 0.2 * x.var(axes, ddof=1), atol=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_evaluation(shape):
    x, weight, bias = random(shape), random(3, 1), random(3, 2)
    mean, var = random(3, 3), np.abs(random(3, 4))
    tensors = [rl.from_numpy(a.copy()) for a in (x, weight, bias, mean, var)]
    out = rl.batch_norm(*tensors, False, 0.1, 1e-5)[0]
    channel = (3,) + (1,) * (len(shape) - 2)
    weight, bias, mean, deviation = (
        a.reshape(channel) for a in (weight, bias, mean, np.sqrt(var + 1e-5))
    )
    np.testing.assert_allclose(out.numpy(), (x - mean) / deviation * weight + bias, atol=1e-12)
    np.testing.assert_array_equal(tensors[3].numpy(), mean.reshape(3))  # the statistics stay


def test_float32_statistics_are_summed_in_double():
    x = (random((64, 2, 50, 50)) + 1000).astype("float32")
    _, mean, inverse = rl.batch_norm(rl.from_numpy(x), None, None, None, None, True, 0.1, 0.0)
    exact = x.astype("float64")
    np.testing.assert_allclose(mean.numpy(), exact.mean((0, 2, 3)), rtol=1e-7)
    np.testing.assert_allclose(inverse.numpy(), 1 / exact.std((0, 2, 3)), rtol=1e-6)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4, 5)])
def test_the_fused_gradient_is_the_recorded_one(shape, training):
    """With create_graph the gradient is made of ops, without it is one kernel."""
    x, weight, bias = (
        rl.tensor(random(s, i), requires_grad=True) for i, s in enumerate([shape, 3, 3])
    )
    statistics = [rl.tensor(random(3, 5)), rl.tensor(np.abs(random(3, 6)))]
    g = rl.tensor(random(shape, 7))

    def gradients(create_graph):
        out = rl.batch_norm(x, weight, bias, *statistics, training, 0.1, 1e-3)[0]
        return rl.grad((out * g).sum(), [x, weight, bias], create_graph=create_graph)

    for fused, recorded in zip(gradients(False), gradients(True), strict=True):
        np.testing.assert_allclose(fused.numpy(), recorded.detach().numpy(), atol=1e-11)


def test_batch_norm_refuses_what_does_not_fit():
    x, three = rl.zeros([2, 4]), rl.zeros([3])
    with pytest.raises(ValueError, match=r"weight must have shape \(4\)"):
        rl.batch_norm(x, three, None, None, None, True, 0.1, 1e-5)
    with pytest.raises(ValueError, match="running_mean and running_var are needed"):
        rl.batch_norm(x, None, None, None, None, False, 0.1, 1e-5)
    with pytest.raises(ValueError, match="batch, channels"):
        rl.batch_norm(three, None, None, None, None, True, 0.1, 1e-5)


@given(st.lists(st.integers(0, 70), min_size=1, max_size=3), st.data())
def test_softmax_and_its_logarithm(shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = random(shape) * 5
    shifted = x - x.max(dim, keepdims=True) if x.size else x
    total = np.exp(shifted).sum(dim, keepdims=True) if x.size else np.ones(())
    softmax, logarithm = rl.softmax(rl.from_numpy(x), dim), rl.log_softmax(rl.from_numpy(x), dim)
    np.testing.assert_allclose(softmax.numpy(), np.exp(shifted) / total, atol=1e-13)
    np.testing.assert_allclose(logarithm.numpy(), shifted - np.log(total), atol=1e-12)


@pytest.mark.parametrize("dtype,tolerance", [("float16", 1e-3), ("float32", 1e-6)])
def test_softmax_of_short_floats(dtype, tolerance):
    x = random((3, 1000), dtype=dtype) * 3
    exact = np.exp(x.astype("float64"))
    exact /= exact.sum(1, keepdims=True)
    result = rl.softmax(rl.from_numpy(x), 1)
    assert result.dtype == getattr(rl, dtype)
    np.testing.assert_allclose(result.numpy(), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", [9, 33, 1000])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_down_to_the_smallest_floats(length, dim):
    x = np.resize([0, -20, -80, -88, -95, -100, -103, -110, -np.inf], (length, 3)).astype("float32")
    exact = np.exp(x.astype("float64"))
    exact /= exact.sum(0)
    shape = (length, 3) if dim == 0 else (3, length)
    result = rl.softmax(rl.from_numpy(np.resize(x if dim == 0 else x.T, shape)), dim).numpy()
    np.testing.assert_allclose(result, exact if dim == 0 else exact.T, rtol=2e-6, atol=2e-45)


def test_softmax_of_extremes():
    infinity = float("inf")
    x = rl.tensor([[1000.0, 1000.0], [-infinity, 0.0], [infinity, 0.0], [float("nan"), 0.0]])
    softmax = rl.softmax(x, 1).numpy()
    np.testing.assert_array_equal(softmax[:2], [[0.5, 0.5], [0.0, 1.0]])
    assert np.isnan(softmax[2]).any() and np.isnan(softmax[3]).all()
    assert rl.softmax(rl.tensor(3.0), 0).item() == 1.0
    np.testing.assert_allclose(rl.log_softmax(x, 1).numpy()[1], [-infinity, 0.0])


def test_dropout_keeps_the_mean():
    rl.manual_seed(7)
    x = rl.ones([100, 100], dtype=rl.float64).requires_grad_()
    values, factors = rl.dropout(x, 0.2)
    assert set(np.unique(values.detach().numpy())) == {0.0, 1.25}
    assert abs(values.detach().numpy().mean() - 1) < 0.05
    values.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), factors.detach().numpy())
    rl.manual_seed(7)
    np.testing.assert_array_equal(rl.dropout(x, 0.2)[0].detach().numpy(), values.detach().numpy())


def test_dropout_of_nothing_and_of_everything():
    x = rl.tensor([1.0, -2.0])
    assert rl.dropout(x, 0.7, False)[0].tolist() == [1.0, -2.0]
    assert rl.dropout(x, 0.0)[0].tolist() == [1.0, -2.0]
    assert rl.dropout(x, 1.0)[0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="between 0 and 1"):
        rl.dropout(x, 1.5)


@pytest.mark.parametrize("kind", [rl.float16, rl.bfloat16])
def test_rms_norm_of_short_floats_whose_squares_do_not_fit(kind):
    x = rl.tensor([[300.0, -300.0], [1e4, 0.0]]).to(kind)
    expected = [[1, -1], [2**0.5, 0]]
    result = rl.nn.functional.rms_norm(x, (2,))
    assert result.dtype is kind
    np.testing.assert_allclose(result.float(), expected, rtol=1e-2)


def test_batch_norm_of_an_empty_batch_changes_nothing():
    layer = rl.nn.BatchNorm2d(3)
    x = rl.zeros(0, 3, 2, 2, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == (0, 3, 2, 2)
    assert layer.running_mean.tolist() == layer.weight.grad.tolist() == [0, 0, 0]
    assert layer.running_var.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("rows", "length"), [(1, 5), (70, 8), (300, 56), (3, 5000)])
def test_layer_norm_of_rows_of_any_length(rows, length):
    random = np.random.default_rng(0)
    x, grad = random.standard_normal((2, rows, length))
    weight, bias = random.standard_normal((2, length))
    deviation = np.sqrt(x.var(1, keepdims=True) + 1e-5)
    unit = (x - x.mean(1, keepdims=True)) / deviation
    scaled = grad * weight
    inner = scaled - scaled.mean(1, keepdims=True) - unit * (scaled * unit).mean(1, keepdims=True)
    inputs = [
        rl.from_numpy(array.astype("float32")).requires_grad_() for array in (x, weight, bias)
    ]
    output = rl.nn.functional.layer_norm(inputs[0], (length,), inputs[1], inputs[2])
    np.testing.assert_allclose(output.detach().numpy(), unit * weight + bias, rtol=0, atol=1e-5)
    got = rl.autograd.grad(output, inputs, rl.from_numpy(grad.astype("float32")))
    for own, exact in zip(got, (inner / deviation, (grad * unit).sum(0), grad.sum(0)), strict=True):
        np.testing.assert_allclose(own.numpy(), exact, rtol=1e-4, atol=1e-4)
