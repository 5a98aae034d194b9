"""Layers of the smaller packages against their mathematics, written out with NumPy loops."""

import itertools
import math

import numpy as np
import pytest
from layer_checks import assert_close, check_gradients, random, tensor

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import inn

# ---- inn ----


def pooled_regions(images, regions, width, height, scale):
    result = np.zeros((len(regions), images.shape[1], height, width))
    for n, (image, *corners) in enumerate(regions):
        left, top, right, bottom = (math.floor((c - 1) * scale + 0.5) for c in corners)
        h, w = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i, j in itertools.product(range(height), range(width)):
            rows = range(
                max(0, top + math.floor(i * h / height)),
                min(images.shape[2], top + math.ceil((i + 1) * h / height)),
            )
            columns = range(
                max(0, left + math.floor(j * w / width)),
                min(images.shape[3], left + math.ceil((j + 1) * w / width)),
            )
            if rows and columns:
                part = images[int(image) - 1][:, rows.start : rows.stop]
                part = part[:, :, columns.start : columns.stop]
                result[n, :, i, j] = part.max((1, 2))
    return result


@pytest.mark.parametrize("scale", [1, 0.5])
def test_roi_pooling(scale):
    images = random(2, 3, 8, 9)
    regions = np.array([[1.0, 1, 1, 9, 8], [2, 3, 2, 6, 7], [2, 5, 5, 5, 5]])
    layer = inn.ROIPooling(3, 2, scale)
    output = layer.forward([tensor(images), tensor(regions)])
    assert_close(output, pooled_regions(images, regions, 3, 2, scale))
    gradient = layer.backward([tensor(images), tensor(regions)], rl.ones_like(output))
    assert gradient[1].shape == images.shape
    assert gradient[1].sum().item() == pytest.approx(output.numel())
    assert not gradient[2].numpy().any()


def test_pyramid_pooling_of_any_size():
    layer = inn.SpatialPyramidPooling([[1, 1], [2, 3]])
    x = random(2, 5, 7, 6)
    y = layer.forward(tensor(x)).numpy()
    assert_close(y[:, :5], x.max((2, 3)))
    assert y.shape == (2, 5 + 5 * 6)
    single = layer.forward(tensor(x[0]))
    assert_close(single, y[0])
    check_gradients(layer, tensor(x))


def test_same_response_normalization():
    x = random(2, 3, 5, 4)
    padded = np.pad(x * x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    mean = sum(padded[:, :, i : i + 5, j : j + 4] for i in range(3) for j in range(3)) / 9
    layer = inn.SpatialSameResponseNormalization(3, 0.1, 0.75)
    assert_close(layer.forward(tensor(x)), x / (1 + 0.1 * mean) ** 0.75)
    check_gradients(layer, tensor(x))


def test_mean_subtraction():
    x, mean = random(2, 3, 4, 4), random(3, 1, 1, seed=1)
    assert_close(inn.MeanSubtraction(tensor(mean)).forward(tensor(x)), x - mean)


def test_stochastic_pooling():
    x = np.abs(random(2, 3, 5, 5))
    layer = inn.SpatialStochasticPooling(2, 2, 2, 2)
    layer.evaluate()
    y = layer.forward(tensor(x)).numpy()
    assert y.shape == (2, 3, 3, 3)  # windows that stick out count
    window = x[:, :, :2, :2].reshape(2, 3, 4)
    assert_close(y[:, :, 0, 0], (window**2).sum(2) / window.sum(2))
    layer.training()
    given = tensor(x)
    drawn = layer.forward(given)
    assert all(value in x for value in drawn.numpy().ravel())
    gradient = layer.backward(given, rl.ones_like(drawn))
    assert gradient.sum().item() == pytest.approx(y.size)
    with pytest.raises(RuntimeError, match="needs the forward"):
        layer.backward(given.clone(), rl.ones_like(drawn))


@pytest.mark.parametrize("name", ["SpatialMaxPooling", "SpatialAveragePooling"])
def test_poolings_of_inn_count_windows_that_stick_out(name):
    x = tensor(random(1, 2, 5, 5))
    expected = getattr(nn, name)(2, 2, 2, 2).ceil().forward(x)
    assert expected.shape == (1, 2, 3, 3)
    assert_close(getattr(inn, name)(2, 2, 2, 2).forward(x), expected.numpy())


def test_stochastic_pooling_draws_in_proportion():
    rl.manual_seed(5)
    image = rl.tensor([[[1.0, 3.0]]], dtype=rl.float64).expand((4000, 1, 2)).reshape((1, -1, 1, 2))
    drawn = inn.SpatialStochasticPooling(2, 1).forward(image)
    assert (drawn == 3).to(rl.float64).mean().item() == pytest.approx(0.75, abs=0.03)


# ---- stn ----


def sampled(images, grid):
    batch, height, width, _ = grid.shape
    result = np.zeros((batch, height, width, images.shape[3]))
    for b, i, j in itertools.product(range(batch), range(height), range(width)):
        y, x = (
            (c + 1) * (n - 1) / 2 for c, n in zip(grid[b, i, j], images.shape[1:3], strict=True)
        )
        for r, c in itertools.product(
            (math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)
        ):
            if 0 <= r < images.shape[1] and 0 <= c < images.shape[2]:
                result[b, i, j] += (1 - abs(y - r)) * (1 - abs(x - c)) * images[b, r, c]
    return result


def test_bilinear_sampler():
    images, grid = random(2, 5, 6, 3), np.random.default_rng(1).uniform(-1.2, 1.2, (2, 3, 4, 2))
    layer = nn.BilinearSamplerBHWD()
    assert_close(layer.forward([tensor(images), tensor(grid)]), sampled(images, grid))
    assert_close(layer.forward([tensor(images[0]), tensor(grid[0])]), sampled(images, grid)[0])
    check_gradients(layer, tensor(images), tensor(grid))


def test_affine_grid():
    matrices = random(2, 2, 3)
    layer = nn.AffineGridGeneratorBHWD(3, 4)
    grid = layer.forward(tensor(matrices))
    for i, j in itertools.product(range(3), range(4)):
        place = np.array([-1 + i, -1 + 2 * j / 3, 1])
        assert_close(grid[:, i, j], matrices @ place)
    assert_close(layer.forward(tensor(matrices[1])), grid[1].numpy())
    check_gradients(layer, tensor(matrices))


@pytest.mark.parametrize("switches", list(itertools.product([True, False], repeat=3)))
def test_affine_matrices(switches):
    rotation, scale, shift = switches
    layer = nn.AffineTransformMatrixGenerator(*switches)
    count = rotation + scale + 2 * shift or 6
    parameters = random(3, count)
    expected = []
    for row in parameters:
        matrix, rest = np.eye(3), list(row)
        if rotation:
            a = rest.pop(0)
            matrix = matrix @ np.array(
                [[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]]
            )
        if scale:
            factor = rest.pop(0)
            matrix = matrix @ np.diag([factor, factor, 1])
        if shift:
            matrix = matrix @ np.array([[1, 0, rest.pop(0)], [0, 1, rest.pop(0)], [0, 0, 1]])
        expected.append(matrix[:2] if any(switches) else row.reshape(2, 3))
    assert_close(layer.forward(tensor(parameters)), np.array(expected))
    assert_close(layer.forward(tensor(parameters[0])), expected[0])
    check_gradients(layer, tensor(parameters))


def test_affine_matrices_check_their_parameters():
    with pytest.raises(ValueError, match="expected 3 parameters"):
        nn.AffineTransformMatrixGenerator(True, False, True).forward(rl.zeros(2, 6))


# ---- fbnn and fbcunn ----


def test_locally_connected():
    x = random(2, 3, 5, 6)
    layer = nn.LocallyConnected(3, 6, 5, 2, 3, 2, 2, 1)
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    expected = np.zeros((2, 2, 4, 2))
    for o, i, j in itertools.product(range(2), range(4), range(2)):
        part = x[:, :, i : i + 2, 2 * j : 2 * j + 3]
        expected[:, o, i, j] = (part * weight[o, i, j]).sum((1, 2, 3)) + bias[o, i, j]
    assert_close(layer.forward(tensor(x)), expected)
    assert_close(layer.forward(tensor(x[0])), expected[0])
    check_gradients(layer, tensor(x))


def test_l2_normalize():
    x = random(4, 3)
    layer = nn.L2Normalize()
    assert_close(layer.forward(tensor(x)), x / np.linalg.norm(x, axis=1, keepdims=True))
    check_gradients(layer, tensor(x))


def test_cross_map_normalization():
    x = random(2, 5, 3, 3)
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    mean = sum(squares[:, i : i + 5] for i in range(3)) / 3
    layer = nn.CrossMapNormalization(3, 0.5, 0.75)
    assert_close(layer.forward(tensor(x)), x / (1 + 0.5 * mean) ** 0.75)
    check_gradients(layer, tensor(x))


def test_pooling_of_the_largest_steps():
    x = np.array([[1.0, 9], [5, 2], [3, 4], [0, 8]])
    layer = nn.TemporalKMaxPooling(2)
    assert_close(layer.forward(tensor(x)), np.array([[5.0, 9], [3, 8]]))
    groups = nn.GroupKMaxPooling(2)
    assert_close(groups.forward(tensor(x)), np.array([[1.0, 9], [0, 8]]))
    half = nn.TemporalKMaxPooling(1, 0.75)
    assert half.forward(tensor(x)).shape == (3, 2)
    batch = random(3, 6, 4)
    check_gradients(layer, tensor(batch))
    check_gradients(groups, tensor(batch))


def test_weighted_lookup_table():
    layer = nn.WeightedLookupTable(5, 3)
    rows = np.array([[2.0, 0.5], [5, -1], [2, 2]])
    weight = layer.weight.numpy()
    output = layer.forward(tensor(rows))
    assert_close(output, weight[[1, 4, 1]] * rows[:, 1:])
    gradient = layer.backward(tensor(rows), rl.ones_like(output))
    assert_close(gradient[:, 1], weight[[1, 4, 1]].sum(1))
    assert_close(layer.gradWeight[1], np.full(3, 2.5))


def test_linear_without_gradient_of_the_input():
    layer, x = nn.LinearNoBackprop(3, 2), tensor(random(4, 3))
    output = layer.forward(x)
    assert not layer.backward(x, rl.ones_like(output)).numpy().any()
    assert_close(layer.gradBias, np.full(2, 4.0))


def test_lookup_table_with_features_first():
    layer = nn.LookupTableGPU(5, 3, True)
    indices = rl.tensor([[1, 2], [3, 5]])
    assert_close(layer.forward(indices), layer.weight.numpy()[[[0, 1], [2, 4]]].swapaxes(1, 2))


def test_temporal_convolution_with_a_weight_of_three_dimensions():
    layer, x = nn.TemporalConvolutionFB(3, 2, 2), random(5, 3)
    assert layer.weight.shape == (2, 2, 3)
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    expected = [np.einsum("okf,kf->o", weight, x[t : t + 2]) + bias for t in range(4)]
    assert_close(layer.forward(tensor(x)), np.array(expected))
    check_gradients(layer, tensor(x))


def test_individual_dropout():
    rl.manual_seed(2)
    layer = nn.IndividualDropout(rl.tensor([0.0, 0.75], dtype=rl.float64))
    y = layer.forward(rl.ones(2000, 2, dtype=rl.float64)).numpy()
    assert (y[:, 0] == 1).all()
    assert set(np.unique(y[:, 1])) == {0.0, 4.0}
    assert y[:, 1].mean() == pytest.approx(1, abs=0.15)
    layer.evaluate()
    assert (layer.forward(rl.ones(3, 2, dtype=rl.float64)).numpy() == 1).all()


def test_sequential_criterion_trains_its_module():
    module = nn.Linear(2, 1)
    criterion = nn.SequentialCriterion(module, nn.MSECriterion())
    x, target = tensor(random(3, 2)), tensor(random(3, 1, seed=1))
    plain = nn.MSECriterion()
    assert criterion.forward(x, target) == plain.forward(module.forward(x), target)
    module.zeroGradParameters()
    gradient = criterion.backward(x, target)
    own = criterion.parameters()[1][0].clone()
    module.zeroGradParameters()
    assert_close(gradient, module.backward(x, plain.backward(module.output, target)).numpy())
    assert_close(own, module.gradWeight.numpy())


def test_the_norm_of_neighbouring_zeros_has_gradient_zero():
    layer = nn.FeatureLPPooling(2, 2, 2).double()
    x = rl.tensor([0.0, 0.0, 3.0, 4.0], dtype=rl.float64)
    assert layer.forward(x).tolist() == [0.0, 5.0]
    gradient = layer.backward(x, rl.ones(2, dtype=rl.float64)).tolist()
    assert gradient == pytest.approx([0.0, 0.0, 0.6, 0.8])
