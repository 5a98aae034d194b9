"""Layers of visdial, HieCoAttenVQA and AdaptiveAttention."""

import numpy as np
import pytest
from golden_cases import difference
from layer_checks import check_gradients
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}
SIZE, STEPS, PLACES = 3, 4, 5


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_masks():
    x = random(2, 3, 3)
    assert difference(nn.MaskFuture(3).forward(x), x.tril()) == 0
    check_gradients(nn.MaskFuture(3), x)
    scores, mask = random(2, 4), rl.tensor([[0, 1, 0, 0], [0, 0, 0, 1]])
    shares = np.exp(scores.numpy()) * (mask.numpy() == 0)
    shares /= shares.sum(1, keepdims=True)
    layer = nn.MaskSoftMax()
    np.testing.assert_allclose(layer.forward([scores, mask]).numpy(), shares, rtol=1e-10)
    gradient = layer.backward([scores, mask], random(2, 4))[1]
    assert gradient[0, 1].item() == gradient[1, 3].item() == 0
    words, vectors = rl.tensor([[1, 0], [2, 3], [0, 0]]), random(2, 5)
    output = nn.MaskTime(5).forward([words, vectors])
    assert output.shape == (3, 2, 5)
    assert difference(output[1], vectors) == 0
    assert output[0, 1].abs().sum().item() == output[2].abs().sum().item() == 0
    x[0, 0, 0] = 0
    layer = nn.ReplaceZero(-7)
    assert layer.forward(x)[0, 0, 0].item() == -7
    assert layer.backward(x, rl.ones(2, 3, 3, **DOUBLE))[0, 0].tolist() == [0, 1, 1]
    assert nn.FeatExpanderConv(3).forward(x)[4].tolist() == x[1].tolist()


def attention():
    """{vectors, features, mask} to {question, image}, each of size SIZE."""
    vectors, features, mask = (nn.Identity()() for _ in range(3))
    scores = nn.View(STEPS).setNumInputDims(2)(nn.Max(3)(vectors))
    shares = nn.View(1, -1).setNumInputDims(1)(nn.maskSoftMax()([scores, mask]))
    question = nn.View(SIZE).setNumInputDims(2)(nn.MM()([shares, vectors]))
    return nn.gModule([vectors, features, mask], [question, nn.Mean(2)(features)])


def core():
    vector, cell, state = (nn.Identity()() for _ in range(3))
    sums = nn.CAddTable()([nn.Linear(SIZE, SIZE)(vector), nn.Linear(SIZE, SIZE)(state)])
    new = nn.CAddTable()([nn.Tanh()(sums), cell])
    return nn.gModule([vector, cell, state], [new, nn.Tanh()(new), nn.Sigmoid()(new)])


def test_three_levels():
    words, image = rl.tensor([[1, 3, 2, 0], [4, 0, 0, 0]]), random(2, PLACES, 7)
    mask = (words == 0).to(rl.uint8)
    cnn = nn.Sequential().add(nn.View(7).setNumInputDims(2)).add(nn.Linear(7, SIZE))
    cnn.add(nn.View(-1, PLACES, SIZE))
    table = nn.LookupTableMaskZero(5, SIZE)
    first = loaded("nn.word_level", cnn=cnn, LE=table, atten=attention())
    vectors, features, question, seen, own_mask = first.forward([words, image]).as_list()
    assert own_mask.tolist() == mask.tolist()
    assert difference(question[1], vectors[1, 0]) < 1e-10  # the only word
    assert difference(seen, features.mean(1)) < 1e-12
    conv = nn.Sequential().add(nn.Bottle(nn.Linear(SIZE, SIZE), 2, 2))
    second = loaded("nn.phrase_level", conv=conv, atten=attention())
    lengths = rl.tensor([3, 1])
    phrases = second.forward([vectors, lengths, features, mask])
    assert len(phrases.as_list()) == 3

    third = loaded(
        "nn.ques_level",
        core=core(),
        atten=attention(),
        rnn_size=SIZE,
        num_layers=1,
        cores=rl.Table([core()]),
    )
    given = [phrases[1], lengths, features, mask]
    question, _ = third.forward(given).as_list()
    state = cell = rl.zeros(2, SIZE, **DOUBLE)
    outputs = []
    for step in range(3):
        cell, state, output = third.core.forward([phrases[1][:, step], cell, state]).as_list()
        if step > 0:  # the second question is over
            cell[1] = state[1] = output[1] = 0
        outputs.append(output.clone())
    states = rl.stack([*outputs, rl.zeros(2, SIZE, **DOUBLE)], 1)
    expected = third.atten.forward([states, features, mask])[1]
    assert difference(question, expected) < 1e-10
    gradient = third.backward(given, [random(2, SIZE), random(2, SIZE)])
    assert gradient[1].shape == phrases[1].shape
    assert gradient[1][1, 1:].abs().sum().item() == 0
    assert gradient[1][1, 0].abs().sum().item() > 0
    assert len(third.parameters()[0]) == 4
    assert not hasattr(third, "cores")
    copy = rl.loads(rl.dumps(third))
    assert difference(copy.forward(given)[1], question) < 1e-12


@pytest.mark.parametrize(
    ("typename", "field"), [("nn.cnnModel", "cnn_part"), ("nn.recursive_atten", "atten_encode")]
)
def test_networks_in_a_field(typename, field):
    net, x = nn.Linear(3, 2), random(4, 3)
    layer = loaded(typename, **{field: net})
    assert difference(layer.forward(x), net.forward(x)) == 0
    assert layer.parameters()[0][0] is net.weight
    assert layer.backward(x, random(4, 2)).shape == x.shape
