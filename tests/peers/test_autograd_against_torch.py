"""Hooks and derivatives of functions give what PyTorch gives."""

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")
X = np.array([[0.3, -0.7], [1.2, 0.4]])
V = np.array([[1.0, 0.5], [-2.0, 3.0]])


def both(values):
    return rl.from_numpy(values.copy()), torch.from_numpy(values.copy())


def as_numpy(result):
    if isinstance(result, (tuple, list)):
        return [as_numpy(item) for item in result]
    return result.detach().numpy()


def assert_same(ours, theirs):
    ours, theirs = as_numpy(ours), as_numpy(theirs)
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same_arrays(a, b)
    else:
        assert_same_arrays(ours, theirs)


def assert_same_arrays(a, b):
    if isinstance(a, list):
        for x, y in zip(a, b, strict=True):
            assert_same_arrays(x, y)
        return
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def number(x):
    return (x.tanh() @ x).exp().sum()


def matrix(x):
    return (x * x) @ x.sin()


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_matrices(name):
    x, tx = both(X)
    function = number if name == "hessian" else matrix
    ours = getattr(rl.autograd.functional, name)(function, x)
    assert_same(ours, getattr(torch.autograd.functional, name)(function, tx))


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp"])
def test_products(name):
    (x, tx), (v, tv) = both(X), both(V)
    function = number if name in ("hvp", "vhp") else matrix
    ours = getattr(rl.autograd.functional, name)(function, x, v)
    assert_same(ours, getattr(torch.autograd.functional, name)(function, tx, tv))


def test_functions_of_functions():
    x, tx = both(X)
    assert_same(rl.func.grad(number)(x), torch.func.grad(number)(tx))
    assert_same(rl.func.jacrev(matrix)(x), torch.func.jacrev(matrix)(tx))
    assert_same(rl.func.hessian(number)(x), torch.func.hessian(number)(tx))


def hooks_and_all(x):
    """The same calls on either library; returns what the hooks saw, and gradients."""
    seen = []
    x = x.requires_grad_()
    h = x * 3
    g = h.sin()
    h.retain_grad()
    g.retain_grad()
    h.register_hook(lambda grad: seen.append(grad.clone()))
    h.register_hook(lambda grad: grad * 2)
    x.register_hook(lambda grad: seen.append(grad.clone()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    total = (g * h).sum() + h.exp().sum()
    total.backward(retain_graph=True)
    total.backward()
    return [*seen, x.grad, h.grad, g.grad]


def test_hooks():
    x, tx = both(X)
    assert_same(hooks_and_all(x), hooks_and_all(tx))
