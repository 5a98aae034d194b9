"""OpenNMT's layers as their constructors make them, and its larger encoders."""

import itertools
import math

import numpy as np
import pytest
from layer_checks import assert_close, random, tensor
from scipy import special

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import onmt

WORDS, SIZE = 9, 4


def linear(layer, x):
    bias = 0 if layer.bias is None else layer.bias.numpy()
    return x @ layer.weight.numpy().T + bias


def lstm_reference(cell, size, states, x, residual):
    pairs = cell.find_modules("nn.Linear")
    results, node, before = [], x, None
    for layer in range(len(states) // 2):
        c, h = states[2 * layer], states[2 * layer + 1]
        if layer and residual and (layer > 1 or x.shape[1] == size):
            node = node + before
        sums = linear(pairs[2 * layer], node) + linear(pairs[2 * layer + 1], h)
        i, f, o, g = (sums[:, k * size : (k + 1) * size] for k in range(4))
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        h = special.expit(o) * np.tanh(c)
        results += [c, h]
        node, before = h, node
    return results


@pytest.mark.parametrize(("inputs", "residual"), [(3, False), (SIZE, True)])
def test_stacked_lstm(inputs, residual):
    cell = onmt.LSTM(3, inputs, SIZE, 0, residual)
    states = [random(2, SIZE, seed=seed) for seed in range(6)]
    x = random(2, inputs, seed=7)
    outputs = cell.forward([tensor(value) for value in (*states, x)]).as_list()
    for own, expected in zip(outputs, lstm_reference(cell, SIZE, states, x, residual), strict=True):
        assert_close(own, expected)
    assert (cell.numStates, cell.outputSize) == (6, SIZE)


def test_stacked_gru():
    cell = onmt.GRU(1, 3, SIZE)
    h, x = random(2, SIZE), random(2, 3, seed=1)
    of_input, of_state = cell.find_modules("nn.Linear")
    a, b = linear(of_input, x), linear(of_state, h)
    (ra, ua, na), (rb, ub, nb) = (np.split(values, 3, axis=1) for values in (a, b))
    reset, update = special.expit(ra + rb), special.expit(ua + ub)
    new = np.tanh(na + reset * nb)
    assert_close(cell.forward([tensor(h), tensor(x)]), (1 - update) * new + update * h)


def test_one_mask_for_all_steps():
    cell = onmt.LSTM(2, 3, 50, 0.5, False, True, "variational")
    layers = cell.find_modules("onmt.VariationalDropout")
    assert len(layers) == 4
    layer, x = onmt.VariationalDropout(0.5), rl.ones(1000).double()
    first = layer.forward(x)
    assert set(first.tolist()) == {0.0, 2.0}
    assert (layer.forward(x) == first).all()
    assert_close(layer.backward(x, x), first.numpy())
    onmt.VariationalDropout.initializeNetwork(layer)
    assert not (layer.forward(x) == first).all()
    assert (layer.evaluate().forward(x) == 1).all()


@pytest.mark.parametrize("kind", ["general", "dot", "concat"])
def test_attention(kind):
    layer = onmt.GlobalAttention({"global_attention": kind}, SIZE)
    h, context = random(2, SIZE), random(2, 5, SIZE, seed=1)
    *scorers, last = layer.find_modules("nn.Linear")
    if kind == "concat":
        pairs = np.concatenate([np.repeat(h[:, None], 5, 1), context], 2)
        scores = linear(scorers[1], np.tanh(linear(scorers[0], pairs)))[..., 0]
    else:
        target = linear(scorers[0], h) if kind == "general" else h
        scores = (context @ target[:, :, None])[..., 0]
    summed = (special.softmax(scores, 1)[:, None] @ context)[:, 0]
    expected = np.tanh(linear(last, np.concatenate([summed, h], 1)))
    assert_close(layer.forward([tensor(h), tensor(context)]), expected)
    assert [m.torch_typename for m in layer.walk() if vars(m).get("name") == "softmaxAttn"] == [
        "nn.SoftMax"
    ]


def test_no_attention_takes_the_end_of_the_context():
    layer, h, context = onmt.NoAttention(None, SIZE), random(2, SIZE), random(2, 5, SIZE, seed=1)
    (last,) = layer.find_modules("nn.Linear")
    expected = np.tanh(linear(last, np.concatenate([context[:, -1], h], 1)))
    assert_close(layer.forward([tensor(h), tensor(context)]), expected)
    with pytest.raises(ValueError, match="'general', 'dot' or 'concat'"):
        onmt.GlobalAttention({"global_attention": "none"}, SIZE)


def encoder(size, inputs=None):
    """An encoder of words, or of vectors of size `inputs`."""
    c, h, x = (nn.Identity()() for _ in range(3))
    vectors = x if inputs else onmt.WordEmbedding(WORDS, size)(x)
    net = nn.gModule([c, h, x], [onmt.LSTM(1, inputs or size, size)([c, h, vectors])])
    args = rl.Table({"rnnSize": size, "numStates": 2})
    return onmt.Encoder(net, args)


def both_ways(inputs=None):
    pair = [encoder(SIZE // 2, inputs) for _ in range(2)]
    return onmt.BiEncoder(*pair, rl.Table({"brnn_merge": "concat"}))


def saved(encoder):
    """As a checkpoint holds it."""
    name = encoder.torch_typename.split(".")[1]
    is_made_of_encoders = name not in ("Encoder", "CNNEncoder")
    modules = [saved(m) if is_made_of_encoders else m for m in encoder.modules]
    return rl.Table({"name": name, "modules": rl.Table(modules), "args": encoder.args})


SENTENCES = rl.tensor([[5, 1], [7, 1], [2, 6], [3, 8]])


@pytest.mark.parametrize("merge", ["concat", "sum"])
def test_encoders_of_fewer_and_fewer_steps(merge):
    layers = [both_ways(), both_ways(SIZE * 2 if merge == "concat" else SIZE)]
    args = rl.Table({"pdbrnn_reduction": 2, "pdbrnn_merge": merge})
    states, context = onmt.PDBiEncoder(layers, args).forward(SENTENCES).as_list()
    with rl.no_grad():
        first, between = layers[0].encode(SENTENCES)
        halves = between.numpy().reshape(2, 2, 2, SIZE)
        fewer = halves.reshape(2, 2, 2 * SIZE) if merge == "concat" else halves.sum(1)
        rest, expected = layers[1].encode(tensor(fewer.swapaxes(0, 1)))
    assert_close(context, expected.numpy())
    for own, other in zip(states.as_list(), [*first, *rest], strict=True):
        assert_close(own, other.numpy())


def test_sentences_are_padded_to_a_multiple():
    args = rl.Table({"pdbrnn_reduction": 2, "pdbrnn_merge": "sum"})
    model = onmt.PDBiEncoder([both_ways(), both_ways(SIZE)], args)
    with rl.no_grad():
        _, context = model.encode(SENTENCES[1:])
        _, expected = model.encode(rl.cat([rl.tensor([[1, 1]]), SENTENCES[1:]], 0))
    assert_close(context, expected.numpy())


def test_an_encoder_above_a_bidirectional_one():
    first, rest = both_ways(), encoder(SIZE, SIZE)
    model = onmt.GoogleEncoder(first, rest, rl.Table())
    states, context = model.forward(SENTENCES).as_list()
    with rl.no_grad():
        own, between = first.encode(SENTENCES)
        more, expected = rest.encode(between.transpose(0, 1))
    assert_close(context, expected.numpy())
    assert len(states.as_list()) == len(own) + len(more)


def convolutional():
    words, lengths = nn.Identity()(), nn.Identity()()
    vectors = onmt.WordEmbedding(WORDS, SIZE)(words)
    places = onmt.PositionEmbedding(2, 3, SIZE)([vectors, lengths])
    summed = nn.CAddTable()([vectors, places])
    padded = nn.Padding(2, 1)(summed)
    convolved = nn.Tanh()(nn.TemporalConvolution(SIZE, SIZE, 2)(padded))
    return onmt.CNNEncoder(nn.gModule([words, lengths], [convolved]), rl.Table())


def test_an_encoder_of_convolutions():
    model = convolutional()
    states, context = model.encode(SENTENCES, [4, 2])
    assert context.shape == (2, 4, SIZE)
    assert not context[1, :2].detach().numpy().any()
    assert_close(states[0], context.sum(1).detach().numpy())
    alone = model.encode(SENTENCES[:, :1])[1]
    assert_close(context[0], alone[0].detach().numpy())
    assert model.forward(SENTENCES)[2].shape == (2, 4, SIZE)


@pytest.mark.parametrize(
    "make", [both_ways, convolutional, lambda: onmt.GoogleEncoder(both_ways(), encoder(4, 4))]
)
def test_checkpoints_say_which_encoder(make):
    from relume.legacy_nn.models.opennmt.seq2seq import load_encoder

    original = make()
    original.args = original.args or rl.Table()
    loaded = load_encoder(saved(original))
    assert type(loaded) is type(original)
    with rl.no_grad():
        assert_close(loaded.encode(SENTENCES)[1], original.encode(SENTENCES)[1].numpy())
    with pytest.raises(ValueError, match="no encoder called 'Other'"):
        load_encoder(rl.Table({"name": "Other", "modules": rl.Table(), "args": None}))


def test_places_of_padded_sentences():
    layer = onmt.PositionEmbedding(2, 3, SIZE)
    output = layer.forward([rl.zeros(2, 5, SIZE).double(), rl.tensor([5, 2])])
    rows = layer.weight.numpy()[[[1, 2, 3, 3, 3], [0, 0, 0, 1, 2]]]
    assert_close(output, rows)


def likelihood(scores, tags, first, after):
    """By all ways through a sentence."""
    ends = np.full((scores.shape[0], 1), math.log(1e-6))
    ends[3] = 0
    scores = np.concatenate([scores, ends], 1)

    def score(path):
        own = first[path[0]] + scores[path, range(len(path))].sum()
        return own + sum(after[a, b] for a, b in itertools.pairwise(path))

    ways = itertools.product(range(scores.shape[0]), repeat=scores.shape[1])
    return special.logsumexp([score(list(way)) for way in ways]) - score([t - 1 for t in tags])


def test_tags_of_sentences():
    criterion = onmt.SentenceNLLCriterion({}, 5)
    for seed, parameter in enumerate(criterion.parameters()[0]):
        parameter.copy_(tensor(random(*parameter.shape, seed=seed)))
    first, after = (parameter.numpy() for parameter in criterion.parameters()[0])
    x, tags = random(2, 5, 3), [[3, 5, 2, 4], [1, 2, 3, 4]]
    expected = likelihood(x[0], tags[0], first, after)
    expected += likelihood(x[1, :, 1:], tags[1][1:], first, after)
    target = rl.tensor(tags)
    assert criterion.forward(tensor(x), target) == pytest.approx(expected, abs=1e-10)
    leaf = tensor(x).requires_grad_()
    assert rl.autograd.gradcheck(lambda v: criterion(v, target), [leaf])
    leaf = tensor(x).requires_grad_()
    criterion.zeroGradParameters()
    criterion(leaf, target).backward()
    sums = [gradient.clone() for gradient in criterion.parameters()[1]]
    criterion.zeroGradParameters()
    assert_close(criterion.backward(tensor(x), target), leaf.grad.numpy())
    for own, total in zip(criterion.parameters()[1], sums, strict=True):
        assert_close(own, total.numpy() / 2)
    criterion.normalizeParams()
    assert_close(criterion.A.exp().sum(1), np.ones(5), 1e-5)
    best = criterion.viterbiSearch(tensor(x), [3, 2])
    assert best[1, 0].item() == 0
    paths = itertools.product(range(1, 6), repeat=4)
    first, after = (parameter.detach().numpy() for parameter in criterion.parameters()[0])
    scores = np.concatenate([x[0], np.zeros((5, 1))], 1)

    def score(path):
        places = [tag - 1 for tag in path]
        own = first[places[0]] + scores[places, range(4)].sum()
        return own + sum(after[a, b] for a, b in itertools.pairwise(places))

    assert best[0].tolist() == list(max(paths, key=score)[:3])
