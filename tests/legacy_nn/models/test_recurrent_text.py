"""torch-rnn and neuraltalk2: recurrent layers step by step in NumPy, and their models of text."""

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.models import neuraltalk, torch_rnn

DOUBLE = {"dtype": rl.float64}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, weight, bias, h, c):
    """Step by step, gates in the order input, forget, output, candidate."""
    outputs = []
    hidden = h.shape[1]
    for t in range(x.shape[1]):
        a = np.concatenate([x[:, t], h], 1) @ weight + bias
        i, f, o = (sigmoid(a[:, k * hidden : (k + 1) * hidden]) for k in range(3))
        c = f * c + i * np.tanh(a[:, 3 * hidden :])
        h = o * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs, 1), c


def states(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_lstm_computes_what_its_equations_say():
    layer, x = torch_rnn.LSTM(3, 4), states(2, 5, 3)
    c, h = states(2, 4), states(2, 4)
    expected, _ = lstm(x.numpy(), layer.weight.numpy(), layer.bias.numpy(), h.numpy(), c.numpy())
    np.testing.assert_allclose(layer.forward([c, h, x]).numpy(), expected, rtol=1e-12)
    zeros = np.zeros((2, 4))
    expected, _ = lstm(x.numpy(), layer.weight.numpy(), layer.bias.numpy(), zeros, zeros)
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-12)
    assert str(layer) == "nn.LSTM(3 -> 4)"


def test_vanilla_rnn_computes_what_its_equation_says():
    layer, x, h = nn.VanillaRNN(3, 4), states(2, 5, 3), states(2, 4)
    state, expected = h.numpy(), []
    for t in range(5):
        joined = np.concatenate([x.numpy()[:, t], state], 1)
        state = np.tanh(joined @ layer.weight.numpy() + layer.bias.numpy())
        expected.append(state)
    np.testing.assert_allclose(layer.forward([h, x]).numpy(), np.stack(expected, 1), rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: torch_rnn.LSTM(2, 3), lambda: nn.VanillaRNN(2, 3)])
def test_gradients(make):
    layer, x = make(), states(2, 4, 2)
    first = [states(2, 3) for _ in layer.state_names]
    leaves = [tensor.clone().requires_grad_() for tensor in [*first, x]]
    assert rl.autograd.gradcheck(lambda *inputs: layer(list(inputs)), leaves)
    layer.zeroGradParameters()
    y = layer.forward([*first, x])
    g = states(*y.shape)
    gradient = layer.backward([*first, x], g).as_list()
    for leaf in leaves:
        leaf.grad = None
    weight = layer.gradWeight.clone()
    layer.zeroGradParameters()
    (layer(leaves) * g).sum().backward()
    for ours, leaf in zip(gradient, leaves, strict=True):
        assert difference(ours, leaf.grad) < 1e-12
    assert difference(weight, layer.gradWeight) < 1e-12


@pytest.mark.parametrize("make", [lambda: torch_rnn.LSTM(3, 4), lambda: nn.VanillaRNN(3, 4)])
def test_remembered_states_continue_a_sequence(make):
    layer, x = make(), states(2, 6, 3)
    whole = layer.forward(x).clone()
    layer.remember_states = True
    layer.resetStates()
    first = layer.forward(x.narrow(1, 0, 2)).clone()
    second = layer.forward(x.narrow(1, 2, 4)).clone()
    assert difference(rl.cat([first, second], 1), whole) < 1e-12
    with pytest.raises(ValueError, match="resetStates"):
        layer.forward(states(3, 2, 3))
    layer.resetStates()
    assert difference(layer.forward(x), whole) < 1e-12


def test_backward_starts_from_the_states_of_its_own_forward():
    layer, x = torch_rnn.LSTM(2, 3), states(1, 3, 2)
    layer.remember_states = True
    layer.forward(states(1, 4, 2))
    y = layer.forward(x)
    gradient = layer.backward(x, rl.ones_like(y)).clone()
    again = layer.updateGradInput(x.clone(), rl.ones_like(y))  # another tensor: computed anew
    assert difference(gradient, again) < 1e-12


def test_files_of_both_projects_are_told_apart_by_their_fields(tmp_path):
    mine, theirs = torch_rnn.LSTM(3, 4), nn.LSTM(3, 4)
    for net in (mine, theirs):
        path = tmp_path / "net.t7"
        rl.save(nn.Sequential().add(net).add(nn.Tanh()), path)
        read = rl.load(path)
        assert type(read.get(1)) is type(net)
        assert read.get(1).torch_typename == "nn.LSTM"
        assert type(read.get(2)) is nn.Tanh
    x = states(2, 5, 3)
    rl.save([mine, mine], tmp_path / "twice.t7")
    first, second = rl.load(tmp_path / "twice.t7")
    assert first is second
    assert difference(first.forward(x), mine.forward(x)) == 0
    for net in (torch_rnn.LanguageModel(["a", "b"], rnn_size=3), caption_model()):
        rl.save(net, tmp_path / "model.t7")
        assert type(rl.load(tmp_path / "model.t7")) is type(net)
    kept = rl.load(tmp_path / "twice.t7", classes={"nn.LSTM": rl.TorchObject})
    assert kept[1].torch_typename == "nn.LSTM"


def test_objects_from_lua_are_told_apart_too():
    with rl.bridge.Lua() as lua:
        mine = lua.execute("return ...", torch_rnn.LSTM(3, 4)).to_python()
        assert type(mine) is torch_rnn.LSTM


@pytest.mark.parametrize("kind", ["lstm", "rnn"])
def test_language_model_scores_and_learns(kind):
    model = torch_rnn.LanguageModel(list("abc"), kind, 4, 5, 2, 0.0)
    x = rl.tensor([[1, 2, 3, 1], [3, 3, 2, 1]])
    model.resetStates()
    scores = model.forward(x)
    assert scores.shape == (2, 4, 3)
    layers = model.net
    value = layers.get(1).forward(x)
    for place in (2, 3):
        layers.get(place).resetStates()
        value = layers.get(place).forward(value)
    rows = value.reshape(-1, 5) @ layers.get(5).weight.t() + layers.get(5).bias
    assert difference(scores.reshape(-1, 3), rows) < 1e-12
    model.resetStates()
    model.zeroGradParameters()
    model.forward(x)
    model.backward(x, rl.ones(2, 4, 3, **DOUBLE))
    assert all(g.abs().sum().item() > 0 for g in model.parameters()[1])
    assert [m.torch_typename for m in model.walk()][1] == "nn.Sequential"
    assert model.getParameters()[0].numel() == sum(p.numel() for p in model.parameters()[0])


def test_language_model_continues_a_text():
    model = torch_rnn.LanguageModel(list("abc"), rnn_size=4)
    model.evaluate()
    assert model.decode_string(model.encode_string("cab")) == "cab"
    text = model.sample(length=8, start_text="ab", sample=0)
    assert text.startswith("ab")
    assert len(text) == 8
    # The likeliest character again, by hand.
    model.resetStates()
    best = model.forward(model.encode_string("ab").reshape(1, -1))[0, -1].argmax().item()
    assert text[2] == "abc"[best]
    rl.manual_seed(3)
    drawn = model.sample(length=8, temperature=0.7)
    rl.manual_seed(3)
    assert model.sample(length=8, temperature=0.7) == drawn
    with pytest.raises(ValueError, match="does not know the character 'z'"):
        model.encode_string("z")


# ---- neuraltalk2 ----


def caption_model(words=3, vocabulary=4, size=5):
    """A core of one layer: next state and output from the word and the last states."""
    x, c, h = nn.Identity()(), nn.Identity()(), nn.Identity()()
    next_c = nn.Tanh()(nn.CAddTable()([nn.Linear(size, size)(x), c]))
    next_h = nn.Tanh()(nn.CAddTable()([next_c, nn.Linear(size, size)(h)]))
    output = nn.LogSoftMax()(nn.Linear(size, vocabulary + 1)(next_h))
    model = neuraltalk.LanguageModel.__new__(neuraltalk.LanguageModel)
    model._load_fields(
        {
            "core": nn.gModule([x, c, h], [next_c, next_h, output]),
            "lookup_table": nn.LookupTable(vocabulary + 1, size),
            "seq_length": words, "vocab_size": vocabulary, "rnn_size": size, "num_layers": 1,
            "num_state": 2, "input_encoding_size": size, "train": True,
        }
    )  # fmt: skip
    return model


def test_captions_are_scored_word_by_word():
    model, codes = caption_model(), states(2, 5)
    captions = rl.tensor([[2, 1], [3, 0], [0, 0]])
    output = model.forward([codes, captions])
    assert output.shape == (5, 2, 5)
    c = h = rl.zeros(2, 5, **DOUBLE)
    words = [None, rl.tensor([5, 5]), rl.tensor([2, 1]), rl.tensor([3, 1])]
    for step, numbers in enumerate(words):
        vectors = codes if numbers is None else model.lookup_table.forward(numbers)
        c, h, scores = model.core.forward([vectors, c, h]).as_list()
        assert difference(output[step], scores) < 1e-12


def test_captions_gradients_reach_images_and_words():
    model, codes = caption_model(), states(2, 5)
    captions = rl.tensor([[2, 1], [3, 4], [1, 0]])
    criterion = nn.LanguageModelCriterion()
    criterion.forward(model.forward([codes, captions]), captions)
    model.zeroGradParameters()
    gradient = model.backward([codes, captions], criterion.backward(model.output, captions))
    by_parameters = [g.clone() for g in model.parameters()[1]]
    assert all(g.abs().sum().item() > 0 for g in by_parameters)

    def loss(leaf):
        return criterion(model([leaf, captions]), captions)

    leaf = codes.clone().requires_grad_()
    assert rl.autograd.gradcheck(loss, [leaf])
    (expected,) = rl.grad(loss(leaf), [leaf])
    assert difference(gradient[1], expected) < 1e-12
    model.backward([codes, captions], criterion.backward(model.output, captions), 2)
    assert difference(model.parameters()[1], [g * 3 for g in by_parameters]) < 1e-12


def test_the_criterion_counts_words_and_one_end():
    logarithms = states(5, 2, 5)
    captions = rl.tensor([[2, 1], [3, 0], [0, 0]])
    # t = 1.. predicts: sample 1: 2, 3, end; sample 2: 1, end
    picked = [(1, 0, 1), (2, 0, 2), (3, 0, 4), (1, 1, 0), (2, 1, 4)]
    expected = -sum(logarithms[p].item() for p in picked) / 5
    assert nn.LanguageModelCriterion().forward(logarithms, captions) == pytest.approx(expected)


def test_captions_are_sampled():
    model, codes = caption_model(), states(2, 5)
    numbers, values = model.sample(codes)
    assert numbers.shape == values.shape == (3, 2)
    scored = model.forward([codes, numbers])
    assert numbers[0].tolist() == (scored[1].argmax(1) + 1).tolist()
    assert difference(values[0], scored[1].amax(1)) < 1e-12


def test_a_chatbot_answers_with_the_likeliest_words():
    model = nn.neuralconvo.Seq2Seq(7, 4)
    sentence = rl.tensor([3, 5, 2])
    with pytest.raises(ValueError, match="goToken"):
        model.eval(sentence)
    model.goToken, model.eosToken = 1, 2
    model = rl.loads(rl.dumps(model))
    words, likelihoods = model.eval(sentence)
    assert words == [] or len(words[0]) == 5
    again, _ = model.eval(sentence)
    assert [w.tolist() for w in again] == [w.tolist() for w in words]
    # The same by hand: the decoder begins where the encoder ended.
    model.encoder.forward(sentence)
    model.forwardConnect(3)
    scores = model.decoder.forward(rl.tensor([1]))[0]
    best = int(scores.argmax().item()) + 1
    if best == 2:
        assert words == []
    else:
        assert words[0][0].item() == best
        assert likelihoods[0][0].item() == pytest.approx(scores.amax().item())
    assert len(model.parameters()[0]) == len(model.float().parameters()[0]) == 10


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4, 5)])
def test_states_that_are_planes(shape):
    layer = nn.ConvLSTM(3, 2, 5, 3, 5)
    layer.initBias(1, 0.1)
    steps = [states(*shape) for _ in range(3)]
    convolutions = layer.recurrentModule.findModules("nn.SpatialConvolution")[0]
    over_states = layer.recurrentModule.findModules("nn.SpatialConvolutionNoBias")[0]
    assert [c.bias[0].item() for c in convolutions] == [1, 0.1, 0.1, 0.1]
    cell = output = rl.zeros(*shape[:-3], 2, 4, 5, **DOUBLE)
    for x in steps:
        sums = [
            a.clone().forward(x) + b.clone().forward(output)
            for a, b in zip(convolutions, over_states, strict=True)
        ]
        forget, enter, written, leave = sums
        cell = cell * forget.sigmoid() + enter.sigmoid() * written.tanh()
        output = cell.tanh() * leave.sigmoid()
        assert difference(layer.forward(x), output) < 1e-10
    g = states(*output.shape)
    gradients = [layer.backward(x, g) for x in reversed(steps)]
    assert gradients[-1].shape == shape
    layer.forget()
    sequence = nn.Sequencer(layer)
    assert difference(sequence.forward(steps)[3], output) < 1e-10
    with pytest.raises(ValueError, match="planes CxHxW"):
        nn.ConvLSTM(3, 2).forward(states(2, 3))
