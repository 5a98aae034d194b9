"""Graphs that differ from sample to sample, and gradients of gradients, in whole programs."""

import math
import random

import numpy as np
import pytest

import relume as rl
from relume import nn, optim
from relume.autograd import grad, gradcheck
from relume.nn.utils import clip_grad_norm_, functional_call


@pytest.fixture(autouse=True)
def seeded():
    rl.manual_seed(3)
    random.seed(3)


class TreeLSTM(nn.Module):
    """The child-sum TreeLSTM of Tai et al., 2015; a tree is (word, children)."""

    def __init__(self, words, size):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.gates = nn.Linear(2 * size, 3 * size)
        self.forget = nn.Linear(2 * size, size)

    def forward(self, tree):
        word, children = tree
        x = self.words(rl.tensor(word))
        states = [self(child) for child in children]
        total = sum((h for h, _ in states), rl.zeros(x.shape, dtype=x.dtype))
        i, o, u = self.gates(rl.cat([x, total])).chunk(3)
        cell = i.sigmoid() * u.tanh()
        for h, c in states:
            cell = cell + self.forget(rl.cat([x, h])).sigmoid() * c
        return o.sigmoid() * cell.tanh(), cell


def random_tree(depth, words=5):
    children = random.randint(0, 3) if depth else 0
    return random.randrange(words), [random_tree(depth - 1, words) for _ in range(children)]


def size_of(tree):
    return 1 + sum(size_of(child) for child in tree[1])


def test_tree_lstm_has_right_gradients():
    model = TreeLSTM(5, 3).double()
    names = [name for name, _ in model.named_parameters()]
    trees = [random_tree(3) for _ in range(3)]
    assert len({size_of(tree) for tree in trees}) > 1

    def loss(*values):
        parameters = dict(zip(names, values, strict=True))
        return sum(functional_call(model, parameters, (tree,))[0].sum() for tree in trees)

    assert gradcheck(loss, tuple(model.parameters()))


def test_tree_lstm_does_not_care_about_the_order_of_children():
    model = TreeLSTM(5, 4).double()
    leaf, pair = (1, []), (2, [(3, []), (4, [])])
    one, _ = model((0, [leaf, pair]))
    other, _ = model((0, [(2, [(4, []), (3, [])]), leaf]))
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12)


def test_tree_lstm_learns():
    """Is word 0 anywhere in the tree?"""

    def contains_zero(tree):
        return tree[0] == 0 or any(contains_zero(child) for child in tree[1])

    model, head = TreeLSTM(5, 12), nn.Linear(12, 1)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = optim.Adam(parameters, lr=0.02)
    loss = nn.BCEWithLogitsLoss()
    history = []
    for _ in range(80):
        trees = [random_tree(2) for _ in range(8)]
        optimizer.zero_grad()
        scores = rl.cat([head(model(tree)[0]) for tree in trees])
        error = loss(scores, rl.tensor([float(contains_zero(tree)) for tree in trees]))
        error.backward()
        clip_grad_norm_(parameters, 5.0)
        optimizer.step()
        history.append(error.item())
    assert np.mean(history[-15:]) < 0.5 * np.mean(history[:15])


class WordByWord(nn.Module):
    """An LSTM over sentences of any length, one word at a time."""

    def __init__(self, words, size):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.cell = nn.LSTMCell(size, size)
        self.score = nn.Linear(size, words)

    def forward(self, sentence):
        state = None
        scores = []
        for vector in self.words(sentence):
            state = self.cell(vector, state)
            scores.append(self.score(state[0]))
        return rl.stack(scores)


def test_lstm_over_sentences_of_their_own_length_learns():
    """Count up from any word: the next word is the last plus one."""
    model = WordByWord(7, 16)
    optimizer = optim.RMSprop(model.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()
    first = last = None
    for _ in range(60):
        start, length = random.randrange(7), random.randint(2, 9)
        sentence = rl.tensor([(start + i) % 7 for i in range(length + 1)])
        optimizer.zero_grad()
        error = loss(model(sentence[:-1]), sentence[1:])
        error.backward()
        optimizer.step()
        first, last = (error.item() if first is None else first), error.item()
    assert first > 1.5 and last < 0.5


def test_word_by_word_equals_the_whole_sentence():
    model = WordByWord(7, 5).double()
    whole = nn.LSTM(5, 5).double()
    state = {f"{name}_l0": value for name, value in model.cell.state_dict().items()}
    whole.load_state_dict(state)
    for length in (1, 2, 6):
        sentence = rl.tensor([random.randrange(7) for _ in range(length)])
        expected = model.score(whole(model.words(sentence))[0])
        np.testing.assert_allclose(
            model(sentence).detach().numpy(), expected.detach().numpy(), rtol=1e-10
        )


def gradient_penalty(critic, real, fake):
    """How far the critic's slope between the samples is from 1; Gulrajani et al., 2017."""
    mix = rl.rand(real.shape[0], 1, dtype=real.dtype)
    between = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    (slope,) = grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(2, 1) - 1) ** 2).mean()


def test_gradient_penalty_of_wgan_has_right_gradients():
    critic = nn.Sequential(
        nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 4), nn.Softplus(), nn.Linear(4, 1)
    )
    critic.double()
    real, fake = (rl.randn(6, 2, dtype=rl.float64) for _ in range(2))
    names = [name for name, _ in critic.named_parameters()]

    @rl.enable_grad()
    def penalty(*values):
        rl.manual_seed(9)
        parameters = dict(zip(names, values, strict=True))
        return gradient_penalty(lambda x: functional_call(critic, parameters, (x,)), real, fake)

    parameters = list(critic.parameters())[:-1]  # a shift at the end has no slope
    last = list(critic.parameters())[-1].detach()
    assert gradcheck(lambda *values: penalty(*values, last), tuple(parameters))


def test_wgan_critic_finds_the_distance_of_two_clouds():
    """Between clouds that differ by a shift, the Wasserstein distance is the shift's length."""
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    optimizer = optim.Adam(critic.parameters(), lr=0.02, betas=(0.5, 0.9))
    shift = rl.tensor([1.2, 1.6])  # of length 2
    for _ in range(150):
        fake = rl.randn(64, 2) * 0.3
        real = rl.randn(64, 2) * 0.3 + shift
        optimizer.zero_grad()
        difference = critic(real).mean() - critic(fake).mean()
        (10 * gradient_penalty(critic, real, fake) - difference).backward()
        optimizer.step()
    fake, real = rl.randn(2000, 2) * 0.3, rl.randn(2000, 2) * 0.3 + shift
    distance = (critic(real).mean() - critic(fake).mean()).item()
    assert distance == pytest.approx(2.0, abs=0.35)


def adapted(model, parameters, x, y, rate):
    """Parameters after one step of gradient descent on one task, still on the tape."""
    loss = (functional_call(model, parameters, (x,)) - y).square().mean()
    gradients = grad(loss, list(parameters.values()), create_graph=True)
    pairs = zip(parameters.items(), gradients, strict=True)
    return {name: value - rate * gradient for (name, value), gradient in pairs}


def test_maml_has_right_gradients():
    model = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    names = [name for name, _ in model.named_parameters()]
    x = rl.randn(5, 1, dtype=rl.float64)

    @rl.enable_grad()
    def after_two_steps(*values):
        leaves = [v if v.requires_grad else v.detach().requires_grad_() for v in values]
        parameters = dict(zip(names, leaves, strict=True))
        for _ in range(2):
            parameters = adapted(model, parameters, x, x.sin(), 0.3)
        return (functional_call(model, parameters, (x,)) - x.sin()).square().mean()

    assert gradcheck(after_two_steps, tuple(model.parameters()))


def sine_task():
    phase = random.uniform(0, math.pi)

    def samples(count):
        x = rl.rand(count, 1) * 6 - 3
        return x, (x + phase).sin()

    return samples


def test_maml_learns_to_learn():
    """Model-agnostic meta-learning (Finn et al., 2017) of sines: one step helps more and more."""
    model = nn.Sequential(
        nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
    )
    parameters = dict(model.named_parameters())
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def error_after_a_step(task):
        fast = adapted(model, parameters, *task(10), 0.1)
        x, y = task(10)
        return (functional_call(model, fast, (x,)) - y).square().mean()

    def mean_error():
        return np.mean([error_after_a_step(sine_task()).item() for _ in range(30)])

    before = mean_error()
    for _ in range(120):
        optimizer.zero_grad()
        for _ in range(4):
            (error_after_a_step(sine_task()) / 4).backward()
        optimizer.step()
    assert mean_error() < 0.5 * before


def test_functional_call_leaves_the_module_as_it_was():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(KeyError, match="wait"):
        functional_call(layer, {"weight": rl.ones(2, 2), "wait": rl.ones(1)}, (rl.ones(2),))
    assert layer.weight is weight
    with pytest.raises(ValueError):
        functional_call(layer, {"weight": rl.ones(2, 3)}, (rl.ones(2),))
    assert layer.weight is weight
