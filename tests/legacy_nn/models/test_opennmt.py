"""OpenNMT's models: encoders and decoders step by step, and a checkpoint as its tables."""

import numpy as np
import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}
SIZE, WORDS = 4, 9


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def lstm_layer(inputs, size):
    """The graph that OpenNMT builds for a layer."""
    c, h, x = (nn.Identity()() for _ in range(3))
    sums = nn.CAddTable()([nn.Linear(inputs, 4 * size, False)(x), nn.Linear(size, 4 * size)(h)])
    n1, n2, n3, n4 = nn.SplitTable(2)(nn.Reshape(4, size)(sums)).split(4)
    i, f, o = nn.Sigmoid()(n1), nn.Sigmoid()(n2), nn.Sigmoid()(n3)
    kept, new = nn.CMulTable()([f, c]), nn.CMulTable()([i, nn.Tanh()(n4)])
    next_c = nn.CAddTable()([kept, new])
    next_h = nn.CMulTable()([o, nn.Tanh()(next_c)])
    return nn.gModule([c, h, x], [next_c, next_h])


def lstm(inputs, size):
    net = lstm_layer(inputs, size)
    return loaded(
        "onmt.LSTM", net=net, modules=[net], dropout=0, numEffectiveLayers=2, outputSize=size
    )


def encoder_network(size=SIZE):
    c, h, x = (nn.Identity()() for _ in range(3))
    vectors = nn.onmt.WordEmbedding(WORDS, size)(x)
    return nn.gModule([c, h, x], [lstm(size, size)([c, h, vectors])])


def attention(size):
    h, context = nn.Identity()(), nn.Identity()()
    target = nn.Linear(size, size, False)(h)
    scores = nn.Sum(3)(nn.MM()([context, nn.Replicate(1, 3)(target)]))
    softmax = nn.SoftMax()
    softmax.name = "softmaxAttn"
    weights = nn.Replicate(1, 2)(softmax(scores))
    combined = nn.Sum(2)(nn.MM()([weights, context]))
    joined = nn.JoinTable(2)([combined, h])
    net = nn.gModule([h, context], [nn.Tanh()(nn.Linear(2 * size, size, False)(joined))])
    layer = loaded("onmt.GlobalAttention", net=net, modules=[net])
    layer.name = "decoderAttn"
    return layer


def decoder_network(size=SIZE):
    c, h, x, context, feed = (nn.Identity()() for _ in range(5))
    vectors = nn.JoinTable(2)([nn.onmt.WordEmbedding(WORDS, size)(x), feed])
    next_c, next_h = lstm(2 * size, size)([c, h, vectors]).split(2)
    out = attention(size)([next_h, context])
    return nn.gModule([c, h, x, context, feed], [next_c, next_h, out])


def table(**entries):
    result = rl.Table()
    for key, value in entries.items():
        result[key] = value
    return result


def args(size=SIZE, **more):
    return table(rnnSize=size, numEffectiveLayers=2, **more)


def checkpoint(bidirectional=False):
    if bidirectional:
        half = SIZE // 2
        encoders = [nn.onmt.Encoder(encoder_network(half), args(half)) for _ in range(2)]
        encoder = table(
            name="BiEncoder", modules=rl.Table(encoders), args=args(SIZE, merge="concat")
        )
    else:
        encoder = table(name="Encoder", modules=rl.Table([encoder_network()]), args=args())
    generator = nn.onmt.Generator(SIZE, [WORDS])
    decoder = table(modules=rl.Table([decoder_network(), generator]), args=args(inputFeed=True))
    return table(encoder=encoder, decoder=decoder)


def test_an_encoder_applies_its_network_word_by_word():
    encoder, words = nn.onmt.Encoder(encoder_network(), args()), rl.tensor([[5, 6], [7, 8], [2, 3]])
    states, context = encoder.forward(words).as_list()
    c = h = rl.zeros(2, SIZE, **DOUBLE)
    for step in range(3):
        c, h = encoder.modules[0].forward([c, h, words[step]]).as_list()
        assert difference(context[:, step], h) < 1e-12
    assert difference(states.as_list(), [c, h]) < 1e-12


def test_padding_on_either_side_changes_nothing():
    encoder = nn.onmt.Encoder(encoder_network(), args())
    encoder.maskPadding()
    short = rl.tensor([[5], [7]])
    with rl.no_grad():
        expected, context = encoder.encode(short)
        left, left_context = encoder.encode(rl.tensor([[1, 5], [5, 6], [7, 7]]), [2, 3])
        right, right_context = encoder.encode(rl.tensor([[5, 5], [7, 6], [1, 7]]), [2, 3], False)
    for state, one, other in zip(expected, left, right, strict=True):
        assert difference(one[0], state[0]) < 1e-12
        assert difference(other[0], state[0]) < 1e-12
    assert difference(left_context[0, 1:], context[0]) < 1e-12
    assert difference(right_context[0, :2], context[0]) < 1e-12


@pytest.mark.parametrize("merge", ["concat", "sum"])
def test_a_bidirectional_encoder_reads_from_both_ends(merge):
    fwd, bwd = (nn.onmt.Encoder(encoder_network(), args()) for _ in range(2))
    both = nn.onmt.BiEncoder(fwd, bwd, args(merge=merge))
    words = rl.tensor([[5, 6], [7, 8], [2, 3]])
    states, context = both.forward(words).as_list()
    with rl.no_grad():
        a, a_context = fwd.encode(words)
        b, b_context = bwd.encode(words.flip(0))
    join = (lambda x, y: x + y) if merge == "sum" else (lambda x, y: rl.cat([x, y], x.ndim - 1))
    assert difference(states.as_list(), [join(x, y) for x, y in zip(a, b, strict=True)]) < 1e-12
    assert difference(context, join(a_context, b_context.flip(1))) < 1e-12


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_checkpoint_learns(bidirectional):
    model = nn.onmt.Seq2Seq(checkpoint(bidirectional))
    source, target = rl.tensor([[5, 6], [7, 8], [2, 3]]), rl.tensor([[3, 3], [5, 6]])
    outputs = model.forward([source, target])
    assert [step[1].shape for step in outputs] == [(2, WORDS)] * 2
    assert difference(outputs[1][1].exp().sum(1), rl.ones(2, **DOUBLE)) < 1e-12
    criterion = nn.onmt.ParallelClassNLLCriterion([WORDS])
    gradients, loss = rl.Table(), 0
    for step, words in enumerate(rl.tensor([[5, 1], [4, 4]]), 1):
        loss += criterion.forward(outputs[step], [words])
        gradients[step] = criterion.backward(outputs[step], [words])
    picked = [(1, 0, 4), (2, 0, 3), (2, 1, 3)]  # the padding does not count
    assert loss == pytest.approx(-sum(outputs[s][1][b, w].item() for s, b, w in picked))
    model.zeroGradParameters()
    model.backward([source, target], gradients)
    parameters, sums = model.parameters()
    assert len({id(p) for p in parameters}) == len(parameters)
    assert sum(g.abs().sum().item() > 0 for g in sums) == len(sums)
    # One weight against a difference quotient.
    weight = model.find_modules("nn.Linear")[0].weight
    slope = sums[[p is weight for p in parameters].index(True)][0, 0].item()

    def loss_at(delta):
        with rl.no_grad():
            weight[0, 0] += delta
        outputs = model.forward([source, target])
        with rl.no_grad():
            weight[0, 0] -= delta
        return -sum(outputs[s][1][b, w].item() for s, b, w in picked)

    assert slope == pytest.approx((loss_at(1e-5) - loss_at(-1e-5)) / 2e-5, rel=1e-4, abs=1e-9)


def test_translation_takes_the_likeliest_words():
    model = nn.onmt.Seq2Seq(checkpoint())
    source = rl.tensor([[5, 6], [7, 8]])
    rows = model.translate(source, max_length=4)
    assert len(rows) == 2
    word, states, context, output = 3, *model.models["encoder"].encode(source[:, :1]), None
    for expected in rows[0]:
        words = rl.tensor([word])
        output, states = model.models["decoder"].step(words, states, context, output)
        scores = model.models["decoder"].generator(output)[1]
        word = scores.argmax().item() + 1
        assert word == expected


def test_translation_of_padded_sentences_is_that_of_single_ones():
    model = nn.onmt.Seq2Seq(checkpoint(True))
    model.models["encoder"].maskPadding()
    alone = model.translate(rl.tensor([[5], [7]]), [2], max_length=5)
    together = model.translate(rl.tensor([[1, 6], [5, 8], [7, 2]]), [2, 3], max_length=5)
    assert together[0] == alone[0]
    model.models["decoder"].maskPadding()
    names = [m.torch_typename for m in model.walk() if getattr(m, "name", "") == "softmaxAttn"]
    assert names == ["nn.SoftMax"]


def test_masked_softmax():
    layer, x = nn.onmt.MaskedSoftmax(rl.tensor([2, 3]), 3), random(2, 3)
    y = layer.forward(x).numpy()
    e = np.exp(x.numpy())
    e[0, 0] = 0
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-12)
    assert rl.autograd.gradcheck(layer, [x.clone().requires_grad_()])
    layer.forward(x)
    assert layer.backward(x, random(2, 3))[0, 0].item() == 0
    with pytest.raises(ValueError, match="2 x 3"):
        layer.forward(random(2, 4))


def test_fixed_words_are_not_learnt():
    layer = nn.onmt.WordEmbedding(5, 3, True)
    assert layer.parameters() == ([], [])
    words = rl.tensor([2, 3])
    layer.forward(words)
    layer.backward(words, random(2, 3))
    assert layer.net.gradWeight.abs().sum().item() == 0


def test_generators_of_the_first_version_give_one_tensor():
    net = nn.Sequential().add(nn.Linear(3, 5)).add(nn.LogSoftMax())
    old = loaded("onmt.Generator", net=net, modules=[net])
    x = random(2, 3)
    output = old.forward(x)
    assert difference(output[1], net.forward(x)) == 0
    g = random(2, 5)
    assert difference(old.backward(x, [g]), net.backward(x, g)) == 0
    assert difference(nn.onmt.Generator(3, [5, 2]).forward([x])[2].exp().sum(1),
                      rl.ones(2, **DOUBLE)) < 1e-12  # fmt: skip


def test_positions_join_and_bridges():
    layer = nn.onmt.PositionEmbedding(1, 3, 2)
    words = rl.tensor([[5, 1], [6, 7], [8, 8], [9, 9]])
    places = rl.tensor([[1, 4], [2, 2], [3, 3], [4, 4]])
    expected = layer.weight.index_select(0, (places - 1).reshape(-1)).reshape(4, 2, 2)
    assert difference(layer.forward(words), expected) == 0
    join, parts = nn.onmt.JoinReplicateTable(2, 3), [random(2, 1, 3), random(2, 4, 2)]
    y = join.forward(parts)
    assert difference(y, rl.cat([parts[0].expand(2, 4, 3), parts[1]], 2)) == 0
    g = random(2, 4, 5)
    assert difference(join.backward(parts, g)[1], g[:, :, :3].sum(1, keepdim=True)) < 1e-12
    nothing = loaded("onmt.Bridge", modules=rl.Table())
    assert nothing.forward([random(2)]) is None


def test_dictionary():
    words = loaded(
        "onmt.utils.Dict",
        idxToLabel=rl.Table(["<blank>", "<unk>", "<s>", "</s>", "a", "b"]),
        labelToIdx=table(a=5, b=6, **{"<unk>": 2, "<s>": 3, "</s>": 4}),
    )
    numbers = words.convertToIdx(["b", "zebra"], "<unk>", "<s>", "</s>")
    assert numbers.tolist() == [3, 6, 2, 4]
    assert words.convertToLabels(rl.tensor([5, 4, 6]), 4) == ["a", "</s>"]
    assert issubclass(nn.lookup("Dict"), nn.lookup("onmt.utils.Dict"))
