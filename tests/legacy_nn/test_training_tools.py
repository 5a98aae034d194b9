"""nn.StochasticGradient and nn.Jacobian: whole runs of a real Torch7, and finite differences."""

import pytest
from golden_cases import DATA, difference

import relume as rl
from relume import _C
from relume import legacy_nn as nn


class Examples:
    """A dataset as Lua scripts write them."""

    def __init__(self, count):
        self.examples = []
        for _ in range(count):
            x = rl.empty((2,), dtype=rl.float64).normal_()
            y = -1.0 if (x[0] * x[1]).item() > 0 else 1.0
            self.examples.append([x, rl.tensor([y], dtype=rl.float64)])

    def size(self):
        return len(self.examples)

    def __getitem__(self, place):
        return self.examples[place - 1]


def flat(tensors):
    return rl.cat([tensor.detach().reshape((-1,)) for tensor in tensors], 0)


@pytest.mark.parametrize("name", ["stochastic_gradient", "stochastic_gradient_no_shuffle"])
def test_a_whole_training_run(name, capsys):
    expected = rl.load(DATA / "train" / f"{name}.t7")
    settings = expected.config
    rl.manual_seed(int(settings.seed))
    dataset = Examples(int(settings.samples))
    hidden = int(settings.hidden)
    net = nn.Sequential().add(nn.Linear(2, hidden)).add(nn.Tanh()).add(nn.Linear(hidden, 1))
    assert difference(flat(net.parameters()[0]), expected.initial) == 0
    trainer = nn.StochasticGradient(net, nn.MSECriterion())
    trainer.learningRate = settings.learningRate
    trainer.learningRateDecay = settings.learningRateDecay
    trainer.maxIteration = settings.iterations
    trainer.shuffleIndices = settings.shuffle
    errors, seen = [], []
    trainer.hookIteration = lambda trainer, epoch, error: errors.append(error)
    trainer.hookExample = lambda trainer, example: seen.append(example)
    trainer.train(dataset)
    assert errors == pytest.approx(expected.errors.as_list(), rel=1e-10)
    assert difference(flat(net.parameters()[0]), expected.final) < 1e-10
    assert _C.default_generator().random() == expected.rng_next
    assert len(seen) == settings.samples * settings.iterations
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == expected.printed[1]
    assert lines[-2] == expected.printed[len(lines) - 1]
    assert len(lines) == len(expected.printed)


def test_a_saved_trainer_comes_back(tmp_path):
    trainer = nn.StochasticGradient(nn.Mul(), nn.MSECriterion())
    trainer.learningRate = 0.5
    rl.save(trainer, tmp_path / "trainer.t7")
    again = rl.load(tmp_path / "trainer.t7")
    assert type(again) is nn.StochasticGradient
    assert again.learningRate == 0.5
    again.verbose, again.maxIteration = False, 3
    again.train([(rl.ones(1, dtype=rl.float64), rl.ones(1, dtype=rl.float64))])


def test_jacobian_finds_a_wrong_gradient():
    class Wrong(nn.Module):
        def updateOutput(self, input):
            self.output = input * input
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = gradOutput * input  # half of it
            return self.gradInput

    x = rl.zeros(3, dtype=rl.float64)
    assert nn.Jacobian.testJacobian(Wrong(), x) > 0.01
    assert nn.Jacobian.testJacobian(nn.Square(), x) < 1e-8


def test_jacobian_of_updates():
    layer, x = nn.Linear(3, 2), rl.zeros(3, dtype=rl.float64)
    for name in ("weight", "bias"):
        assert nn.Jacobian.testJacobianUpdateParameters(layer, x, name) < 1e-8
