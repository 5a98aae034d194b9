"""Values of sample arguments: leaves that keep away from kinks and ties."""

import numpy as np

import relume as rl

_random = np.random.default_rng(20160101)


def _leaf(values):
    return rl.tensor(values, dtype=rl.float64, requires_grad=True)


def positive(*shape):
    """Floats between 0.2 and 0.9, a leaf that requires a gradient."""
    return _leaf(_random.uniform(0.2, 0.9, shape))


def signed(*shape):
    """Floats of both signs, away from 0 and from 1."""
    values = _random.uniform(0.15, 0.85, shape) * _random.choice([-1, 1], shape)
    return _leaf(values)


def distinct(*shape):
    """Floats that differ by more than any step: for sorting and extremes."""
    values = _random.permutation(int(np.prod(shape))).reshape(shape) * 0.3 - 1.0
    return _leaf(values + 0.05)


def integers(*values):
    return rl.tensor(list(values))


def truth(*shape):
    return rl.tensor(_random.uniform(size=shape) > 0.4)


def complex_values(*shape):
    """Complex numbers of sizes between 0.3 and 0.9 at any angle."""
    size = _random.uniform(0.3, 0.9, shape)
    angle = _random.uniform(0.1, 3.0, shape) * _random.choice([-1, 1], shape)
    return rl.tensor(size * np.exp(1j * angle), dtype=rl.complex128, requires_grad=True)
