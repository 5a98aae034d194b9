"""Checks of layers against NumPy and finite differences."""

import numpy as np

import relume as rl

EXACT = 1e-12


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tensor(array):
    return rl.tensor(np.ascontiguousarray(array))


def assert_close(actual, expected, tolerance=EXACT):
    actual = actual.detach().numpy() if isinstance(actual, rl.Tensor) else np.asarray(actual)
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance


def check_gradients(layer, *inputs):
    """Of the modern face, first and second order; and that the protocol gives the same."""

    def face(*tensors):
        return layer(tensors[0] if len(tensors) == 1 else list(tensors))

    leaves = [x.clone().requires_grad_() for x in inputs]
    assert rl.autograd.gradcheck(face, leaves)
    assert rl.autograd.gradgradcheck(face, leaves)
    y = face(*leaves)
    gradient = rl.tensor(random(*y.shape, seed=9))
    (y * gradient).sum().backward()
    plain = inputs[0] if len(inputs) == 1 else list(inputs)
    assert_close(layer.forward(plain), y.detach().numpy())
    found = layer.backward(plain, gradient)
    found = [found] if len(inputs) == 1 else found.as_list()
    for leaf, own in zip(leaves, found, strict=False):
        if leaf.grad is not None:
            assert_close(own, leaf.grad.numpy())
