"""Layers and criterions of fbnn and fbcunn against their mathematics."""

import numpy as np
import pytest
from layer_checks import assert_close, check_gradients, random, tensor
from scipy import ndimage, special

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import fbnn

MAPPING = [[1, 1], [2, 1], [1, 2], [2, 2], [2, 3]]


def labels(*numbers):
    return rl.tensor(list(numbers))


# ---- criterions ----


def test_clusters_of_classes_are_probabilities():
    criterion, x = nn.HSM(MAPPING, 4), tensor(random(1, 4))
    losses = [criterion.forward(x, labels(label)) for label in range(1, 6)]
    assert np.exp(-np.array(losses)).sum() == pytest.approx(1, abs=1e-12)
    assert criterion.forward(x[0], labels(3)) == pytest.approx(losses[2], abs=1e-12)
    batch = rl.cat([x, x, x], 0)
    assert criterion.forward(batch, labels(1, 3, 5)) == pytest.approx(losses[0] + sum(losses[2::2]))


def test_clusters_of_classes_learn():
    criterion, x, target = nn.HSM(MAPPING, 4), tensor(random(3, 4)), labels(1, 4, 5)
    parameters, gradients = criterion.parameters()

    def value(x, *parameters):
        return criterion.value(x, target, *parameters)

    assert rl.autograd.gradcheck(
        value, [leaf.detach().clone().requires_grad_() for leaf in (x, *parameters)]
    )
    criterion.zeroGradParameters()
    criterion.forward(x, target)
    criterion.backward(x, target, 0.5)
    leaf = x.clone().requires_grad_()
    halves = [gradient.clone() for gradient in gradients]
    criterion(leaf, target).backward()
    assert_close(criterion.gradInput, leaf.grad.numpy())
    for half, gradient in zip(halves, gradients, strict=True):  # the modern face adds to them
        assert_close(gradient, 3 * half.numpy())
    before = criterion.forward(x, target)
    criterion.updateParameters(0.01)
    assert criterion.forward(x, target) < before


def test_an_unknown_class_does_not_count_in_clusters():
    criterion, x = nn.HSM(MAPPING, 4, 2), tensor(random(2, 4))
    assert criterion.forward(x, labels(2, 3)) == pytest.approx(criterion.forward(x[1:], labels(3)))


def test_one_vector_at_a_time():
    mapping = rl.tensor(MAPPING)
    one = nn.ClassHierarchicalNLLCriterion(mapping, rl.tensor([2, 3]), 4)
    many, x = nn.HSM(mapping, 4), tensor(random(4))
    for own, other in zip(one.parameters()[0], many.parameters()[0], strict=True):
        other.copy_(own)
    assert one.forward(x, 4) == pytest.approx(many.forward(x, labels(4)), abs=1e-14)
    assert_close(one.updateGradInput(x, 4), many.backward(x, labels(4)).numpy())
    assert_close(one.classMatrixDx, many.class_grad_weight.numpy())


@pytest.mark.parametrize("mapping", [[[1, 1], [3, 1]], [[1, 1], [1, 1]], [[1, 1], [1, 3]]])
def test_a_mapping_with_gaps_is_refused(mapping):
    with pytest.raises(ValueError, match="without gaps"):
        nn.HSM(mapping, 4)


def test_unknown_classes_make_the_mean_a_sum():
    x = tensor(random(3, 4))
    criterion = nn.ClassNLLCriterionWithUNK(4)
    assert criterion.forward(x, labels(1, 2, 3)) == pytest.approx(
        -(x[0, 0] + x[1, 1] + x[2, 2]).item() / 3
    )
    assert criterion.forward(x, labels(1, 4, 3)) == pytest.approx(-(x[0, 0] + x[2, 2]).item())
    gradient = criterion.backward(x, labels(1, 4, 3)).numpy()
    expected = np.zeros((3, 4))
    expected[0, 0] = expected[2, 2] = -1
    assert_close(gradient, expected)
    assert criterion.forward(x, labels(4, 4, 4)) == 0


def test_sparse_targets():
    scores = special.log_softmax(random(2, 5), 1)
    chances, classes = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[1, 3], [5, 2]])
    dense = np.zeros((2, 5))
    np.put_along_axis(dense, classes - 1, chances, 1)
    criterion = nn.SparseNLLCriterion(2)
    target = [tensor(chances), tensor(classes)]
    assert criterion.forward(tensor(scores), target) == pytest.approx(-(scores * dense).sum() / 2)
    assert_close(criterion.backward(tensor(scores), target), -dense / 2)
    with pytest.raises(ValueError, match="add up to 1"):
        criterion.forward(tensor(scores), [tensor(chances / 2), tensor(classes)])


def test_soft_plus_of_sums():
    x = random(3, 4) * 5
    sums = special.logsumexp(x, 1)
    plus = nn.SoftPlusLSECriterion().forward(tensor(x))
    assert plus == pytest.approx(np.log1p(np.exp(sums)).sum(), abs=1e-10)
    minus = nn.SoftPlusLSEMinusLSECriterion()
    assert minus.forward(tensor(x)) == pytest.approx(np.log1p(np.exp(-sums)).sum(), abs=1e-10)
    odds = special.softmax(x, 1) * (special.expit(sums) - 1)[:, None]
    assert_close(minus.backward(tensor(x)), odds, 1e-10)


# ---- sequences ----


@pytest.mark.parametrize(("k", "share", "count"), [(2, None, 2), (1, 0.5, 3), (9, None, 9)])
def test_the_largest_steps(k, share, count):
    x = random(6, 3)
    expected = np.zeros((count, 3))
    for feature in range(3):
        places = np.sort(np.argsort(-x[:, feature])[:count])
        expected[: len(places), feature] = x[places, feature]
    layer = nn.KMaxPooling(k, share)
    assert_close(layer.forward(tensor(x)), expected)
    assert layer.backward(tensor(x), rl.ones(count, 3).double()).sum().item() == min(count, 6) * 3


def test_convolutions_over_sequences_agree():
    plain = nn.TemporalConvolution(3, 4, 2)
    unfolded = nn.UnfoldedTemporalConvolution(3, 4, 2)
    turned = nn.TemporalConvolutionTBC(3, 4, 2)
    unfolded.weight.copy_(plain.weight)
    turned.weight.copy_(plain.weight.detach().reshape((4, 2, 3)).permute((1, 2, 0)))
    for layer in (unfolded, turned):
        layer.bias.copy_(plain.bias)
    x = tensor(random(2, 6, 3))
    expected = plain.forward(x).numpy()
    assert_close(unfolded.forward(x), expected)
    assert_close(unfolded.forward(x[0]), expected[0])
    assert_close(turned.forward(x.transpose(0, 1)).transpose(0, 1), expected)
    check_gradients(nn.UnfoldedTemporalConvolution(3, 2, 3, 1, 2), x)
    check_gradients(nn.TemporalConvolutionTBC(3, 2, 3, 1), x)


def test_an_unfolded_convolution_shares_its_linear_layer():
    layer = nn.UnfoldedTemporalConvolution(3, 4, 2)
    flat, _ = layer.getParameters()
    flat.fill_(2)
    assert (layer.linear.weight == 2).all()
    assert nn.UnfoldedTemporalConvolution(3, 4, 2).noBias().linear.bias is None


# ---- dropout ----


def test_nested_dropout_keeps_the_first_features():
    rl.manual_seed(1)
    layer, x = fbnn.NestedDropout(0.3), rl.ones(4000, 5).double()
    y = layer.forward(x).numpy()
    kept = y > 0
    assert (np.diff(kept.astype(int), axis=1) <= 0).all()
    powers = 0.7 ** np.arange(1, 6)
    assert_close(y[kept], np.broadcast_to(1 / powers, y.shape)[kept])
    assert np.abs(kept.mean(0) - powers / 0.7).max() < 0.03
    assert_close(layer.backward(x, x), y)
    assert_close(layer.evaluate().forward(x), x.numpy())


def test_plain_dropout_scales_in_evaluation():
    layer, x = fbnn.Dropout(0.25), rl.ones(1000).double()
    assert set(layer.forward(x).tolist()) == {0.0, 1.0}
    assert (layer.evaluate().forward(x) == 0.75).all()


# ---- small layers ----


def test_normalized_weights():
    layer, x = fbnn.NormalizedLinearNoBias(3, 4), tensor(random(2, 3))
    before = layer.weight.numpy().copy()
    assert_close(layer.forward(x), x.numpy() @ before.T)
    layer.training()
    layer.forward(x)
    assert_close(layer.weight, before / np.linalg.norm(before) * 2)
    layer.backward(x, rl.ones(2, 4).double())
    assert not layer.gradBias.numpy().any()


def test_a_gradient_loses_its_part_along_the_input():
    x, g = random(3, 4), random(3, 4, seed=1)
    layer = fbnn.ProjectiveGradientNormalization()
    assert_close(layer.forward(tensor(x)), x)
    gradient = layer.backward(tensor(x), tensor(g)).numpy()
    assert (gradient * x).sum() == pytest.approx(0, abs=1e-12)
    assert_close(g - gradient, x * (g * x).sum() / (x**2).sum())


def test_a_fixed_slope():
    layer, x = fbnn.LeakyReLU(0.25), tensor(np.array([-2.0, 4.0]))
    assert layer.forward(x).tolist() == [-0.5, 4.0]
    assert layer.backward(x, rl.ones(2).double()).tolist() == [0.25, 1.0]
    layer.updateParameters(1)
    assert layer.weight.tolist() == [0.25]


def test_how_often_a_row_was_used_scales_its_step():
    layer, rows = nn.FasterLookup(4, 2, False, True), rl.tensor([1, 3, 1], dtype=rl.int32)
    before = layer.weight.numpy().copy()
    layer.zeroGradParameters()
    layer.forward(rows)
    layer.backward(rows, tensor(np.array([[1.0, 1], [1, 1], [3, 3]])))
    layer.updateParameters(0.1)
    assert_close(
        before - layer.weight.numpy(), 0.1 * np.array([[2.0] * 2, [0] * 2, [1] * 2, [0] * 2])
    )
    layer.accUpdateGradParameters(rows, rl.ones(3, 2).double(), 0.5)
    assert layer.count.tolist() == [2, 0, 1, 0]


def test_a_cache_shows_its_table():
    table = nn.LookupTable(5, 2)
    cache, rows = nn.CachingLookupTable(table, 3), labels(2, 5)
    assert_close(cache.forward(rows), table.weight.numpy()[[1, 4]])
    cache.accUpdateGradParameters(rows, rl.ones(2, 2).double(), 0.5)
    assert_close(cache.forward(rows), table.weight.numpy()[[1, 4]])
    assert len(cache.parameters()[0]) == 0


# ---- sparse vectors ----


def sparse(dense):
    places = np.flatnonzero(dense)
    return np.stack([places + 1.0, dense[places]], 1)


def test_sparse_vectors_as_keys_and_values():
    layer = fbnn.SparseLinear(6, 3)
    rows = np.stack(
        [sparse(np.array([0, 2.0, 0, -1, 0, 0])), sparse(np.array([3.0, 0, 0, 0, 0, 4]))]
    )
    expected = layer.forward(tensor(rows)).numpy()
    keys, values = tensor(rows[..., 0].astype(int)), tensor(rows[..., 1])
    assert_close(layer.forward([keys, values]), expected)
    assert_close(layer.forward([keys[0], values[0]]), expected[:1])


def test_entries_of_all_samples_in_one_list():
    dense = np.array([[0, 2.0, 0, -1], [3, 0, 0, 0], [0, 0, 0, 0]])
    samples, indices = np.nonzero(dense)
    entries = [tensor(samples + 1), tensor(indices + 1), tensor(dense[samples, indices])]
    entries = rl.Table(entries)
    entries["batch_size"] = 3
    layer = fbnn.SegSparseLinear(4, 2)
    weight, bias = layer.weight.numpy().copy(), layer.bias.numpy().copy()
    assert_close(layer.forward(entries), dense @ weight + bias)
    g = random(3, 2)
    layer.backward(entries, tensor(g))
    assert_close(layer.gradWeight, dense.T @ g)
    layer.updateParameters(0.5)
    assert_close(layer.weight, weight - 0.5 * dense.T @ g)
    assert not layer.gradWeight.numpy().any()
    assert str(layer) == "fbnn.SegSparseLinear(4 -> 2)"


def test_sparse_and_dense_vectors():
    dense = np.array([0, 2.0, 0.1, -1])
    to_sparse = nn.SparseConverter("DtoS", "StoD", 4, 0.5)
    rows = to_sparse.forward(tensor(dense))
    assert_close(rows, sparse(np.array([0, 2.0, 0, -1])))
    assert_close(to_sparse.backward(tensor(dense), rows), np.array([0, 2.0, 0, -1]))
    with pytest.raises(ValueError, match="must not be the same"):
        nn.SparseConverter("DtoS", "DtoS", 4)


def test_sums_of_sparse_vectors():
    dense = np.array([[0, 2.0, 0, -1], [3, 1, 0, 0]])
    rows = np.stack([sparse(vector) for vector in dense])
    assert_close(nn.SparseSum().forward(tensor(rows)), sparse(dense.sum(0)))


def test_thresholds_of_sparse_vectors():
    rows = np.array([[1, 0.2], [4, 0.9]])
    layer = nn.SparseThreshold(0.5, -3)
    assert_close(layer.forward(tensor(rows)), np.array([[1, -3], [4, 0.9]]))


def test_a_table_of_sparse_vectors():
    layer = nn.SparseLookupTable(rl.tensor([[1, 5], [2, 3]]))
    values = layer.weight.numpy()[..., 1].copy()
    rows = tensor(np.array([[2.0, 3.0]]))
    assert_close(layer.forward(rows), np.stack([[[2.0, 3.0]], 3 * values[1:2]], 2))
    gradient = tensor(np.array([[[2.0, 1.0], [3.0, -1.0]]]))
    layer.accUpdateGradParameters(rows, gradient, 0.1)
    assert_close(layer.weight[1, :, 1], values[1] - 0.3 * np.array([1.0, -1.0]))
    assert_close(layer.weight[:, :, 0], np.array([[1.0, 5.0], [2.0, 3.0]]))


def test_the_largest_candidates():
    layer = nn.SparseKmax(3, 4, 10, 2, 5)
    rows = tensor(np.array([[2.0, 1.5]]))
    dense = 1.5 * layer.denseEmbedding.weight.numpy()[1]
    scores = layer.weights.numpy()[:5] @ dense
    places = np.sort(np.argsort(-scores)[:2])
    assert_close(layer.forward(rows), np.stack([[places + 1.0], [scores[places]]], 2))
    assert layer.counts.numpy()[1].sum() == 2
    layer.updateCandidateSets(2)
    assert sorted(layer.candidates[1].tolist()) == (places + 1).tolist()


# ---- filters ----


def test_differences_of_blurred_images():
    image = random(2, 9, 11)
    octaves = nn.DifferenceOfGaussian(2, 2, 3).forward(tensor(image)).as_list()
    sigmas = [1, 2 ** (1 / 3), 2 ** (2 / 3), 2]
    planes = image
    for octave in octaves:
        blurred = []
        for sigma in sigmas:
            line = np.exp(-((np.arange(1, 6) - 2.0) ** 2) / (2 * sigma**2))
            kernel = np.outer(line, line) / line.sum() ** 2
            blurred.append([ndimage.correlate(p, kernel, mode="constant") for p in planes])
        blurred = np.array(blurred)
        expected = np.concatenate([blurred[:-1, c] - blurred[1:, c] for c in range(2)])
        assert_close(octave, expected)
        planes = blurred[-1][:, 1::2, 1::2]


def test_second_derivatives_of_a_blurred_image():
    layer, image = nn.LaplacianOfGaussian(2, 1), random(2, 20, 20)
    kernel = layer.weight.numpy()[0]
    assert kernel.shape == (9, 10)
    expected = [
        ndimage.correlate(plane, kernel, mode="constant", origin=(0, -1)) for plane in image
    ]
    assert_close(layer.forward(tensor(image)), np.array(expected)[:, :, :-1])
    assert layer.parameters()[0] == []


def test_pixels_repeated():
    layer, image = nn.Upsample(2), random(2, 3, 4)
    assert_close(layer.forward(tensor(image)), image.repeat(2, 1).repeat(2, 2))
    check_gradients(layer, tensor(image))


# ---- training ----


def test_every_parameter_has_a_state_of_its_own():
    net = nn.Linear(3, 2)
    other = net.clone()
    x, target = tensor(random(4, 3)), rl.zeros(4, 2).double()
    settings = {"learningRate": 0.1, "momentum": 0.9, "weightDecay": 0.5}
    optimizer, criterion = nn.Optim(net, settings), nn.MSECriterion()
    states = [dict(settings), {**settings, "weightDecay": 0}]
    for _ in range(3):
        optimizer.optimize(nn.optim.sgd, x, target, criterion)
        other.zeroGradParameters()
        other.backward(x, criterion.backward(other.forward(x), target))
        for state, pair in zip(states, zip(*other.parameters(), strict=True), strict=True):
            nn.optim.sgd(lambda _, own=pair[1]: (0, own), pair[0], state)
    assert_close(net.weight, other.weight.numpy())
    assert_close(net.bias, other.bias.numpy())
    optimizer.setParameters({"learningRate": 0})
    before = net.weight.numpy().copy()
    optimizer.optimize(nn.optim.sgd, x, target, criterion)
    assert_close(net.weight, before)


# ---- the GPU's names ----


def from_file(typename, **fields):
    return rl.loads(rl.dumps(rl.TorchObject(typename, fields, 1)))


@pytest.mark.parametrize("typename", ["nn.SpatialConvolutionFFT", "fbnn.SpatialConvolution"])
def test_convolutions_of_the_gpu_are_ordinary_ones(typename):
    plain = nn.SpatialConvolution(2, 3, 3, 3, 1, 1, 1, 1)
    sizes = (
        {"nInputPlane": 2, "nOutputPlane": 3}
        if "FFT" in typename
        else {"inputPlanes": 2, "outputPlanes": 3}
    )
    layer = from_file(
        typename,
        weight=plain.weight,
        bias=plain.bias,
        kW=3,
        kH=3,
        dW=1,
        dH=1,
        padLeft=1,
        padUp=1,
        **sizes,
    )
    image = tensor(random(2, 5, 6))
    assert type(layer) is nn.SpatialConvolution
    assert_close(layer.forward(image), plain.forward(image).numpy())


def test_half_precision_rounds_both_ways():
    layer, x = nn.HalfPrecision(), random(5)
    rounded = x.astype(np.float16).astype(np.float64)
    assert_close(layer.forward(tensor(x)), rounded)
    assert_close(layer.backward(tensor(x), tensor(x)), rounded)
