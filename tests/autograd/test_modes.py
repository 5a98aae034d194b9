"""Inference mode, and Functions that take part in everything the tape can do."""

import pytest

import relume as rl
from relume.autograd import Function, once_differentiable


def leaf(*values):
    return rl.tensor(list(values), dtype=rl.float64, requires_grad=True)


def test_inference_mode():
    x = leaf(1.0)
    with rl.inference_mode():
        assert rl.is_inference_mode_enabled() and not rl.is_grad_enabled()
        with rl.enable_grad():
            assert not (x * 2).requires_grad
        with rl.inference_mode(False):
            assert (x * 2).requires_grad
        y = x * 2
    assert not rl.is_inference_mode_enabled() and rl.is_grad_enabled()
    (y * x).sum().backward()  # a result is an ordinary tensor afterwards
    assert x.grad.item() == 2.0

    @rl.inference_mode()
    def f(x):
        return x * 2

    @rl.inference_mode
    def g(x):
        return x * 2

    assert not f(x).requires_grad and not g(x).requires_grad and (x * 2).requires_grad
    with rl.no_grad():
        with rl.inference_mode():
            pass
        assert not rl.is_grad_enabled()
    with pytest.raises(KeyError), rl.inference_mode():
        raise KeyError
    assert rl.is_grad_enabled()


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * x, y * 1

        @staticmethod
        @once_differentiable
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * 2 * x, None

    x, y = leaf(3.0), leaf(1.0)
    Square.apply(x, y)[0].backward()
    assert x.grad.item() == 6.0 and y.grad is None
    (g,) = rl.grad(Square.apply(x, y)[0], x, create_graph=True)
    assert g.item() == 6.0
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.backward()


def test_setup_context():
    class Power(Function):
        @staticmethod
        def forward(x, n):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf(2.0)
    (g,) = rl.grad(Power.apply(x, 4), x, create_graph=True)
    (h,) = rl.grad(g, x)
    assert (g.item(), h.item()) == (32.0, 48.0)
