"""Layers of detectors, segmentation, stereo, residual and speech networks, by their definitions."""

import math

import numpy as np
import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.models.small_projects import shifted

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def leaf(*shape):
    return random(*shape).requires_grad_()


# ---- frozen batch normalisation, DeepMask ----


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 4)])
def test_fixed_factors_and_shifts(shape):
    layer = loaded("inn.ConstAffine", a=random(3), b=random(3), inplace=True)
    x, g = random(*shape), random(*shape)
    a, b = (t.reshape(1, 3, *[1] * (len(shape) - 2)) for t in (layer.a, layer.b))
    assert difference(layer.forward(x), x * a + b) < 1e-12
    assert difference(layer.backward(x, g), g * a) < 1e-12
    assert layer.parameters() == ([], [])
    diagonal = loaded("nn.SpatialConstDiagonal", a=a.reshape(1, 3, 1, 1), b=b.reshape(1, 3, 1, 1))
    assert difference(diagonal.forward(x), layer.forward(x)) == 0


@pytest.mark.parametrize("pads", [(1, 2, 2, 1), (0, 1, -1, 0), (-1, -1, 2, 2)])
def test_symmetric_padding(pads):
    left, right, top, bottom = pads
    x = random(2, 3, 4, 5)
    cropped = x.numpy()[
        :, :, max(0, -top) : 4 - max(0, -bottom), max(0, -left) : 5 - max(0, -right)
    ]
    grown = [(max(0, n), max(0, m)) for n, m in ((top, bottom), (left, right))]
    expected = np.pad(cropped, [(0, 0), (0, 0), *grown], "symmetric")
    layer = nn.SpatialSymmetricPadding(*pads)
    np.testing.assert_array_equal(layer.forward(x).numpy(), expected)
    # The mirrored parts give no gradient.
    gradient = layer.backward(x, rl.ones(*expected.shape, **DOUBLE))
    assert gradient.sum().item() == cropped.size
    with pytest.raises(ValueError, match="too small"):
        nn.SpatialSymmetricPadding(6, 0, 0, 0).forward(x)


def test_deepmask_gives_masks_and_scores():
    trunk = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.View(-1, 8))
    masks, scores = nn.Linear(8, 5), nn.Linear(8, 1)
    net = loaded("nn.DeepMask", trunk=trunk, maskBranch=masks, scoreBranch=scores, fSz=2)
    x = random(3, 1, 4, 4)
    features = trunk.forward(x)
    expected = [masks.forward(features), scores.forward(features)]
    assert difference(net.forward(x).as_list(), expected) < 1e-12
    assert net.backward(x, [random(3, 5), random(3, 1)]).shape == x.shape
    assert len(net.parameters()[0]) == 6
    net.evaluate()
    assert trunk.get(1).train is False


def test_sharpmask_refines_from_the_top_down():
    trunk = (
        nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.Tanh()).add(nn.View(-1, 8))
    )
    first = nn.Sequential().add(nn.Linear(8, 8)).add(nn.View(-1, 2, 2, 2))
    refine = nn.Sequential().add(nn.CAddTable()).add(nn.SpatialUpSamplingNearest(2))
    refs = rl.Table()
    refs[0], refs[1] = first, refine
    score = nn.Linear(8, 1)
    net = loaded("nn.SharpMask", trunk=trunk, scoreBranch=score, refs=refs, skpos=rl.Table([2]))
    x = random(3, 1, 4, 4)
    masks, scores = net.forward(x).as_list()
    middle = trunk.get(2).forward(trunk.get(1).forward(x))
    top = trunk.get(3).forward(middle)
    assert difference(masks, refine.forward([middle, first.forward(top)])) < 1e-12
    assert difference(scores, score.forward(top)) < 1e-12
    assert len(net.parameters()[0]) == 6


# ---- detectors ----


def test_no_backprop_runs_without_learning():
    inner = nn.Linear(2, 3)
    layer = loaded("nn.NoBackprop", inner=inner)  # the first version's field
    x = random(4, 2)
    assert difference(layer.forward(x), inner.forward(x)) == 0
    assert layer.backward(x, random(4, 3)).abs().sum().item() == 0
    assert inner.gradWeight.abs().sum().item() == 0
    assert not layer(x.clone().requires_grad_()).requires_grad
    assert str(layer) == "NoBackprop: nn.Linear(2 -> 3)"


def test_mode_switch():
    layer = nn.ModeSwitch(nn.MulConstant(2), nn.MulConstant(5))
    x = random(3)
    assert difference(layer.forward(x), x * 2) == 0
    assert difference(layer.backward(x, x), x * 2) == 0
    layer.evaluate()
    assert difference(layer.forward(x), x * 5) == 0
    assert layer.get(1).constant_scalar == 2


def test_large_batches_in_parts():
    net = nn.SequentialSplitBatch(2).add(nn.Linear(3, 2)).add(nn.Tanh())
    x = random(5, 3)
    plain = nn.Sequential().add(net.get(1)).add(net.get(2))
    assert difference(net.forward(x), plain.forward(x)) < 1e-12
    table = nn.SequentialSplitBatch(2).add(nn.SelectTable(2)).add(net.get(1))
    assert difference(table.forward([random(1, 1), x]), net.get(1).forward(x)) < 1e-12


def test_boxes():
    mean, std = random(1, 4), random(1, 4)
    layer, x = nn.BBoxNorm(mean, std), random(3, 8)
    assert difference(layer.forward(x), x) == 0
    layer.evaluate()
    expected = (x.reshape(-1, 4) * std + mean).reshape(3, 8)
    assert difference(layer.forward(x), expected) < 1e-12

    scores = rl.tensor([[0.0, 1.0], [3.0, 1.0]], **DOUBLE)
    select, offsets = nn.SelectBoxes(), random(2, 8)
    picked = rl.stack([offsets[0, 4:], offsets[1, :4]], 0)
    assert difference(select.forward([scores, offsets]), picked) == 0
    select.mean, select.std = mean, std
    assert difference(select.forward([scores, offsets]), picked * std + mean) < 1e-12

    boxes = rl.tensor([[7.0, 0.0, 0.0, 4.0, 2.0]], **DOUBLE)
    four = nn.Foveal().forward(boxes).tolist()
    assert four[0] == boxes[0].tolist()
    assert four[1:] == [[7, -1, -0.5, 5, 2.5], [7, -2, -1, 6, 3], [7, -6, -3, 10, 5]]
    assert str(nn.ContextRegion(1.5)) == "nn.ContextRegion(1.5)"

    offsets = rl.tensor([[0.5, 0.0, 0.0, math.log(2)]], **DOUBLE)
    moved = nn.ConvertFrom().forward([boxes, offsets])
    assert moved.tolist() == [pytest.approx([7, 2, -1, 6, 3])]
    with pytest.raises(ValueError, match="N x 5"):
        nn.Foveal().forward(random(2, 4))


def test_images_are_prepared():
    layer = nn.fbcoco.ImageTransformer([1.0, 2.0, 3.0], [2.0, 2.0, 4.0], 255, [3, 2, 1])
    x = random(3, 2, 2)
    expected = (
        x.flip(0) * 255 - rl.tensor([1.0, 2.0, 3.0], **DOUBLE).reshape(3, 1, 1)
    ) / rl.tensor([2.0, 2.0, 4.0], **DOUBLE).reshape(3, 1, 1)
    assert difference(layer.forward(x), expected) < 1e-12


# ---- stereo ----


def test_stereo_layers():
    x = random(2, 3, 2, 4)
    a = x.numpy()
    lengths = np.sqrt((a**2).sum(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.Normalize2().forward(x).numpy(), a / lengths, rtol=1e-12)
    joined = nn.StereoJoin1().forward(x).numpy()
    np.testing.assert_allclose(joined, (a[:1] * a[1:]).sum(1, keepdims=True), rtol=1e-12)
    costs = nn.StereoJoin(3).forward(x).numpy()
    assert costs.shape == (1, 3, 2, 4)
    for d in range(3):
        assert np.isnan(costs[0, d, :, :d]).all()
        products = -(a[0, :, :, d:] * a[1, :, :, : 4 - d]).sum(0)
        np.testing.assert_allclose(costs[0, d, :, d:], products, rtol=1e-12)
    layer = nn.SpatialConvolution1_fw(3, 2)
    layer.weight.copy_(random(2, 3))
    layer.bias.copy_(random(1, 2, 1, 1))
    expected = np.einsum("oc,nchw->nohw", layer.weight.numpy(), a) + layer.bias.numpy()
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-12)
    for layer in (nn.Normalize2(), nn.StereoJoin1()):
        assert rl.autograd.gradcheck(layer, [leaf(2, 2, 2, 2)])


# ---- residual blocks ----


def test_dense_layer_adds_to_its_table():
    net1 = nn.Sequential().add(nn.SpatialBatchNormalization(4)).add(nn.ReLU(True))
    net2 = nn.Sequential().add(nn.SpatialConvolution(4, 2, 3, 3, 1, 1, 1, 1))
    layer = loaded(
        "nn.DenseConnectLayerCustom", net1=net1, net2=net2, modules=rl.Table([net1, net2]),
        opt=rl.Table(), train=True,
    )  # fmt: skip
    pair = [random(2, 3, 4, 4), random(2, 1, 4, 4)]
    outputs = layer.forward(pair).as_list()
    joined = rl.cat(pair, 1)
    assert difference(outputs[:2], pair) == 0
    assert difference(outputs[2], net2.forward(net1.forward(joined))) < 1e-12
    gradients = [random(*o.shape) for o in outputs]
    layer.zeroGradParameters()
    found = layer.backward(pair, gradients).as_list()
    net1.forward(joined)
    inner = net1.backward(joined, net2.backward(net1.output, gradients[2]))
    assert difference(found[0], gradients[0] + inner[:, :3]) < 1e-10
    assert difference(found[1], gradients[1] + inner[:, 3:]) < 1e-10
    single = layer.forward(joined).as_list()
    assert difference(single[0], joined) == 0
    assert str(layer).startswith("DenseConnectLayerCustom {\n  {input}\n")


def shake_block(layer):
    branches = [
        nn.Sequential().add(nn.ReLU(True)).add(nn.SpatialConvolution(2, 2, 1, 1)).add(layer())
        for _ in range(2)
    ]
    skip = nn.Sequential().add(nn.Identity())
    return loaded(
        "nn.ShakeShakeBlock", modules=rl.Table([*branches, skip]), forwardShake="true",
        backwardShake="true", train=True, batchSize=3,
        shakeImage="true" if layer is slices else "false",
    )  # fmt: skip


def slices():
    return nn.MulConstantSlices(rl.ones(3, **DOUBLE))


@pytest.mark.parametrize("layer", [slices, lambda: nn.MulConstant(0.5)])
def test_shake_shake_weights_its_branches(layer):
    block, x = shake_block(layer), random(3, 2, 2, 2)
    parts = [block.get(place).get(2).forward(x.clamp(0)).clone() for place in (1, 2)]
    y = block.forward(x) - x
    share = (y - parts[1]) / (parts[0] - parts[1])  # of the first branch
    per_sample = share.reshape(3, -1)
    assert (per_sample - per_sample[:, :1]).abs().amax().item() < 1e-9
    assert 0 <= per_sample.amin().item() <= per_sample.amax().item() <= 1
    assert (len({round(v, 9) for v in per_sample[:, 0].tolist()}) == 3) == (layer is slices)
    assert block.backward(x, random(3, 2, 2, 2)).shape == x.shape
    assert len(block.parameters()[0]) == 4
    block.evaluate()
    assert difference(block.forward(x), x + (parts[0] + parts[1]) / 2) < 1e-12
    assert difference(block(x), x + (parts[0] + parts[1]) / 2) < 1e-12


# ---- speech ----


@pytest.mark.parametrize("name", ["BatchBRNN", "BatchBRNNReLU"])
def test_batch_normalised_recurrent_layer(name):
    layer, x = getattr(nn.cudnn, name)(3, 4), random(5, 2, 3)
    layer.evaluate()
    y = layer.forward(x)
    assert y.shape == (5, 2, 4)
    normal = layer.get(3)
    rows = x.reshape(10, 3) @ layer.get(2).weight.t()
    rows = (rows - normal.running_mean) / (normal.running_var + normal.eps).sqrt()
    rows = rows * normal.weight + normal.bias
    both = layer.rnn.forward(rows.reshape(5, 2, 4)).reshape(5, 2, 2, 4)
    if name.endswith("ReLU"):
        both = both.clamp(0, 20)
    assert difference(y, both.sum(2)) < 1e-10
    assert layer.backward(x, random(5, 2, 4)).shape == x.shape
    assert str(layer).startswith("BatchBRNN {")


# ---- single layers ----


@pytest.mark.parametrize("name", ["nn.BinActiveZ", "bnn.Binary"])
def test_binary_activations(name):
    layer = nn.lookup(name)()
    x = rl.tensor([-2.0, -0.5, 0.5, 1.0], **DOUBLE)
    assert layer.forward(x).tolist() == [-1, -1, 1, 1]
    assert layer.backward(x, rl.ones(4, **DOUBLE)).tolist() == [0, 1, 1, 0]
    on_tape = x.clone().requires_grad_()
    layer(on_tape).sum().backward()
    assert on_tape.grad.tolist() == [0, 1, 1, 0]


def test_unpool():
    layer, x = nn.Unpool(2, 2, 3, 4, 3), random(2, 2, 3, 4)
    expected = np.zeros((2, 2, 9, 12))
    expected[:, :, ::3, ::3] = x.numpy()
    np.testing.assert_array_equal(layer.forward(x).numpy(), expected)
    g = random(2, 2, 9, 12)
    np.testing.assert_array_equal(layer.backward(x, g).numpy(), g.numpy()[:, :, ::3, ::3])


def test_cost_volume():
    frames = [random(1, 2, 4, 5) for _ in range(3)]
    for forward in (True, False):
        layer = nn.CostVolMulti(3, forward)
        y = layer.forward(frames).numpy()
        sign = 1 if forward else -1
        expected = np.zeros((1, 9, 4, 5))
        for place, (sx, sy) in enumerate((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)):
            for f in (1, 2):
                moved = shifted(frames[f], sign * f * sy, sign * f * sx).numpy()
                expected[:, place] += (frames[0].numpy() * moved).sum(1)
        np.testing.assert_allclose(y, expected / 4, rtol=1e-12)
    assert rl.autograd.gradcheck(
        lambda a, b: nn.CostVolMulti()([a, b]), [leaf(1, 1, 3, 3), leaf(1, 1, 3, 3)]
    )


def test_shifted_planes_have_zeros_where_nothing_comes_from():
    x = rl.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert shifted(x, 1, 0).tolist() == [[[[0, 0], [1, 2]]]]
    assert shifted(x, 0, -1).tolist() == [[[[2, 0], [4, 0]]]]
    assert shifted(x, 5, 0).abs().sum().item() == 0


def test_expected_label():
    labels = rl.tensor([10.0, 20.0, 40.0], **DOUBLE)
    x = rl.tensor([[0.5, 0.5, 0.0]], **DOUBLE)
    layer = nn.ExpOut(labels)
    assert layer.forward(x).tolist() == [15.0]
    assert layer.backward(x, rl.ones(1, **DOUBLE)).tolist() == [[10.0, 20.0, 40.0]]


def test_derived_volumetric_convolutions():
    layer = nn.cudnn.normal3DConv(1, 2, 2, 2, 2)
    assert layer.forward(random(1, 3, 3, 3)).shape == (2, 2, 2, 2)
    assert type(
        loaded("cudnn.normal3DdeConv", **vars(nn.VolumetricFullConvolution(2, 1, 2, 2, 2)))
    ) is (nn.VolumetricFullConvolution)


# ---- single layers ----


def test_half_of_the_images_are_mirrored():
    x = random(6, 3, 4, 5)
    before = x.clone()
    layer = nn.BatchFlip()
    assert layer.forward(x) is x
    mirrored = [difference(own, old.flip(2)) == 0 for own, old in zip(x, before, strict=True)]
    assert sum(mirrored) == 3
    same = [difference(own, old) == 0 for own, old in zip(x, before, strict=True)]
    assert [not value for value in mirrored] == same
    layer.evaluate()
    assert difference(layer.forward(before.clone()), before) == 0


def test_a_convolution_gives_larger_planes():
    layer, x = nn.SpatialConvolutionUpsample(3, 2, 3, 3, 2), random(2, 3, 4, 5)
    plain = rl.conv2d(x, layer.weight, layer.bias, (1, 1), (1, 1)).detach()
    assert layer.forward(x).shape == (2, 2, 8, 10)
    assert difference(layer.forward(x), plain.reshape(2, 2, 8, 10)) < 1e-12
    assert difference(layer.forward(x[1]), layer.forward(x)[1]) < 1e-12
    assert layer.backward(x, random(2, 2, 8, 10)).shape == x.shape
    on_gpu = loaded("cudnn.SpatialConvolutionUpsample", **dict(vars(layer)))
    assert difference(on_gpu.forward(x), layer.forward(x)) == 0


def test_sums_that_do_not_learn():
    layer, x = nn.MySpatialAveragePooling(3, 2, 2, 2, 2), random(2, 3, 4, 4)
    expected = rl.avg_pool2d(x, [2, 2]) * 4
    assert difference(layer.forward(x), expected) < 1e-12
    layer.zeroGradParameters()
    layer.backward(x, expected)
    layer.updateParameters(1)
    assert layer.gradWeight.abs().sum().item() == 0
    assert difference(layer.weight, rl.ones(3, **DOUBLE)) == 0


def test_a_network_that_sometimes_does_not_run():
    net, skip = nn.Linear(3, 3), nn.Identity()
    layer = loaded("nn.ResidualDrop", net=net, skip=skip, modules=[net, skip], deathRate=0.25)
    x, g = random(4, 3), random(4, 3)
    assert difference(layer.forward(x), x + net.forward(x)) < 1e-12
    assert difference(layer.backward(x, g), g + g @ net.weight.detach()) < 1e-12
    layer.gate = False
    layer.zeroGradParameters()
    assert difference(layer.forward(x), x) == 0
    assert difference(layer.backward(x, g), g) == 0
    assert net.gradWeight.abs().sum().item() == 0
    layer.evaluate()
    assert difference(layer.forward(x), x + net.forward(x) * 0.75) < 1e-12


def test_losses_of_flows_stereo_and_boxes():
    flow, target = random(2, 2, 3, 4), random(2, 2, 3, 4)
    flow[0, :, 0, 0] = target[0, :, 0, 0]
    expected = np.sqrt(((flow - target).numpy() ** 2).sum(1)).mean()
    criterion = nn.EPECriterion()
    assert criterion.forward(flow, target) == pytest.approx(expected)
    assert not criterion.backward(flow, target).isnan().any().item()

    scores = random(6, 1, 1, 1)
    pairs = scores.numpy().reshape(3, 2)
    distance = np.maximum(0, pairs[:, 1] - pairs[:, 0] + 0.2)
    assert nn.Margin2(0.2).forward(scores) == pytest.approx(distance.mean())
    assert nn.Margin2(0.2, 2).forward(scores) == pytest.approx((distance**2 / 2).mean())
    likelihoods, labels = random(4).sigmoid(), rl.tensor([0.0, 1, 1, 0], **DOUBLE)
    p, t = likelihoods.numpy(), labels.numpy()
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()
    assert nn.BCECriterion2().forward(likelihoods, labels) == pytest.approx(expected)

    offsets, wanted = random(3, 12), random(3, 12)
    classes = rl.tensor([3, 1, 2])
    total = 0.0
    for row, label in enumerate(classes.tolist()):
        chosen = np.zeros(12)
        if label > 1:
            at = slice(4 * label - 4, 4 * label)
            chosen[at] = offsets[row].numpy()[at]
        distance = np.abs(chosen - wanted[row].numpy())
        total += np.where(distance < 1, distance**2 / 2, distance - 0.5).sum()
    criterion = nn.BBoxRegressionCriterion()
    assert criterion.forward(offsets, [classes, wanted]) == pytest.approx(total / 3)
    assert criterion.backward(offsets, [classes, wanted])[1].abs().sum().item() == 0


def test_images_in_several_sizes_on_one_sheet():
    image = random(2, 60, 50)
    packer = nn.PyramidPacker(None, [1, 0.8, 0.7])
    sheet = packer.forward(image)
    rows = packer.coordinates.tolist()
    assert rows == [[1, 1, 50, 60, 50, 60], [1, 61, 40, 108, 40, 48], [41, 61, 75, 102, 35, 42]]
    assert sheet.shape == (2, 108, 75)
    assert difference(sheet[:, :60, :50], image) < 1e-12
    seen = nn.SpatialAveragePooling(32, 32, 4, 4).forward(sheet)
    parts = nn.PyramidUnPacker().forward(seen, packer.coordinates).as_list()
    assert [part.shape for part in parts] == [(2, 8, 5), (2, 5, 3), (2, 3, 1)]
    alone = nn.SpatialAveragePooling(32, 32, 4, 4).forward(image)
    assert difference(parts[0], alone) < 1e-12
    with pytest.raises(NotImplementedError, match="no backward"):
        packer.backward(image, sheet)


def test_rows_of_an_embedding():
    layer = nn.lookup("Embedding")(5, 3)
    layer.weight.copy_(random(5, 3))
    words = rl.tensor([2, 5, 2])
    assert difference(layer.forward(words), layer.weight[[1, 4, 1]]) == 0
    layer.zeroGradParameters()
    layer.backward(words, rl.ones(3, 3, **DOUBLE))
    assert layer.gradWeight.sum(1).tolist() == [0, 6, 0, 0, 3]
    sparse = loaded("Embedding", weight=layer.weight, gradWeight=rl.Table({2: random(3)}))
    sparse.forward(words)
    sparse.backward(words, rl.ones(3, 3, **DOUBLE))
    assert sparse.gradWeight.sum(1).tolist() == [0, 6, 0, 0, 3]


def test_skips_are_added_to_all_outputs():
    skip, outputs = random(2, 3), [random(2, 3), random(2, 3)]
    layer = nn.MultiSkipAdd(True)
    assert difference(layer.forward([skip, outputs])[2], skip + outputs[1]) < 1e-12
    g = [random(2, 3), random(2, 3)]
    gradient = layer.backward([skip, outputs], g)
    assert difference(gradient[1], g[0] + g[1]) < 1e-12
    assert difference(gradient[2][1], g[0]) == 0


def test_planes_are_dropped_together():
    layer, x = nn.ChannelDropout(4, 0.6), rl.ones(3, 4, 2, 2, **DOUBLE)
    counts = set()
    for _ in range(30):
        y = layer.forward(x)
        assert difference(y, y[:1].expand(3, 4, 2, 2)) == 0
        counts.add(int(y[0, :, 0, 0].sum().item()))
        assert difference(layer.backward(x, x), y) == 0
    assert 0 not in counts and len(counts) > 1
    layer.evaluate()
    assert difference(layer.forward(x), x) == 0
