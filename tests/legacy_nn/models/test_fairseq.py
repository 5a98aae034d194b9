"""Layers of fairseq-lua."""

import numpy as np
import pytest
from golden_cases import difference
from layer_checks import check_gradients
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_small_layers():
    x, y = random(2, 3), random(2, 4, 3)
    assert difference(nn.AppendBias().forward(x)[:, 3], rl.ones(2, **DOUBLE)) == 0
    check_gradients(nn.AppendBias(), x)
    layer = nn.CAddTableMulConstant(0.5)
    assert difference(layer.forward([x, x * 3]), x * 2) < 1e-12
    check_gradients(layer, x, random(2, 3))
    assert difference(nn.SeqMultiply().forward([x, y]), x * 2) < 1e-12
    zipped = nn.ZipAlong().forward([[x, y], x])
    assert zipped[2][1].shape == y.shape
    gradient = nn.ZipAlong().backward([[x, y], x], [[x, x], [y, x]])
    assert difference(gradient[2], x * 2) < 1e-12


def test_gradients_of_parameters_are_multiplied():
    inner = nn.Linear(3, 2)
    layer, x, g = nn.GradMultiply(inner, 0.1), random(4, 3), random(4, 2)
    inner.zeroGradParameters()
    layer.forward(x)
    layer.backward(x, g, 2)
    assert difference(inner.gradWeight, g.transpose(0, 1) @ x * 0.2) < 1e-12
    layer.accGradParameters(x, g)
    assert difference(inner.gradBias, g.sum(0) * 0.3) < 1e-12


def test_hypotheses_of_one_sentence_share_a_matrix():
    layer = nn.BeamableMM(False, True)
    layer.evaluate()
    states, memory = random(6, 1, 4), random(2, 5, 4).repeat_interleave(3, 0)
    plain = layer.forward([states, memory])
    layer.setBeamSize(3)
    assert layer.forward([states, memory]).shape == (6, 1, 5)
    assert difference(layer.forward([states, memory]), plain) < 1e-12
    with pytest.raises(ValueError, match="multiple of 3"):
        layer.forward([states[:4], memory[:4]])


def test_a_convolution_runs_step_by_step():
    steps, weight, bias = random(2, 5, 4), random(3, 2, 4), random(3)
    layer = nn.LinearizedConvolution()
    layer.setParameters(weight, bias)
    layer.evaluate()
    padded = np.concatenate([np.zeros((2, 1, 4)), steps.numpy()], 1)
    for step in range(5):
        output = layer.forward(steps[:, step : step + 1])
        window = padded[:, step : step + 2]
        expected = np.einsum("nki,oki->no", window, weight.numpy()) + bias.numpy()
        np.testing.assert_allclose(output[:, 0].numpy(), expected, rtol=1e-10)
        layer.shiftState()
    layer.resetState()
    first = layer.forward(steps[:, :1])
    layer.shiftState(rl.tensor([2, 1]))
    layer.forward(steps[:, :1])
    np.testing.assert_allclose(layer.inputBuffer[0, 0].numpy(), steps[1, 0].numpy())
    assert first.shape == (2, 1, 3)


def test_two_modes_agree():
    convolution = nn.TemporalConvolutionTBC(4, 3, 2)
    block = nn.ConvBlockTrainTestLayer(
        nn.Sequential().add(nn.Identity()).add(nn.Sequential().add(convolution)),
        nn.LinearizedConvolution(),
    )
    steps = random(2, 2, 4)  # batch x time
    whole = block.forward(steps.transpose(0, 1).contiguous())[0]
    assert len(block.parameters()[0]) == 2
    block.evaluate()
    fast = block.get(2)
    fast.forward(steps[:, :1])
    fast.shiftState()
    assert difference(block.forward(steps[:, 1:])[:, 0], whole) < 1e-10
    block.training()
    assert str(block).startswith("nn.TrainTestLayer [ ")
    called = []
    layer = nn.TrainTestLayer(
        nn.Linear(2, 2), nn.Linear(2, 2), None, lambda *both: called.append(1)
    )
    layer.evaluate()
    layer.evaluate()
    assert called == [1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_networks_of_tables(kind):
    rnn = getattr(nn.cudnn, kind)(3, 2, 2)
    layer = nn.CudnnRnnTable(rnn, 3)
    states = [random(2, 4, 2), random(2, 4, 2)]
    first = states if kind == "LSTM" else states[0]
    steps = [random(4, 3) for _ in range(3)]
    last, outputs = layer.forward([first, steps]).as_list()
    rnn.hiddenInput = states[1] if kind == "LSTM" else states[0]
    rnn.cellInput = states[0]
    assert difference(rl.stack(outputs.as_list(), 0), rnn.forward(rl.stack(steps, 0))) < 1e-10
    assert len(nn.nested.tensors_in(last)) == (2 if kind == "LSTM" else 1)
    of_last = [rl.ones(2, 4, 2, **DOUBLE)] * 2 if kind == "LSTM" else rl.ones(2, 4, 2, **DOUBLE)
    gradient = layer.backward([first, steps], [of_last, [rl.ones(4, 2, **DOUBLE)] * 3])
    moved = [state.clone() for state in states]
    moved[0][1, 2, 1] += 1e-6

    def total(states):
        first = states if kind == "LSTM" else states[0]
        return sum(t.sum().item() for t in nn.nested.tensors_in(layer.forward([first, steps])))

    of_first = gradient[1][1] if kind == "LSTM" else gradient[1]
    found = (total(moved) - total(states)) / 1e-6
    assert found == pytest.approx(of_first[1, 2, 1].item(), abs=1e-5)


def test_models_and_words_of_files():
    net, x = nn.Sequential().add(nn.Linear(3, 2)).add(nn.BeamableMM()), random(2, 3)
    model = loaded("FConvModel", module=net.get(1), config=rl.Table({"nenclayer": 4}))
    assert difference(model.forward(x), net.get(1).forward(x)) == 0
    copy = rl.loads(rl.dumps(model))
    assert copy.torch_typename == "FConvModel"
    assert copy.config.nenclayer == 4
    assert len(copy.float().parameters()[0]) == 2
    model = loaded("BLSTMModel", module=net)
    model.setBeamSize(5)
    assert model.network().get(2).beam == 5
    words = loaded(
        "Dictionary",
        symbol_to_index=rl.Table({"<unk>": 1, "a": 2, "b": 3}),
        index_to_symbol=rl.Table(["<unk>", "a", "b"]),
        cutoff=2,
        unk_index=1,
    )
    assert [words.getIndex(word) for word in ("a", "b", "c")] == [2, 1, 1]
    assert [words.getSymbol(number) for number in (2, 3)] == ["a", "<unk>"]
    assert words.size() == 2
