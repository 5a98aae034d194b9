"""DenseCap: boxes, their features, and the whole network."""

import math

import numpy as np
import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.models.densecap.boxes import best_apart, clipped, corners

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def boxes(*shape):
    return rl.cat([rl.rand(*shape, 2, **DOUBLE) * 20 + 5, rl.rand(*shape, 2, **DOUBLE) * 8 + 2], -1)


def test_boxes_are_changed_and_changes_found():
    anchors, changes = boxes(2, 5), random(2, 5, 4) * 0.3
    moved = nn.ApplyBoxTransform().forward([anchors, changes])
    x, y, w, h = np.moveaxis(anchors.numpy(), -1, 0)
    tx, ty, tw, th = np.moveaxis(changes.numpy(), -1, 0)
    expected = np.stack([x + tx * w, y + ty * h, w * np.exp(tw), h * np.exp(th)], -1)
    np.testing.assert_allclose(moved.numpy(), expected, rtol=1e-12)
    found = nn.InvertBoxTransform().forward([anchors, moved])
    assert difference(found, changes) < 1e-12


def shares(one, other):
    """Intersection over union of two boxes, whose corners are pixels."""
    a, b = (corners(box.unsqueeze(0))[0].tolist() for box in (one, other))
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = (one[2] * one[3] + other[2] * other[3]).item()
    return width * height / (areas - width * height)


def test_shares_of_all_pairs():
    first, second = boxes(1, 4), boxes(1, 3)
    found = nn.BoxIoU().forward([first, second])
    expected = [[[shares(a, b) for b in second[0]] for a in first[0]]]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_the_best_boxes_overlap_none_before_them():
    them, scores = boxes(40), rl.rand(40, **DOUBLE)
    chosen = best_apart(them, scores, 0.3).tolist()

    def overlap(one, other):
        a, b = (corners(them[place].unsqueeze(0))[0].tolist() for place in (one, other))
        width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]) + 1)
        height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]) + 1)
        areas = [(them[place][2] * them[place][3]).item() for place in (one, other)]
        return width * height / (sum(areas) - width * height)

    order = np.argsort(-scores.numpy(), kind="stable")
    expected: list = []
    for place in order:
        if all(overlap(int(place), before) <= 0.3 for before in expected):
            expected.append(int(place))
    assert chosen == expected
    assert best_apart(them, scores, 0.3, 3).tolist() == expected[:3]
    assert best_apart(them[:0], scores[:0], 0.3).tolist() == []


def test_boxes_are_cut_at_the_borders():
    them = rl.tensor([[2.0, 5.0, 6.0, 4.0], [8.0, 8.0, 3.0, 3.0]])  # pixels -0.5..4.5, 7..9
    kept, is_left = clipped(them, 10, 8.5)
    assert is_left.tolist() == [True, True]
    assert corners(kept).tolist() == [[1.0, 3.5, 4.5, 6.5], [7.0, 7.0, 8.5, 9.0]]


def test_anchors_stand_at_every_place():
    sizes = rl.tensor([[4.0, 6.0], [2.0, 3.0]], **DOUBLE)
    planes = nn.MakeAnchors(1.5, 2.5, 8, 4, sizes).forward(random(2, 7, 3, 5))
    assert planes.shape == (2, 8, 3, 5)
    at = planes.reshape(2, 2, 4, 3, 5)[1, 1, :, 2, 4]
    assert at.tolist() == [1.5 + 4 * 8, 2.5 + 2 * 4, 6.0, 3.0]
    changes = random(2, 8, 3, 5)
    rows = nn.ReshapeBoxFeatures(2)
    moved = nn.ApplyBoxTransform().forward([rows.forward(planes), rows.forward(changes)])
    made = nn.MakeBoxes(1.5, 2.5, 8, 4, sizes).forward(changes)
    assert difference(made, moved) < 1e-12


def test_as_many_features_as_there_are_others():
    features = random(5, 3)
    layer = nn.PosSlicer()
    assert difference(layer.forward([features, random(2, 7)]), features[:2]) == 0
    gradient = layer.backward([features, random(2, 7)], rl.ones(2, 3, **DOUBLE))
    assert gradient[1].sum(1).tolist() == [3, 3, 0, 0, 0]
    assert difference(layer.forward([features, rl.zeros(0, **DOUBLE)]), features) == 0


def test_pooling_of_a_region_that_is_the_image():
    features = random(3, 6, 8)
    layer = nn.BilinearRoiPooling(6, 8)
    with pytest.raises(ValueError, match="setImageSize"):
        layer.forward([features, rl.zeros(1, 4, **DOUBLE)])
    layer.setImageSize(60, 80)
    # Corners at the centres of the first and the last pixel.
    whole = rl.tensor([[40.5, 30.5, 80.0, 60.0]], **DOUBLE)
    output = layer.forward([features, whole])
    assert difference(output, features.unsqueeze(0)) < 1e-10
    gradient = layer.backward([features, whole], rl.ones(1, 3, 6, 8, **DOUBLE))
    assert difference(gradient[1], rl.ones(3, 6, 8, **DOUBLE)) < 1e-10


def test_criterions():
    anchors, targets, changes = boxes(3), boxes(3), random(3, 4)
    targets[0, 0] = 1e4  # too far to count
    criterion = nn.BoxRegressionCriterion(0.5)
    wanted = nn.InvertBoxTransform().forward([anchors, targets]).numpy()
    distance = np.abs(changes.numpy() - wanted)[1:]
    smooth = np.where(distance < 1, 0.5 * distance**2, distance - 0.5)
    assert criterion.forward([anchors, changes], targets) == pytest.approx(0.5 * smooth.sum() / 12)
    gradient = criterion.backward([anchors, changes], targets)
    assert gradient[2][0].abs().sum().item() == 0

    scores, labels = random(3, 2), rl.tensor([0, 2, 1])
    likelihood = 1 / (1 + np.exp(-scores.numpy()))
    is_label = np.array([[0, 0], [0, 1], [1, 0]])
    expected = -np.where(is_label, np.log(likelihood), np.log(1 - likelihood)).mean()
    assert nn.LogisticCriterion().forward(scores, labels) == pytest.approx(expected)
    one = nn.OurCrossEntropyCriterion().forward(random(1, 1), rl.tensor([1]))
    assert one == pytest.approx(0)

    layer, x, g = nn.RegularizeLayer(0.3, 2), random(4), random(4)
    layer.forward(x)
    assert layer.loss == pytest.approx(0.15 * (x.numpy() ** 2).sum())
    assert difference(layer.backward(x, g), x * 0.3 + g * 2) < 1e-12


def test_sampled_boxes_fit_or_do_not():
    targets = boxes(1, 2)
    near = targets + 0.1
    them = rl.cat([boxes(1, 30) + 100, near, boxes(1, 5) + 300], 1)
    sampler = nn.BoxSampler({"batch_size": 8, "high_thresh": 0.6})
    fitting, own, others = sampler.forward([them, targets]).as_list()
    assert sorted(fitting.tolist()) == [31, 32]
    assert [n - 30 for n in fitting.tolist()] == own.tolist()
    assert len(others) == 6
    assert not set(others.tolist()) & {31, 32}
    sampler.setBounds({"x_min": 1, "y_min": 1, "x_max": 200, "y_max": 200})
    for _ in range(5):
        assert max(sampler.forward([them, targets])[3].tolist()) <= 30
    helper = nn.BoxSamplerHelper({"box_sampler": sampler})
    features, labels = random(1, 37, 3), rl.tensor([[[1], [2]]])
    data = [[them, features], [targets, labels]]
    rows = helper.forward(data)
    numbers = sampler.output[1] - 1
    assert difference(rows[1][2], features[0][numbers]) == 0
    gradients = [[rl.ones_like(part) for part in rows[place].as_list()] for place in (1, 2, 3)]
    summed = helper.backward(data, gradients)[1][2].sum()
    assert summed.item() == pytest.approx(3 * 8)


# ---- the whole network, as a file holds it ----

WORDS, STEPS, SIZE = 5, 4, 6


def language_model():
    encoder = nn.Sequential().add(nn.Linear(8, SIZE)).add(nn.ReLU(True))
    encoder.add(nn.View(1, -1).setNumInputDims(1))
    table = nn.LookupTable(WORDS + 2, SIZE)
    view_in, view_out = nn.View(1, 1, -1).setNumInputDims(3), nn.View(1, -1).setNumInputDims(2)
    rnn = nn.Sequential().add(nn.models.torch_rnn.LSTM(SIZE, SIZE)).add(view_in)
    rnn.add(nn.Linear(SIZE, WORDS + 1)).add(view_out)
    both = nn.ParallelTable().add(encoder).add(table)
    net = nn.Sequential().add(both).add(nn.JoinTable(1, 2)).add(rnn)
    return loaded(
        "nn.LanguageModel",
        image_encoder=encoder,
        lookup_table=table,
        rnn=rnn,
        view_in=view_in,
        view_out=view_out,
        net=net,
        vocab_size=WORDS,
        seq_length=STEPS,
        idx_to_token=rl.Table({n: f"w{n}" for n in range(1, WORDS + 1)}),
    )


def test_captions_are_the_likeliest_words():
    model = language_model()
    codes = random(2, 8)
    captions = model.forward([codes, rl.zeros(0, dtype=rl.int64)])
    assert captions.shape == (2, STEPS)
    # The same words by scoring every beginning.
    given = rl.zeros(2, STEPS, dtype=rl.int64)
    for step in range(STEPS):
        scores = model.forward([codes, given])
        given[:, step] = scores[:, step + 1].argmax(1) + 1
    assert captions.tolist() == given.tolist()


def test_language_model_learns_and_knows_its_targets():
    model = language_model()
    captions = rl.tensor([[1, 3, 0, 0], [2, 2, 4, 5]])
    assert model.getTarget(captions).tolist() == [[0, 1, 3, 6, 0, 0], [0, 2, 2, 4, 5, 6]]
    codes = random(2, 8)
    criterion = nn.TemporalCrossEntropyCriterion()

    def value(codes):
        return criterion.forward(model.forward([codes, captions]), model.getTarget(captions))

    value(codes)
    gradient = criterion.backward(model.output, model.getTarget(captions))
    of_codes = model.backward([codes, captions], gradient)[1]
    moved = codes.clone()
    moved[1, 3] += 1e-6
    assert (value(moved) - value(codes)) / 1e-6 == pytest.approx(of_codes[1, 3].item(), abs=1e-5)


def dense_cap():
    sizes = rl.tensor([[9.0, 20.0], [12.0, 7.0]], **DOUBLE)
    boxes_branch = nn.Sequential().add(nn.SpatialConvolution(4, 8, 1, 1))
    boxes_branch.add(nn.RegularizeLayer(0.1))
    anchors = nn.Sequential().add(nn.MakeAnchors(1, 1, 4, 4, sizes)).add(nn.ReshapeBoxFeatures(2))
    both = nn.ConcatTable().add(anchors).add(nn.ReshapeBoxFeatures(2))
    boxes_branch.add(both)
    moving = nn.ConcatTable().add(nn.ApplyBoxTransform()).add(nn.SelectTable(1))
    moving.add(nn.SelectTable(2))
    boxes_branch.add(moving)
    scores = nn.Sequential().add(nn.SpatialConvolution(4, 4, 1, 1)).add(nn.ReshapeBoxFeatures(2))
    rpn = nn.Sequential().add(nn.ConcatTable().add(boxes_branch).add(scores)).add(nn.FlattenTable())
    layer = loaded(
        "nn.LocalizationLayer",
        nets=rl.Table({"rpn": rpn, "roi_pooling": nn.BilinearRoiPooling(2, 2)}),
    )
    base = nn.Sequential().add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(16, 8))
    model = language_model()
    features, regions, gt_boxes, gt_labels = (nn.Identity()() for _ in range(4))
    codes = base(features)
    some, own = nn.PosSlicer()([codes, gt_labels]), nn.PosSlicer()([regions, gt_boxes])
    change = nn.Linear(8, 4)(some)
    outputs = [
        nn.Linear(8, 1)(codes),
        own,
        change,
        nn.ApplyBoxTransform()([own, change]),
        model([some, gt_labels]),
        gt_boxes,
        gt_labels,
    ]
    recognition = nn.gModule([features, regions, gt_boxes, gt_labels], outputs)
    first = nn.Sequential().add(nn.SpatialConvolution(3, 4, 4, 4, 4, 4))
    net = nn.Sequential().add(first).add(nn.Sequential().add(nn.ReLU())).add(layer).add(recognition)
    nets = rl.Table({"localization_layer": layer, "language_model": model})
    return loaded("DenseCapModel", net=net, nets=nets, opt=rl.Table({"final_nms_thresh": 0.4}))


def test_regions_with_captions():
    model = dense_cap()
    image = random(1, 3, 32, 40)
    with pytest.raises(NotImplementedError, match="evaluate"):
        model.forward(image)
    model = rl.loads(rl.dumps(model))
    model.setTestArgs({"rpn_nms_thresh": 0.6, "num_proposals": 12, "final_nms_thresh": 0.3})
    found, scores, texts = model.forward_test(image)
    assert found.shape[1] == 4
    assert 0 < len(texts) == len(scores) <= 12
    assert all(text == "" or text.split()[0].startswith("w") for text in texts)
    assert scores.flatten().tolist() == sorted(scores.flatten().tolist(), reverse=True)
    again = model.forward(image)
    assert difference(again[4], found) == 0
    assert difference(model(image)[1], scores) < 1e-12
    assert "DenseCapModel" in str(model)
    assert not math.isnan(found.sum().item())
    with pytest.raises(ValueError, match="1 x 3 x H x W"):
        model.forward(image[0])
