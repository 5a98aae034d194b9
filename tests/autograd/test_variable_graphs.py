"""Graphs that differ from one example to the next: trees, and sentences of any length."""

import random

import numpy as np
import pytest

import relume as rl
from relume import nn
from relume.autograd import gradcheck


def random_tree(generator, leaves):
    """A leaf is a number (a word), a node a pair."""
    if leaves == 1:
        return generator.randrange(5)
    left = generator.randrange(1, leaves)
    return random_tree(generator, left), random_tree(generator, leaves - left)


class TreeLSTM(nn.Module):
    """A binary tree LSTM (Tai, Socher & Manning 2015): one cell, used once per node."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.words = nn.Parameter(rl.randn(5, 2 * size, dtype=rl.float64) * 0.5)
        self.weight = nn.Parameter(rl.randn(2 * size, 5 * size, dtype=rl.float64) * 0.5)
        self.out = nn.Parameter(rl.randn(size, dtype=rl.float64))

    def state_of(self, tree):
        if isinstance(tree, int):
            word = self.words[tree]
            return word[: self.size].tanh(), word[self.size :]
        (h1, c1), (h2, c2) = (self.state_of(part) for part in tree)
        gates = (rl.cat([h1, h2]) @ self.weight).chunk(5)
        keep1, keep2, write, read = (g.sigmoid() for g in gates[:4])
        c = keep1 * c1 + keep2 * c2 + write * gates[4].tanh()
        return read * c.tanh(), c

    def forward(self, tree):
        return self.state_of(tree)[0] @ self.out


def leaves_of(tree):
    return 1 if isinstance(tree, int) else sum(leaves_of(part) for part in tree)


def test_gradients_over_random_trees():
    rl.manual_seed(4)
    generator = random.Random(1)
    model = TreeLSTM(2)
    for leaves in (1, 2, 3, 7):
        tree = random_tree(generator, leaves)

        def output(words, weight, out, tree=tree):
            changed = TreeLSTM(2)
            changed._parameters.update(words=words, weight=weight, out=out)
            return changed(tree)

        gradcheck(output, [p.detach().clone().requires_grad_() for p in model.parameters()])


def test_a_tree_lstm_learns_the_number_of_leaves():
    rl.manual_seed(4)
    generator = random.Random(2)
    model = TreeLSTM(4)
    optimizer = rl.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(150):
        tree = random_tree(generator, generator.randrange(1, 9))
        loss = (model(tree) - leaves_of(tree) / 4) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-30:]) < 0.4 * np.mean(losses[:30])


def test_a_batch_of_trees_of_different_shapes_has_the_sum_of_their_gradients():
    rl.manual_seed(4)
    generator = random.Random(3)
    model = TreeLSTM(3)
    trees = [random_tree(generator, n) for n in (1, 4, 9, 2)]
    sum(model(tree) for tree in trees).backward()
    together = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for tree in trees:
        model(tree).backward()
    for p, expected in zip(model.parameters(), together, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), expected.numpy(), rtol=1e-12, atol=1e-14)


def lstm_loss(parameters, sentence):
    """One step per word: the graph is as long as the sentence."""
    weight, out = parameters
    size = out.shape[0]
    h = c = rl.zeros(size, dtype=rl.float64)
    for word in sentence:
        gates = (rl.cat([word, h]) @ weight).chunk(4)
        forget, write, read = (g.sigmoid() for g in gates[:3])
        c = forget * c + write * gates[3].tanh()
        h = read * c.tanh()
    return h @ out


@pytest.mark.parametrize("length", [1, 2, 6])
def test_an_lstm_over_sentences_of_any_length(length):
    rl.manual_seed(7)
    sentence = rl.randn(length, 3, dtype=rl.float64)
    parameters = [
        (rl.randn(5, 8, dtype=rl.float64) * 0.5).requires_grad_(),
        rl.randn(2, dtype=rl.float64).requires_grad_(),
    ]
    gradcheck(lambda *p: lstm_loss(p, sentence), parameters)


def test_sentences_of_different_lengths_one_after_the_other():
    rl.manual_seed(7)
    parameters = [
        (rl.randn(5, 8, dtype=rl.float64) * 0.5).requires_grad_(),
        rl.randn(2, dtype=rl.float64).requires_grad_(),
    ]
    sentences = [rl.randn(n, 3, dtype=rl.float64) for n in (5, 1, 40, 3)]
    sum(lstm_loss(parameters, s) for s in sentences).backward()
    separate = [rl.grad(lstm_loss(parameters, s), parameters) for s in sentences]
    for i, p in enumerate(parameters):
        expected = sum(g[i].numpy() for g in separate)
        np.testing.assert_allclose(p.grad.numpy(), expected, rtol=1e-12, atol=1e-14)
