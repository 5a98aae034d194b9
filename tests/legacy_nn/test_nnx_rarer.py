"""The rarer layers of package nnx (and inn.ROIWarping) against their mathematics."""

import itertools
import math

import numpy as np
import pytest
from layer_checks import assert_close, check_gradients, random, tensor
from scipy import special

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import inn, nnx


def test_two_thresholds():
    layer, x = nn.SaturatedLU(-0.5, -0.2, 0.7, 0.9), random(4, 5)
    assert_close(layer.forward(tensor(x)), np.where(x < -0.5, -0.2, np.where(x > 0.7, 0.9, x)))
    gradient = layer.backward(tensor(x), rl.ones(4, 5).double())
    assert_close(gradient, ((x >= -0.5) & (x <= 0.7)).astype(float))


def test_balanced_classes_over_the_last_batches():
    batches = [special.softmax(random(4, 3, seed=seed), 1) for seed in range(4)]
    layer = nn.Balance(3)
    for count, batch in enumerate(batches, 1):
        seen = np.concatenate(batches[max(0, count - 3) : count])
        chances = seen.sum(0) / seen.sum()
        divided = batch / chances
        sums = divided.sum(1, keepdims=True)
        assert_close(layer.forward(tensor(batch)), divided / sums)
        gradient = random(4, 3, seed=9)
        assert_close(layer.backward(tensor(batch), tensor(gradient)), gradient / (chances * sums))
    layer.forward(tensor(batches[0][:2]))  # another size begins anew
    assert layer.inputCache.shape == (6, 3)
    assert_close(layer.evaluate().forward(tensor(batches[0])), batches[0])


def riemannian(x, g, weight_gradient, bias_gradient, quasi):
    """The gradients of the first batch, row by row."""
    squares = g**2
    for row in range(g.shape[1]):
        corner = squares[:, row].sum()
        for column in range(x.shape[1]):
            diagonal = (squares[:, row] * x[:, column] ** 2).sum()
            cross = (squares[:, row] * x[:, column]).sum() if quasi else 0.0
            own = weight_gradient[row, column] * corner - cross * bias_gradient[row]
            weight_gradient[row, column] = own / (diagonal * corner - cross**2)
    crosses = squares.T @ x if quasi else np.zeros_like(weight_gradient)
    rest = bias_gradient - (crosses * weight_gradient).sum(1)
    return weight_gradient, rest / squares.sum(0)


@pytest.mark.parametrize("quasi", [True, False])
def test_gradients_in_a_riemannian_metric(quasi):
    layer = nnx.QDRiemaNNLinear(3, 2, 0.1, quasi)
    x, g = random(6, 3), random(6, 2, seed=1)
    assert_close(layer.forward(tensor(x)), x @ layer.weight.numpy().T)
    layer.zeroGradParameters()
    assert_close(layer.backward(tensor(x), tensor(g)), g @ layer.weight.numpy())
    weight, bias = riemannian(x, g, g.T @ x, g.sum(0), quasi)
    assert_close(layer.gradWeight, weight, 1e-9)
    assert_close(layer.gradBias, bias, 1e-9)
    first = layer.M00.numpy().copy()
    layer.backward(tensor(x), tensor(2 * g))
    assert_close(layer.M00, (0.9 + 0.4) * first, 1e-9)


def test_squares_of_pixels_become_planes():
    layer, x = nn.PixelSort(2), random(2, 3, 4, 6)
    y = layer.forward(tensor(x))
    assert_close(y[:, 5], x[:, 1, 0::2, 1::2])
    assert_close(nn.PixelShuffle(2).forward(y), x)
    assert_close(layer.forward(tensor(x[1])), y.numpy()[1])
    check_gradients(layer, tensor(x))
    with pytest.raises(ValueError, match="multiples of 2"):
        layer.forward(tensor(x[..., :3]))


def resampled(x, height, width, mode):
    result = np.zeros((x.shape[0], height, width))
    old = x.shape[1:]
    for i, j in itertools.product(range(height), range(width)):
        if height >= old[0]:
            row, column = i // math.ceil(height / old[0]), j // math.ceil(width / old[1])
            result[:, i, j] = x[:, row, column]
            continue
        step, stride = old[0] // height, old[1] // width
        window = x[:, i * step : (i + 1) * step, j * stride : (j + 1) * stride]
        result[:, i, j] = window[:, 0, 0] if mode == "simple" else window.mean((1, 2))
    return result


@pytest.mark.parametrize("mode", ["simple", "average"])
@pytest.mark.parametrize(("height", "width"), [(9, 12), (7, 8), (2, 3), (2, 2)])
def test_images_larger_or_smaller_in_both_directions(mode, height, width):
    layer, x = nn.SpatialReSamplingEx(owidth=width, oheight=height, mode=mode), random(2, 5, 6)
    assert_close(layer.forward(tensor(x)), resampled(x, height, width, mode))
    check_gradients(layer, tensor(x))


def test_ratios_are_rounded_and_other_dimensions_stay():
    x = random(4, 5, 2)
    layer = nn.SpatialReSamplingEx({"rheight": 0.4, "rwidth": 0.5, "yDim": 1, "xDim": 2})
    assert layer.forward(tensor(x)).shape == (2, 3, 2)
    bilinear = nn.SpatialReSamplingEx(owidth=3, oheight=3, mode="bilinear")
    corners = bilinear.forward(tensor(random(1, 2, 2))).numpy()[0]
    assert corners[1, 1] == pytest.approx(random(1, 2, 2).mean())
    with pytest.raises(ValueError, match="both grow or both shrink"):
        nn.SpatialReSamplingEx(owidth=3, oheight=9).forward(tensor(random(1, 5, 6)))
    with pytest.raises(ValueError, match="one of simple"):
        nn.SpatialReSamplingEx(owidth=3, oheight=9, mode="nearest")


@pytest.mark.parametrize(("height", "width"), [(2, 3), (4, 5), (7, 8)])
def test_largest_pixels_of_windows(height, width):
    x = random(2, 5, 7)
    expected = np.zeros((2, height, width))
    for i, j in itertools.product(range(height), range(width)):
        top, left = int(i * 5 / height), int(j * 7 / width)
        bottom = max(top + 1, int((i + 1) * 5 / height))
        right = max(left + 1, int((j + 1) * 7 / width))
        expected[:, i, j] = x[:, top:bottom, left:right].max((1, 2))
    layer = nn.SpatialMaxSampling({"owidth": width, "oheight": height})
    assert_close(layer.forward(tensor(x)), expected)
    check_gradients(layer, tensor(x))


def test_distances_from_what_lies_below():
    first, second = random(3, 4, 5), random(3, 6, 5, seed=1)
    expected = np.stack([((first - second[:, d : d + 4]) ** 2).sum(0) for d in range(3)], 2)
    layer = nn.SpatialRadialMatching(3)
    assert_close(layer.forward([tensor(first), tensor(second)]), expected)
    check_gradients(layer, tensor(first), tensor(second))
    with pytest.raises(ValueError, match="2 rows higher"):
        layer.forward([tensor(first), tensor(second[:, :5])])


def test_clocks(capsys):
    net = nn.Sequential().add(nn.Tic("a")).add(nn.Tanh()).add(nn.Toc("a", "tanh"))
    x = tensor(random(3))
    assert_close(net.forward(x), np.tanh(x.numpy()))
    assert capsys.readouterr().out.startswith("Toc 'a' (tanh) : ")
    with pytest.raises(RuntimeError, match=r"nn\.Tic named 'b' must run first"):
        nn.Toc("b").forward(x)


def test_a_layer_made_of_functions():
    def start(layer):
        layer.factor = 3

    layer = nn.FunctionWrapper(start, lambda m, x: x * m.factor, lambda m, x, g: g * m.factor)
    x = tensor(random(4))
    assert_close(layer.forward(x), 3 * x.numpy())
    assert_close(layer.backward(x, x), 3 * x.numpy())
    leaf = x.clone().requires_grad_()
    layer(leaf).sum().backward()
    assert leaf.grad.tolist() == [3.0] * 4


def test_modules_in_a_type_of_their_own():
    net, x = nn.Type("Float").add(nn.Linear(3, 2)).add(nn.Tanh()), random(4, 3)
    weight, bias = (p.numpy().astype(np.float64) for p in net.parameters()[0])
    expected = np.tanh(x @ weight.T + bias)
    y = net.forward(tensor(x))
    assert y.dtype == rl.float64
    assert_close(y, expected, 1e-6)
    gradient = net.backward(tensor(x), rl.ones(4, 2).double())
    assert gradient.dtype == rl.float64
    assert_close(gradient, (1 - expected**2) @ weight, 1e-6)


def test_a_forest_mixes_its_trees():
    trees = [{1: [2, 3, 4]}, {9: [5, 4], 5: [2, 3]}]
    forest, x = nn.SoftMaxForest(3, trees, [1, 9], [4]), tensor(random(2, 3))
    leaves = rl.tensor([3, 4])
    weights = forest.gater.forward([x, leaves]).numpy()
    own = np.stack([tree.forward([x, leaves]).numpy() for tree in forest.experts.modules], 1)
    assert_close(forest.forward([x, leaves]), (weights * own).sum(1))
    assert len(forest.parameters()[0]) == 8
    gradient = forest.backward([x, leaves], rl.ones(2).double())[1].numpy()
    small = 1e-6
    moved = forest.forward([x + small, leaves]) - forest.forward([x - small, leaves])
    assert_close(moved.numpy() / (2 * small), gradient.sum(1), 1e-7)


def warped(images, region, change, height, width):
    image, left, top, right, bottom = region
    spans = []
    for low, high, shift, growth, count in (
        (top, bottom, change[2], change[4], height),
        (left, right, change[1], change[3], width),
    ):
        size = high - low + 1
        middle, new = low + (size - 1) / 2 + shift * size, size * math.exp(growth)
        start, step = middle - (new - 1) / 2, (new - 1) / count
        spans.append([(start + (i + 0.5) * step, max(step, 2)) for i in range(count)])
    result = np.zeros((images.shape[1], height, width))
    for i, j in itertools.product(range(height), range(width)):
        total, weight = 0, 0
        for y, x in itertools.product(range(-20, 40), range(-20, 40)):
            (row, tall), (column, wide) = spans[0][i], spans[1][j]
            if abs(y - row) > tall / 2 or abs(x - column) > wide / 2:
                continue
            own = (tall - abs(y - row)) * (wide - abs(x - column))
            weight += own
            if 1 <= y <= images.shape[2] and 1 <= x <= images.shape[3]:
                total = total + own * images[int(image) - 1, :, y - 1, x - 1]
        result[:, i, j] = total / weight
    return result


def test_warped_regions():
    images = random(2, 3, 8, 9)
    regions = np.array([[1.0, 2, 1, 8, 7], [2, 3, 4, 9, 8]])
    changes = np.array([[1, 0.113, -0.21, 0.3, 0.13], [2, 0.037, 0.21, -0.43, 0.2]])
    layer = inn.ROIWarping(2, 3)
    given = [tensor(images), tensor(regions), tensor(changes)]
    expected = [warped(images, r, c, 2, 3) for r, c in zip(regions, changes, strict=True)]
    output = layer.forward(given)
    assert_close(output, np.array(expected))
    plain = [warped(images, region, [0] * 5, 2, 3) for region in regions]
    assert_close(layer.forward(given[:2]), np.array(plain))
    leaves = [given[0].clone().requires_grad_(), given[2].clone().requires_grad_()]
    assert rl.autograd.gradcheck(lambda x, c: layer([x, given[1], c]), leaves)
    layer.forward(given)
    gradient = layer.backward(given, rl.ones_like(output))
    assert not gradient[2].numpy().any()
    assert gradient[3].numpy()[:, 1:].all()


def test_networks_of_all_sizes_see_what_the_smaller_ones_gave():
    networks = [nn.SpatialConvolution(3, 1, 3, 3).double() for _ in range(2)]
    layer = nn.SpatialRecursiveFovea(2, 1, [1, 2], networks, None, None, 3)
    assert layer.ratios.as_list() == [2, 1]
    image = random(2, 6, 8)
    small = image.reshape(2, 3, 2, 4, 2).mean((2, 4))

    def padded(planes):
        return np.pad(planes, [(0, 0), (1, 1), (1, 1)])

    first = np.concatenate([padded(small), np.zeros((1, 5, 6))])
    coarse = networks[0].forward(tensor(first)).numpy()
    large = coarse.repeat(2, 1).repeat(2, 2)
    second = np.concatenate([padded(image), padded(large)])
    expected = networks[1].forward(tensor(second)).numpy()
    assert_close(layer.forward(tensor(image)), expected)
    batch = np.stack([image, random(2, 6, 8, seed=1)])
    assert_close(layer.forward(tensor(batch))[0], expected)
    assert len(layer.parameters()[0]) == 4
    gradient = layer.backward(tensor(image), tensor(random(1, 6, 8, seed=2)))
    assert gradient.shape == (2, 6, 8)
    with pytest.raises(ValueError, match="expected 2 planes"):
        layer.forward(tensor(image[:1]))
