"""Checkpointing and hooks for saved tensors."""

import gc
import weakref

import numpy as np
import pytest

import relume as rl
from relume.autograd import Function, checkpoint, checkpoint_sequential
from relume.autograd.graph import save_on_disk, saved_tensors_hooks


def leaf(*values, dtype=rl.float64):
    return rl.tensor(list(values), dtype=dtype, requires_grad=True)


W = rl.tensor([[0.3, -0.4], [0.1, 0.9]], dtype=rl.float64, requires_grad=True)


def block(x):
    return (x @ W).tanh().exp() * x.sigmoid()


def plain_and_checkpointed(function, x):
    return [
        (lambda y: (y, rl.grad(y.sum(), [x, W], create_graph=True)))(call(x))
        for call in (function, lambda x: checkpoint(function, x))
    ]


def test_checkpoint_gives_the_same_gradients_of_any_order():
    x = rl.tensor([[0.2, -0.5], [1.0, 0.4]], dtype=rl.float64, requires_grad=True)
    (y, g), (other_y, other_g) = plain_and_checkpointed(lambda x: block(block(x)), x)
    np.testing.assert_array_equal(y.detach().numpy(), other_y.detach().numpy())
    for a, b in zip(g, other_g, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-14)
    second = rl.grad((g[0] * g[0]).sum() + g[1].sum(), [x, W], create_graph=True)
    other = rl.grad((other_g[0] * other_g[0]).sum() + other_g[1].sum(), [x, W], create_graph=True)
    for a, b in zip(second, other, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
    third, other = (rl.grad(s[0].sum(), x)[0] for s in (second, other))
    np.testing.assert_allclose(third.numpy(), other.numpy(), rtol=1e-12)


def test_checkpoint_keeps_nothing_and_computes_again_once():
    runs, inside = [], []

    def function(x):
        runs.append(1)
        h = x.exp()
        inside.append(weakref.ref(h.storage()))
        return (h.tanh() * h).sin()

    x = rl.rand(1000).requires_grad_()
    y = checkpoint(function, x)
    gc.collect()
    assert len(runs) == 1 and inside[0]() is None
    y.sum().backward()
    assert len(runs) == 2
    gc.collect()
    assert inside[1]() is None  # what was computed again goes as backward goes
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.sum().backward()


def test_checkpoint_with_retain_graph():
    x = leaf(0.5)
    y = checkpoint(lambda x: x.exp().sin(), x)
    y.backward(retain_graph=True)
    first = x.grad.item()
    y.backward()
    assert x.grad.item() == 2 * first
    assert first == pytest.approx(np.cos(np.exp(0.5)) * np.exp(0.5))


def test_checkpoint_draws_the_same_random_numbers_again():
    x = rl.ones(100).requires_grad_()
    rl.manual_seed(3)
    y = checkpoint(lambda x: (x * rl.rand(100)).exp(), x)
    after = rl.rand(3).tolist()
    state = rl.get_rng_state()
    y.sum().backward()
    assert (rl.get_rng_state() == state).all()  # backward leaves the sequence alone
    rl.manual_seed(3)
    noise = rl.rand(100)
    assert rl.rand(3).tolist() == after
    np.testing.assert_allclose(x.grad.numpy(), (noise * noise.exp()).numpy(), rtol=1e-6)

    x.grad = None
    with rl.Generator(seed=5):
        y = checkpoint(lambda x: (x * rl.rand(100)).exp(), x)
        y.sum().backward()
    with rl.Generator(seed=5):
        noise = rl.rand(100)
    np.testing.assert_allclose(x.grad.numpy(), (noise * noise.exp()).numpy(), rtol=1e-6)


def test_checkpoint_takes_other_arguments_and_returns_tuples():
    x = leaf(2.0)
    a, (b,) = checkpoint(lambda x, n, k=1: (x**n, [x.exp() * k]), x, 3, k=2)
    (a + b).backward()
    assert x.grad.item() == pytest.approx(12 + 2 * np.exp(2.0))
    with rl.no_grad():
        assert not checkpoint(block, rl.ones(1, 2, dtype=rl.float64)).requires_grad


def test_checkpoints_nest():
    x = leaf(0.3)

    def inner(x):
        return x.sin().exp()

    y = checkpoint(lambda x: checkpoint(inner, x.tanh()).sin(), x)
    (g,) = rl.grad(y, x, create_graph=True)
    (expected,) = rl.grad(inner(x.tanh()).sin(), x, create_graph=True)
    assert g.item() == pytest.approx(expected.item())
    assert rl.grad(g, x)[0].item() == pytest.approx(rl.grad(expected, x)[0].item())


def test_checkpoint_that_cannot_be_repeated():
    x = leaf(1.0)
    h = x * 2
    y = checkpoint(lambda h: h.exp().sin(), h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="changed in place after"):
        y.backward()
    calls = []

    def other_each_time(x):
        calls.append(1)
        return x.exp().sin() if len(calls) == 1 else x.exp()

    with pytest.raises(RuntimeError, match="same each time"):
        checkpoint(other_each_time, leaf(1.0)).backward()
    sizes = iter([1, 2])
    with pytest.raises(RuntimeError, match="same each time"):
        checkpoint(lambda x: x.expand(next(sizes)).exp().sum(), leaf(1.0)).backward()


def test_checkpoint_sequential():
    steps = [rl.sin, rl.exp, rl.tanh, rl.exp, rl.sin]
    x = leaf(0.1, 0.9)
    y = x
    for step in steps:
        y = step(y)
    (expected,) = rl.grad(y.sum(), x)
    for segments in (1, 2, 5, 9):
        (g,) = rl.grad(checkpoint_sequential(steps, segments, x).sum(), x)
        np.testing.assert_allclose(g.numpy(), expected.numpy(), rtol=1e-14)
    assert checkpoint_sequential([], 2, x) is x
    with pytest.raises(ValueError, match="at least one segment"):
        checkpoint_sequential(steps, 0, x)


def test_hooks_for_saved_tensors_see_what_is_saved():
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor)
        return len(packed) - 1

    def unpack(index):
        unpacked.append(index)
        return packed[index]

    x = leaf(0.5, 2.0)
    with saved_tensors_hooks(pack, unpack):
        h = x * 3
        y = (h * h).exp().sum()
    assert not any(t.requires_grad for t in packed) and unpacked == []
    (g,) = rl.grad(y, x, create_graph=True)
    a = x.detach().numpy()
    np.testing.assert_allclose(g.detach().numpy(), np.exp(9 * a * a) * 18 * a)
    (second,) = rl.grad(g.sum(), x)
    np.testing.assert_allclose(second.numpy(), np.exp(9 * a * a) * (18 + 324 * a * a))
    assert unpacked


def test_hooks_for_saved_tensors_may_lose_precision_on_purpose():
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t.to("float16"), lambda t: t.to("float64")):
        y = (x * 1.0001).exp().sum()
    y.backward()
    kept = np.exp(1.0001 * np.array([1.0, 2.0])).astype(np.float16)
    expected = 1.0001 * kept.astype(np.float64)
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_wrong_hooks_for_saved_tensors():
    for unpack, error in [(lambda t: None, TypeError), (lambda t: t[:1], ValueError)]:
        with saved_tensors_hooks(lambda t: t, unpack):
            y = leaf(1.0, 2.0).exp().sum()
        with pytest.raises(error, match="hooks for saved tensors"):
            y.backward()

    def fail(tensor):
        raise LookupError("no room")

    with saved_tensors_hooks(fail, fail), pytest.raises(LookupError, match="no room"):
        leaf(1.0).exp()
    leaf(1.0).exp().backward()


def test_saved_tensors_of_python_functions_are_packed_too():
    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            z = x * y
            ctx.save_for_backward(x, y, z)
            return z

        @staticmethod
        def backward(ctx, g):
            x, y, z = ctx.saved_tensors
            return g * z / x, g * z / y

    packed = []
    x, y = leaf(2.0), leaf(3.0)
    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        z = Product.apply(x * 1, y)
    assert len([t for t in packed if t.item() in (2.0, 6.0)]) == 2  # the leaf y is not packed
    gx, gy = rl.grad(z * z, [x, y], create_graph=True)
    assert gx.item() == pytest.approx(36.0) and gy.item() == pytest.approx(24.0)
    assert rl.grad(gx, x)[0].item() == pytest.approx(18.0)  # d2/dx2 (x y)^2 = 2 y^2
    z = checkpoint(lambda x: Product.apply(x.exp(), y), x)
    assert rl.grad(z, x)[0].item() == pytest.approx(3 * np.exp(2.0))


def test_save_on_disk(tmp_path):
    x = rl.rand(50, 20).requires_grad_()
    with save_on_disk(tmp_path):
        y = (x.exp().t().tanh()).sum()
    assert list(tmp_path.iterdir()) == []  # no name is left behind
    (g,) = rl.grad(y, x)
    (expected,) = rl.grad(x.exp().t().tanh().sum(), x)
    np.testing.assert_array_equal(g.numpy(), expected.numpy())
