"""A word-level language model with package rnn, trained as a real Torch7 trained it."""

import pytest
from golden_cases import DATA, difference

import relume as rl
from relume import _C
from relume import legacy_nn as nn
from relume.legacy_nn.rnn.dropout import Dropout

TEXT = """
the fox sees the hen and the hen sees the fox . the dog sees the fox and the fox runs to the wood .
the hen runs to the house and the dog runs to the wood . the fox hides and the dog seeks .
the dog sees the hen and the hen hides . the fox sleeps in the wood
and the hen sleeps in the house .
"""


def numbered_words(batch):
    """The text as `batch` rows of word numbers (from 1), and how many words there are."""
    numbers = {}
    words = [numbers.setdefault(word, len(numbers) + 1) for word in TEXT.split()]
    length = len(words) // batch
    rows = [words[row * length : (row + 1) * length] for row in range(batch)]
    return rl.tensor(rows), len(numbers)


def build(cfg, words):
    step = nn.Sequential().add(nn.LookupTable(words, int(cfg.embed)))
    size = int(cfg.embed)
    for kind in cfg.layers:
        step.add(getattr(nn, kind)(size, int(cfg.hidden)))
        if cfg.dropout > 0:
            step.add(Dropout(cfg.dropout))
        size = int(cfg.hidden)
    step.add(nn.Linear(size, words)).add(nn.LogSoftMax())
    net = nn.Sequencer(step)
    if cfg.get("remember"):
        net.remember(cfg.remember)
    for parameter in net.parameters()[0]:
        parameter.uniform_(-cfg.init, cfg.init)
    return net


def flat(tensors):
    return rl.cat([tensor.detach().reshape((-1,)) for tensor in tensors])


def columns(rows, start, count):
    return [rows[:, start + step].clone() for step in range(count)]


@pytest.fixture
def double_tensors():
    nn.set_default_tensor_type("torch.DoubleTensor")
    yield
    nn.set_default_tensor_type("torch.DoubleTensor")


@pytest.mark.parametrize("name", ["rnnlm", "rnnlm_gru_dropout"])
def test_the_run_of_a_real_torch7(name, double_tensors):
    golden = rl.load(DATA / "train" / f"{name}.t7")
    cfg, steps = golden.config, int(golden.config["T"])
    rl.manual_seed(int(cfg.seed))
    rows, words = numbered_words(int(cfg.batch))
    length = rows.shape[1]
    net, criterion = build(cfg, words), nn.SequencerCriterion(nn.ClassNLLCriterion())
    assert difference(flat(net.parameters()[0]), golden.initial) == 0
    net.training()
    position, losses, norms = 0, [], []
    for _ in range(int(cfg.iterations)):
        if position + steps >= length:
            position = 0
            net.forget()
        inputs = columns(rows, position, steps)
        targets = columns(rows, position + 1, steps)
        output = net.forward(inputs)
        losses.append(criterion.forward(output, targets) / steps)
        net.zeroGradParameters()
        net.backward(inputs, criterion.backward(output, targets))
        norms.append(net.gradParamClip(cfg.cutoff))
        if cfg.get("momentum"):
            net.updateGradParameters(cfg.momentum)
        net.updateParameters(cfg.learningRate)
        if cfg.get("maxnorm"):
            net.maxParamNorm(cfg.maxnorm)
        position += steps
    assert difference(losses, golden.losses) < 1e-12
    assert difference(norms, golden.gradnorms) < 1e-12
    assert difference(flat(net.parameters()[0]), golden.final) < 1e-12
    net.evaluate()
    count = length - 1
    output = net.forward(columns(rows, 0, count))
    loss = criterion.forward(output, columns(rows, 1, count)) / count
    assert abs(loss - golden.eval_loss) < 1e-12
    assert str(net) == golden.printed
    assert _C.default_generator().random() == golden.rng_next
