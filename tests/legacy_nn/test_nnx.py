"""Layers of package nnx against their mathematics."""

import itertools
import math

import numpy as np
import pytest
from layer_checks import assert_close, check_gradients, random, tensor

import relume as rl
from relume import legacy_nn as nn


def check_criterion(criterion, x, target, *more):
    """forward and backward against the modern face and finite differences."""
    leaf = tensor(x).requires_grad_()
    assert rl.autograd.gradcheck(lambda v: criterion(v, target, *more), [leaf])
    loss = criterion(leaf, target, *more)
    loss.backward()
    given = tensor(x)
    assert criterion.forward(given, target, *more) == pytest.approx(loss.item())
    assert_close(criterion.backward(given, target, *more), leaf.grad.numpy())


# ---- resampling ----


def test_upsampling_and_downsampling():
    x = random(2, 3, 4, 6)
    up = nn.SpatialUpSampling(3, 2)
    assert_close(up.forward(tensor(x)), x.repeat(2, 2).repeat(3, 3))
    down = nn.SpatialDownSampling(3, 2)
    assert_close(down.forward(tensor(x)), x.reshape(2, 3, 2, 2, 2, 3).mean((3, 5)))
    assert_close(up.forward(tensor(x[0])), x[0].repeat(2, 1).repeat(3, 2))
    check_gradients(up, tensor(x))
    check_gradients(down, tensor(x))


def test_resampling_keeps_the_corners():
    x = random(2, 3, 4, 5)
    layer = nn.SpatialReSampling({"oheight": 7, "owidth": 9})
    y = layer.forward(tensor(x)).numpy()
    assert_close(y[:, :, ::6, ::8], x[:, :, ::3, ::4])
    # Every other pixel lies on one of the input's, the rest half-way.
    assert_close(y[:, :, 0, ::2], x[:, :, 0])
    assert_close(y[:, :, 0, 1::2], (x[:, :, 0, 1:] + x[:, :, 0, :-1]) / 2)
    ratio = nn.SpatialReSampling(rwidth=2, rheight=0.5)
    assert ratio.forward(tensor(x)).shape == (2, 3, 2, 10)
    check_gradients(layer, tensor(x))


@pytest.mark.parametrize("margins", [(1, 2, 3, 4), (1,), (-1, 1, 0, -2)])
def test_padding(margins):
    x = random(3, 4, 5)
    left, right, top, bottom = margins * 4 if len(margins) == 1 else margins
    layer = nn.SpatialPadding(*margins)
    padded = np.pad(x, ((0, 0), (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))))
    rows = slice(max(-top, 0), padded.shape[1] - max(-bottom, 0))
    columns = slice(max(-left, 0), padded.shape[2] - max(-right, 0))
    assert_close(layer.forward(tensor(x)), padded[:, rows, columns])
    check_gradients(layer, tensor(x))


# ---- places ----


def test_spatial_classifier_is_its_classifier_everywhere():
    inner = nn.Sequential().add(nn.Linear(3, 2)).add(nn.LogSoftMax())
    layer = nn.SpatialClassifier(inner)
    x = random(3, 4, 5)
    y = layer.forward(tensor(x)).numpy()
    for i, j in itertools.product(range(4), range(5)):
        assert_close(inner.forward(tensor(x[:, i, j])), y[:, i, j])
    batch = random(2, 3, 4, 5)
    assert_close(layer.forward(tensor(batch))[1], layer.forward(tensor(batch[1])).numpy())
    check_gradients(layer, tensor(batch))
    layer.zeroGradParameters()
    output = layer.forward(tensor(x))
    layer.backward(tensor(x), rl.ones_like(output))
    assert layer.parameters()[1][1].abs().sum().item() > 0


def test_spatial_classifier_of_a_file(tmp_path):
    layer = nn.SpatialClassifier(nn.Sequential().add(nn.Linear(2, 2)))
    x = tensor(random(2, 3, 3))
    expected = layer.forward(x).numpy()
    rl.save(layer, tmp_path / "layer.t7")
    assert_close(rl.load(tmp_path / "layer.t7").forward(x), expected)


def test_spatial_linear():
    layer, x = nn.SpatialLinear(3, 2), random(2, 3, 4, 5)
    expected = np.einsum("oi,bihw->bohw", layer.weight.numpy(), x)
    expected += layer.bias.numpy()[:, None, None]
    assert_close(layer.forward(tensor(x)), expected)
    assert_close(layer.forward(tensor(x[0])), expected[0])
    check_gradients(layer, tensor(x[:, :, :1, :2]))


def local_sums(image, kernel):
    height, width = kernel.shape
    margins = (height // 2, (height - 1) // 2), (width // 2, (width - 1) // 2)
    padded = np.pad(image.sum(0), margins)
    rows, columns = image.shape[1:]
    shifted = itertools.product(range(height), range(width))
    return sum(kernel[i, j] * padded[i : i + rows, j : j + columns] for i, j in shifted)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_spatial_normalization(threshold):
    x, kernel = random(3, 7, 8), np.random.default_rng(1).uniform(0.1, 1, (3, 5))
    weights = kernel / kernel.sum()
    total = local_sums(np.ones_like(x), weights)
    centred = x - local_sums(x, weights) / total
    deviation = np.sqrt(local_sums(centred**2, weights)) / total
    limit = max(deviation.mean(), 1e-3) if threshold is None else threshold
    layer = nn.SpatialNormalization(3, tensor(kernel), threshold)
    assert_close(layer.forward(tensor(x)), centred / np.maximum(deviation, limit))
    batch = np.stack([x, random(3, 7, 8, seed=3)])
    assert_close(layer.forward(tensor(batch))[0], layer.forward(tensor(x)).numpy())
    if threshold is not None:
        check_gradients(layer, tensor(x[:, :4, :5]))


def test_two_kernels_are_one_after_the_other():
    x, tiny = random(2, 6, 6), 1e-9
    column, row = np.array([[1.0], [2], [1]]), np.array([[1.0, 3, 1]])
    one = nn.SpatialNormalization(2, tensor(column @ row), tiny).forward(tensor(x))
    two = nn.SpatialNormalization(2, [tensor(row), tensor(column)], tiny).forward(tensor(x))
    # A second kernel adds up the two planes again, once in the root and once in its divisor.
    assert_close(two, one.numpy() * math.sqrt(2), 1e-9)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dist", ["euclid", "cosine"])
def test_graph_of_neighbours(dist, normalize):
    x = np.random.default_rng(0).uniform(0.1, 1, (3, 4, 5))
    expected = np.zeros((2, 4, 5))
    for plane, (down, right) in enumerate([(0, 1), (1, 0)]):
        for i, j in itertools.product(range(4 - down), range(5 - right)):
            a, b = x[:, i, j], x[:, i + down, j + right]
            if dist == "euclid":
                value = np.linalg.norm(a - b) / (math.sqrt(3) if normalize else 1)
            elif normalize:
                value = 1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
            else:
                value = 3 - a @ b
            expected[plane, i, j] = value
    layer = nn.SpatialGraph(dist, normalize)
    assert_close(layer.forward(tensor(x)), expected, 1e-10)
    check_gradients(layer, tensor(x))


@pytest.mark.parametrize("full", [True, False])
def test_matching(full):
    first, second = random(2, 5, 6), random(2, 5, 6, seed=1)
    height, width = 2, 3
    layer = nn.SpatialMatching(width, height, full)
    shift = (math.ceil(height / 2) - 1, math.ceil(width / 2) - 1) if full else (0, 0)
    rows, columns = (5, 6) if full else (4, 4)
    expected = np.full((rows, columns, height, width), 1e30)
    for i, j, a, b in np.ndindex(*expected.shape):
        r, c = i + a - shift[0], j + b - shift[1]
        if 0 <= r < 5 and 0 <= c < 6:
            expected[i, j, a, b] = ((first[:, i, j] - second[:, r, c]) ** 2).sum()
    assert_close(layer.forward([tensor(first), tensor(second)]), expected)
    if not full:
        check_gradients(layer, tensor(first), tensor(second))


def test_colors_and_back():
    x = np.random.default_rng(0).uniform(0, 1, (3, 4, 5))
    yuv = nn.SpatialColorTransform("rgb2yuv").forward(tensor(x))
    grey = 0.299 * x[0] + 0.587 * x[1] + 0.114 * x[2]
    assert_close(yuv[0], grey)
    assert_close(nn.SpatialColorTransform("rgb2y").forward(tensor(x)), grey[None])
    assert_close(nn.SpatialColorTransform("yuv2rgb").forward(yuv), x, 1e-4)
    both = nn.SpatialColorTransform("rgb2y+nrgb").forward(tensor(x))
    assert_close(both[1:], x / x.sum(0), 1e-4)
    with pytest.raises(ValueError, match="no conversion"):
        nn.SpatialColorTransform("cmyk")


# ---- pyramids ----


def test_pyramid_sees_the_same_at_one_place_and_everywhere():
    rl.manual_seed(0)
    processors = [nn.SpatialConvolution(1, 2, 3, 3), nn.SpatialConvolution(1, 2, 3, 3)]
    layer = nn.SpatialPyramid([1, 2], processors, 3, 3, 1, 1)
    x = tensor(random(1, 8, 8))
    whole = layer.forward(x)
    assert whole.shape == (4, 8, 8)
    layer.focus(4, 5)
    one = layer.forward(x)
    assert one.shape == (4, 1, 1)
    assert_close(one[:2, 0, 0], whole[:2, 4, 3].numpy())
    layer.focus(None)
    check_gradients(layer, x)


def test_fovea():
    rl.manual_seed(0)
    processors = [nn.SpatialConvolution(1, 2, 3, 3), nn.SpatialConvolution(1, 3, 3, 3)]
    layer = nn.SpatialFovea(1, [1, 2], processors, None, 3, 1)
    x = tensor(random(1, 8, 8))
    whole = layer.forward(x)
    assert whole.shape == (5, 8, 8)
    layer.focus(4, 5)
    one = layer.forward(x)
    assert_close(one[:, 0, 0], whole[:, 4, 3].numpy())
    assert len(layer.parameters()[0]) == 4


# ---- trees ----


def test_tree_of_softmaxes():
    rl.manual_seed(0)
    hierarchy = {29: [30, 1, 2], 1: [3, 4], 2: [5, 6, 7]}
    tree = nn.SoftMaxTree(3, hierarchy, 29)
    x = random(4, 3)
    leaves = [30, 4, 7, 5]
    output = tree.forward([tensor(x), rl.tensor(leaves)])
    for row, leaf in enumerate(leaves):
        expected, node = 0.0, leaf
        while node != 29:
            parent = next(p for p, family in hierarchy.items() if node in family)
            (weight, bias), _ = tree.getNodeParameters(parent)
            scores = weight.numpy() @ x[row] + bias.numpy()
            place = hierarchy[parent].index(node)
            expected += scores[place] - np.log(np.exp(scores).sum())
            node = parent
        assert output[row].item() == pytest.approx(expected)
    tree.zeroGradParameters()
    gradient = tree.backward([tensor(x), rl.tensor(leaves)], output * 0 + 1)
    assert gradient[1].shape == (4, 3)
    assert gradient[2].shape == (4,)
    leaf = tensor(x).requires_grad_()
    assert rl.autograd.gradcheck(lambda v: tree([v, rl.tensor(leaves)]), [leaf])
    with pytest.raises(IndexError, match="not below the root"):
        tree.forward([tensor(x), rl.tensor([30, 31, 4, 4])])


def test_tree_criterion():
    x = random(5)
    assert nn.TreeNLLCriterion().forward(tensor(x), None) == pytest.approx(-x.mean())
    assert_close(nn.TreeNLLCriterion().backward(tensor(x), None), np.full(5, -0.2))


# ---- tables ----


def test_pushed_elements_come_back_with_their_gradients():
    push = nn.PushTable(2)
    net = nn.Sequential().add(push).add(nn.SelectTable(1)).add(nn.MulConstant(3)).add(push.pull(2))
    x = [tensor(random(3)), tensor(random(2, seed=1))]
    output = net.forward(x)
    assert_close(output[1], 3 * x[0].numpy())
    assert output[2] is x[1]
    gradient = net.backward(x, [rl.ones_like(x[0]), rl.full_like(x[1], 5.0)])
    assert_close(gradient[1], np.full(3, 3.0))
    assert_close(gradient[2], np.full(2, 5.0))


def test_small_layers(capsys):
    x = random(2, 3, 4)
    assert_close(nn.Minus().forward(tensor(x)), -x)
    exponents = np.exp(x)
    soft = nn.MultiSoftMax()
    assert_close(soft.forward(tensor(x)), exponents / exponents.sum(2, keepdims=True))
    check_gradients(soft, tensor(x))
    probe = nn.Probe("here", size=True, backw=True)
    probe.backward(probe.forward(tensor(x)), tensor(x))
    assert "<probe::here> backward()\n 2\n 3\n 4" in capsys.readouterr().out


# ---- criterions ----


def test_super_criterion():
    criterion = nn.SuperCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion())
    first, second, target = random(4), random(4, seed=1), random(4, seed=2)
    expected = 0.5 * ((first - target) ** 2).mean() + abs(second - target).mean()
    x = [tensor(first), tensor(second)]
    assert criterion.forward(x, tensor(target)) == pytest.approx(expected)
    assert_close(criterion.backward(x, tensor(target))[1], 0.5 * (first - target) / 2)


def test_sparse_criterions():
    x = random(2, 3, 4)
    assert nn.SparseCriterion().forward(tensor(x), None) == pytest.approx(abs(x).mean())
    spatial = nn.SpatialSparseCriterion()
    assert spatial.forward(tensor(x), None) == pytest.approx(abs(x).sum(0).mean())
    check_criterion(nn.SparseCriterion(False), x, None)
    check_criterion(spatial, x, None)


@pytest.mark.parametrize("is_distance", [False, True])
def test_dist_nll_criterion(is_distance):
    x, target = random(5), random(5, seed=1)
    criterion = nn.DistNLLCriterion()
    criterion.inputIsADistance = is_distance
    likely = -x if is_distance else x
    log_probabilities = likely - np.log(np.exp(likely).sum())
    wanted = np.exp(target) / np.exp(target).sum()
    assert criterion.forward(tensor(x), tensor(target)) == pytest.approx(
        -(log_probabilities * wanted).sum()
    )
    check_criterion(criterion, x, tensor(target))


def test_dist_margin_criterion():
    x = random(2, 4)
    target = np.array([[2.0, 4, 0, 0], [1, 0, 0, 0]])
    expected = 0.0
    for row, labels in zip(x, [[1, 3], [0]], strict=True):
        lowest = min(row[label] for label in labels)
        others = [v for d, v in enumerate(row) if d not in labels]
        expected += sum(max(0, 1 - lowest + v) for v in others)
    criterion = nn.DistMarginCriterion()
    assert criterion.forward(tensor(x), tensor(target)) == pytest.approx(expected / 4)
    check_criterion(criterion, x, tensor(target))


def ctc_by_enumeration(log_probabilities, labels):
    """Minus the log of the sum over all alignments."""
    steps, classes = log_probabilities.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        merged = [c for t, c in enumerate(path) if t == 0 or c != path[t - 1]]
        if [c for c in merged if c] == labels:
            total += math.exp(sum(log_probabilities[t, c] for t, c in enumerate(path)))
    return -math.log(total)


@pytest.mark.parametrize("batch_first", [False, True])
def test_ctc_criterion(batch_first):
    x, labels = random(4, 2, 3), [[1, 2], [2]]
    log_probabilities = x - np.log(np.exp(x).sum(2, keepdims=True))
    criterion = nn.CTCCriterion(batch_first)
    given = x.swapaxes(0, 1) if batch_first else x
    expected = [ctc_by_enumeration(log_probabilities[:, n], labels[n]) for n in range(2)]
    assert criterion.forward(tensor(given), labels) == pytest.approx(sum(expected))
    shorter = ctc_by_enumeration(log_probabilities[:3, 1], labels[1])
    sizes = rl.tensor([4, 3])
    assert criterion.forward(tensor(given), labels, sizes) == pytest.approx(expected[0] + shorter)
    check_criterion(criterion, given, labels)
    check_criterion(criterion, given, labels, sizes)


def test_resampling_takes_gradients_of_another_size_than_its_own():
    x, gradient = rl.randn((1, 2, 8, 8)), rl.randn((1, 2, 4, 4))
    small = nn.SpatialReSampling(owidth=4, oheight=4)
    small.forward(x)
    expected = small.backward(x, gradient).tolist()
    assert (
        nn.SpatialReSampling(owidth=8, oheight=8).updateGradInput(x, gradient).tolist() == expected
    )
