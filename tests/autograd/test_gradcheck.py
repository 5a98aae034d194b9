"""gradcheck and gradgradcheck find what is wrong."""

import pytest

import relume as rl
from relume.autograd import Function, gradcheck, gradgradcheck


def leaf(*values, dtype=rl.float64):
    return rl.tensor(list(values), dtype=dtype, requires_grad=True)


def test_gradcheck_finds_wrong_derivatives():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0]

    x = leaf(1.0, 2.0)
    with pytest.raises(AssertionError, match="input element 0, output element 0"):
        gradcheck(Wrong.apply, x)
    assert not gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(ValueError, match="float64"):
        gradcheck(rl.exp, leaf(1.0, dtype=rl.float32))
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(rl.exp, rl.ones(1, dtype=rl.float64))


def test_gradgradcheck_finds_wrong_second_derivatives():
    class WrongSecond(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensors[0].detach()  # the second derivative loses a part
            return g * 3 * x * x

    x = leaf(1.0, 2.0)
    assert gradcheck(WrongSecond.apply, x)
    with pytest.raises(AssertionError):
        gradgradcheck(WrongSecond.apply, x)
