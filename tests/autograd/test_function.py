"""Functions with a derivative written in Python."""

import gc
import weakref

import pytest

import relume as rl
from relume.autograd import Function, gradcheck, gradgradcheck


def leaf(*values, dtype=rl.float64):
    return rl.tensor(list(values), dtype=dtype, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


def test_function_is_differentiable_n_times():
    x = leaf(0.5, -1.5)
    assert gradcheck(Cube.apply, x) and gradgradcheck(Cube.apply, x)
    assert gradcheck(Exp.apply, x) and gradgradcheck(Exp.apply, x)
    v = leaf(2.0)
    y = Cube.apply(v)
    (first,) = rl.grad(y, v, create_graph=True)
    (second,) = rl.grad(first, v, create_graph=True)
    (third,) = rl.grad(second, v)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_function_that_saves_its_output_does_not_leak():
    x = leaf(1.0)
    before = x._reference_count()
    y = Exp.apply(x)
    died = weakref.ref(y)
    del y
    gc.collect()
    assert died() is None and x._reference_count() == before


def test_function_with_other_arguments_and_results():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, other=None, flag=True):
            ctx.factor = factor
            assert ctx.needs_input_grad == (True, False, False, False)
            return x * factor, x > 0, x + 1

        @staticmethod
        def backward(ctx, g, none, g2):
            assert g2.tolist() == [0.0, 0.0]
            return g * ctx.factor, None, None, None

    x = leaf(1.0, -2.0)
    y, positive, _ = Scale.apply(x, 3.0, rl.ones(2), True)
    assert positive.tolist() == [True, False] and not positive.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_function_without_gradients_records_nothing():
    y = Cube.apply(rl.tensor([2.0]))
    assert not y.requires_grad and y.item() == 8.0
    with rl.no_grad():
        assert not Cube.apply(leaf(1.0)).requires_grad


def test_function_saved_tensor_changed_in_place():
    x = leaf(1.0)
    h = x * 1
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_function_backward_twice():
    x = leaf(1.0)
    y = Cube.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_function_errors_keep_their_type():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            raise LookupError("in backward")

    class TooFew(Broken):
        @staticmethod
        def backward(ctx, g):
            return g

    class WrongShape(Broken):
        @staticmethod
        def backward(ctx, g):
            return g, g.reshape(2, 1)

    class WrongType(Broken):
        @staticmethod
        def backward(ctx, g):
            return g, 1.0

    x = leaf(1.0, 2.0)
    for cls, error, words in [
        (Broken, LookupError, "in backward"),
        (TooFew, RuntimeError, "must return 2 gradients"),
        (WrongShape, ValueError, r"shape \(2, 1\)"),
        (WrongType, TypeError, "must be a Tensor or None, not float"),
    ]:
        with pytest.raises(error, match=words):
            cls.apply(x, x).sum().backward()
    assert rl.is_grad_enabled()
    (x * 2).sum().backward()


def test_function_in_place():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf(1.0)
    h = x * 2
    y = AddOne.apply(h)
    assert y is h and y.item() == 3.0
    y.backward()
    assert x.grad.item() == 10.0
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(x)


def test_function_that_returns_its_input():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.backward()
    assert x.grad.item() == 7.0


def test_backward_inside_of_backward():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with rl.enable_grad():
                v = x.detach().requires_grad_()
                (d,) = rl.grad((v * v).sum(), v)
            return g * d

    x = leaf(3.0)
    Inner.apply(x).sum().backward()
    assert x.grad.item() == 6.0
