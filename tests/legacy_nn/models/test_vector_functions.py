"""Layers of vectors, sentences and codes, from many projects, by their definitions."""

import math

import numpy as np
import pytest
from golden_cases import difference
from layer_checks import check_gradients
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.models import adaptive_softmax

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_turing_machine():
    x, one = random(5).abs() + 0.1, rl.tensor([1.7], **DOUBLE)
    checks = {
        nn.ScalarMulTable: x.numpy() * 1.7,
        nn.ScalarDivTable: x.numpy() / 1.7,
        nn.PowTable: x.numpy() ** 1.7,
    }
    for cls, expected in checks.items():
        np.testing.assert_allclose(cls().forward([x, one]).numpy(), expected, rtol=1e-12)
        check_gradients(cls(), x, one)
    kernel = random(3)
    turned = [np.roll(x.numpy(), place - 1) * k for place, k in enumerate(kernel.numpy())]
    convolved = nn.CircularConvolution().forward([x, kernel])
    np.testing.assert_allclose(convolved.numpy(), np.sum(turned, 0), rtol=1e-12)
    check_gradients(nn.CircularConvolution(), x, kernel)
    vectors = [random(2), random(3), random(4)]
    product = nn.OuterProd().forward(vectors)
    expected = np.einsum("i,j,k->ijk", *(vector.numpy() for vector in vectors))
    np.testing.assert_allclose(product.numpy(), expected)
    batches = [random(5, 2), random(5, 3)]
    expected = np.einsum("ni,nj->nij", *(batch.numpy() for batch in batches))
    np.testing.assert_allclose(nn.OuterProd().forward(batches).numpy(), expected)
    check_gradients(nn.OuterProd(), *batches)
    rows, vector = random(4, 3), random(3)
    rows[2] = 0
    layer = nn.SmoothCosineSimilarity(0.01)
    lengths = np.linalg.norm(rows.numpy(), axis=1) * np.linalg.norm(vector.numpy())
    expected = rows.numpy() @ vector.numpy() / (lengths + 0.01)
    np.testing.assert_allclose(layer.forward([rows, vector]).numpy(), expected, rtol=1e-12)
    gradient = layer.backward([rows, vector], random(4))
    assert not gradient[1].isnan().any().item()


def test_zeros_stay_zeros_in_powers():
    x, two = rl.tensor([0.0, 3.0], **DOUBLE), rl.tensor([2.0], **DOUBLE)
    layer = nn.PowTable()
    assert layer.forward([x, two]).tolist() == [0, 9]
    of_x, of_exponent = layer.backward([x, two], rl.ones(2, **DOUBLE)).as_list()
    assert of_x.tolist() == [0, 6]
    assert of_exponent.item() == pytest.approx(9 * math.log(3))


def test_printing(capsys):
    layer = nn.Print("here")
    assert layer.forward(3) == 3
    assert capsys.readouterr().out == "here\n3\n"


def test_sentences():
    rows, vector = random(4, 3), random(3)
    for cls in (nn.treelstm.CRowAddTable, nn.CAddRepTable):
        assert difference(cls().forward([rows, vector]), rows + vector) < 1e-12
    check_gradients(nn.CAddRepTable(), rows, vector, random(3))
    a, b = random(6), random(6)
    expected = a.numpy() @ b.numpy() / np.linalg.norm(a.numpy()) / np.linalg.norm(b.numpy())
    assert nn.CsDis().forward([a, b]).tolist() == pytest.approx([expected])
    check_gradients(nn.CsDis(), a, b)
    stretches = random(7, 3)
    best = nn.DMax(1, 2).forward([stretches, rl.tensor([4, 3])])
    expected = [stretches[:3].numpy().max(0), stretches[4:6].numpy().max(0)]
    np.testing.assert_array_equal(best.numpy(), expected)
    assert nn.PaddingReshape().forward(rows).shape == (1, 4, 3)
    layer = nn.TensorProd(3, 4, 2)
    x, y = random(5, 3), random(5, 4)
    expected = np.einsum("ni,oij,nj->no", x.numpy(), layer.weight.numpy(), y.numpy())
    np.testing.assert_allclose(
        layer.forward([x, y]).numpy(), expected + layer.bias.numpy(), rtol=1e-10
    )
    assert difference(layer.forward([x[1], y[1]]), layer.forward([x, y])[1]) < 1e-12
    check_gradients(layer, x, y)
    assert str(layer) == "nn.TensorProd(3 x 4 -> 2)"
    planes = random(3, 2, 2)
    layer = nn.Diag(3)
    layer.weight.copy_(vector)
    assert difference(layer.forward(planes), planes * vector.reshape(3, 1, 1)) < 1e-12
    layer.zeroGradParameters()
    layer.backward(planes, planes)
    assert difference(layer.gradWeight, (planes * planes).sum((1, 2))) < 1e-12
    matrix = loaded("nn.Diag", weight=random(2, 2))
    assert difference(matrix.forward(planes), planes * matrix.weight) < 1e-12


def test_memory_networks():
    vectors = random(4, 3)
    vectors[2] = 0
    expected = vectors.numpy() / np.maximum(np.linalg.norm(vectors.numpy(), axis=1), 1e-9)[:, None]
    np.testing.assert_allclose(nn.Normalization().forward(vectors).numpy(), expected, atol=1e-12)
    rows, lengths = random(5, 4), rl.tensor([2.0, 3.0], **DOUBLE)
    weights = [
        [(1 - j / length) - k / 4 * (1 - 2 * j / length) for k in range(1, 5)]
        for length in (2, 3)
        for j in range(1, length + 1)
    ]
    encoded = nn.PositionalEncoder(True).forward([rows, lengths])
    np.testing.assert_allclose(encoded[1].numpy(), rows.numpy() * weights, rtol=1e-12)
    assert encoded[2].tolist() == [2, 3]
    sums = nn.SumVecarr().forward([rows, lengths])
    assert difference(sums, rl.stack([rows[:2].sum(0), rows[2:].sum(0)], 0)) < 1e-12
    assert nn.SumVecarr().backward([rows, lengths], random(2, 4))[1].shape == (5, 4)
    table = nn.WeightedLookupTableSkinny(6, 3)
    words = rl.tensor([[2.0, 0.5], [6.0, -1.0]], **DOUBLE)
    expected = rl.stack([table.weight[1] * 0.5, -table.weight[5]], 0)
    assert difference(table.forward(words), expected) < 1e-12
    assert difference(table.forward(rl.tensor([2])), table.weight[1:2]) == 0
    with pytest.raises(ValueError, match="rows of sentences"):
        nn.SumVecarr().forward([rows, rl.tensor([1.0, 2.0])])


def test_encodings():
    x = random(2, 6, 4)
    layer = nn.Encoding(3, 4)
    differences = x.numpy()[:, :, None] - layer.weight.numpy()
    scores = -(differences**2).sum(-1) * layer.bias.numpy()
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = (shares[..., None] * differences).sum(1)
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-10)
    assert difference(layer.forward(x[1]), layer.forward(x)[1]) < 1e-12
    check_gradients(layer, x)
    assert str(layer) == "nn.Encoding(Nx4 -> 3x4)"
    vlad = nn.NetVLAD(3, 4)
    scores = x.numpy() @ vlad.assigner.get(1).weight.numpy().T
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    differences = x.numpy()[:, :, None] - vlad.weight.numpy()
    expected = (shares[..., None] * differences).sum(1)
    np.testing.assert_allclose(vlad.forward(x).numpy(), expected, rtol=1e-10)
    aggregate = nn.Aggregate(3, 4).forward([rl.tensor(shares), rl.tensor(differences)])
    np.testing.assert_allclose(aggregate.numpy(), expected, rtol=1e-10)


def test_adaptive_softmax_is_one_over_all_classes():
    layer = nn.AdaptiveSoftMax(8, [3, 5, 9])
    x, labels = random(6, 8), rl.tensor([1, 4, 9, 2, 6, 5])
    likelihoods = layer.getLogProb(x)
    np.testing.assert_allclose(np.exp(likelihoods.numpy()).sum(1), np.ones(6), rtol=1e-10)
    layer.setTarget(labels)
    scores = layer.forward(x)
    criterion = nn.AdaptiveLoss(rl.Table([3, 5, 9]))
    chosen = [likelihoods[row, label - 1].item() for row, label in enumerate(labels.tolist())]
    assert criterion.forward(scores, labels) == pytest.approx(-np.mean(chosen))
    layer.zeroGradParameters()
    layer.backward(x, criterion.backward(scores, labels))
    weight = layer.tail[2].get(1).weight
    total = layer.tail[2].get(1).gradWeight[0, 3].item()
    before = criterion.forward(layer.forward(x), labels)
    with rl.no_grad():
        weight[0, 3] += 1e-6
    change = (criterion.forward(layer.forward(x), labels) - before) / 1e-6
    assert change == pytest.approx(total, abs=1e-5)
    assert adaptive_softmax.bounds(rl.tensor([3.0, 5.0])) == [3, 5]
    layer.setTarget(rl.tensor([1, 2, 1, 1, 2, 3]))  # no rare ones
    scores = layer.forward(x)
    assert len(scores[2]) == 0
    assert criterion.forward(scores, rl.tensor([1, 2, 1, 1, 2, 3])) > 0


def test_words_in_clusters():
    mapping = rl.tensor([[1, 1], [2, 1], [1, 2], [2, 2], [2, 3]])
    clusters = nn.Sequential().add(nn.Linear(4, 2)).add(nn.LogSoftMax())
    vectors, cluster = nn.Identity()(), nn.Identity()()
    sums = nn.CAddTable()([nn.Linear(4, 3)(vectors), nn.LookupTable(2, 3)(cluster)])
    places = nn.gModule([vectors, cluster], [nn.LogSoftMax()(sums)])
    criterion = loaded(
        "nn.HLogSoftMax",
        mapping=mapping,
        cluster_model=clusters,
        class_model=places,
        logLossCluster=nn.ClassNLLCriterion(),
        logLossClass=nn.ClassNLLCriterion(),
    )
    x, words = random(3, 4), rl.tensor([2, 5, 3])
    own = [mapping[word - 1].tolist() for word in words.tolist()]
    first = clusters.forward(x)
    second = places.forward([x, rl.tensor([c for c, _ in own])])
    expected = -sum(
        first[row, c - 1].item() + second[row, p - 1].item() for row, (c, p) in enumerate(own)
    )
    assert criterion.forward(x, words) == pytest.approx(expected / 3)
    gradient = criterion.backward(x, words)
    moved = x.clone()
    moved[1, 2] += 1e-6
    change = (criterion.forward(moved, words) - criterion.forward(x, words)) / 1e-6
    assert change == pytest.approx(gradient[1, 2].item(), abs=1e-5)
    assert len(criterion.parameters()[0]) == 5
    assert criterion(x, words).item() == pytest.approx(expected / 3)


# ---- autoencoders, agents ----


def test_variational_autoencoder():
    mean, log_variance, target = random(3, 4), random(3, 4), random(3, 4)
    sampler = nn.Sampler()
    rl.manual_seed(3)
    drawn = sampler.forward([mean, log_variance])
    expected = mean + (log_variance / 2).exp() * sampler.eps
    assert difference(drawn, expected) < 1e-12
    g = random(3, 4)
    gradient = sampler.backward([mean, log_variance], g)
    assert difference(gradient[1], g) == 0
    assert difference(gradient[2], g * (log_variance / 2).exp() * sampler.eps / 2) < 1e-12
    variance = np.exp(log_variance.numpy())
    distance = (target.numpy() - mean.numpy()) ** 2 / variance
    expected = 0.5 * (np.log(2 * np.pi * variance) + distance).sum()
    criterion = nn.GaussianCriterion()
    assert criterion.forward([mean, log_variance], target) == pytest.approx(expected)
    penalty = nn.KLDPenalty()
    penalty.forward([mean, log_variance])
    expected = 0.5 * (variance + mean.numpy() ** 2 - 1 - np.log(variance)).sum()
    assert penalty.loss == pytest.approx(expected)
    gradient = penalty.backward([mean, log_variance], [g, g])
    assert difference(gradient[1], mean + g) < 1e-12
    assert difference(gradient[2], (log_variance.exp() - 1) / 2 + g) < 1e-12


def test_the_largest_of_a_batch():
    x = random(5, 3)
    layer = nn.BatchTopK(0.3, True)
    output = layer.forward(x)
    for column in range(3):
        kept = sorted(x[:, column].tolist())[-2:]
        assert sorted(value for value in output[:, column].tolist() if value) == sorted(kept)
    assert difference(layer.backward(x, rl.ones(5, 3, **DOUBLE)), (output != 0).double()) == 0
    layer.evaluate()
    assert difference(layer.forward(x), x) == 0


def test_noise_and_signs():
    x = rl.zeros(10000, **DOUBLE)
    assert abs(nn.Gaussian(2, 0.5).forward(x).mean().item() - 2) < 0.05
    assert abs(nn.Uniform(1, 3).forward(x).mean().item() - 2) < 0.05
    layer = nn.GaussianNoise(0.5)
    noisy = layer.forward(x)
    assert abs(noisy.std().item() - 0.5) < 0.05
    assert difference(layer.backward(x, x + 1), x + 1) == 0
    assert difference(layer.evaluate().forward(x), x) == 0
    layer = nn.Binarize(True)
    assert abs(layer.forward(x + 0.5).mean().item() - 0.5) < 0.05  # 1 three times of four
    layer.evaluate()
    assert layer.forward(rl.tensor([-0.1, 0.2])).tolist() == [-1, 1]
    weight = nn.LinearO(5, 3).weight
    product = (weight @ weight.transpose(0, 1)).numpy()
    np.testing.assert_allclose(product, np.eye(3) * 1.21, atol=1e-10)
