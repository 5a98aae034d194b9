"""What the tape promises: graphs, freeing, modes, in-place changes."""

import gc
import math
import weakref

import numpy as np
import pytest

import relume as rl
from relume.autograd import Function


def leaf(*values, dtype=rl.float64):
    return rl.tensor(list(values), dtype=dtype, requires_grad=True)


def test_gradient_of_a_composition():
    x = leaf(0.5, -1.0)
    y = (x.sin() * x + x.exp()).sum()
    y.backward()
    a = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(a) * a + np.sin(a) + np.exp(a))


def test_gradients_add_up_until_cleared():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * 4).sum().backward()
    assert x.grad is first and x.grad.tolist() == [7.0, 7.0]
    x.grad = None
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_tensor_used_many_times():
    x = leaf(2.0)
    y = x
    for _ in range(10):
        y = y + x
    y.backward()
    assert x.grad.item() == 11.0
    (g,) = rl.grad(x * x * x * x, x)
    assert g.item() == 32.0


def test_diamonds_run_each_node_once():
    calls = []

    class Count(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g

    x = leaf(1.0)
    h = Count.apply(x)
    y = h * 2
    (y + y.exp() + h * y).sum().backward()
    assert len(calls) == 1


def test_broadcast_gradients_have_the_shape_of_their_input():
    a, b, c = leaf(1.0, 2.0, 3.0), rl.ones(2, 1, dtype=rl.float64).requires_grad_(), leaf(2.0)
    (a * b + c).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0, 2.0]
    assert b.grad.tolist() == [[6.0], [6.0]]
    assert c.grad.tolist() == [6.0]


def test_gradient_has_the_type_of_its_input():
    x = leaf(1.0, 2.0, dtype=rl.float32)
    w = leaf(3.0, 4.0, dtype=rl.float64)
    (x * w).sum().backward()
    assert x.grad.dtype == rl.float32 and w.grad.dtype == rl.float64
    h = leaf(1.0, 2.0, dtype=rl.float32)
    h.double().sum().backward()
    assert h.grad.dtype == rl.float32


def test_backward_needs_a_seed_for_more_than_one_element():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="gradient must be given"):
        (x * 2).backward()
    (x * 2).backward(rl.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    with pytest.raises(ValueError, match="shape"):
        (x * 2).backward(rl.ones(3))


def test_nothing_to_differentiate():
    with pytest.raises(RuntimeError, match="does not require"):
        rl.ones(1).backward()
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="does not require"):
        (x > 0).sum().backward()


def test_graph_is_freed_as_it_goes():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0


def test_saved_memory_is_freed_by_backward():
    x = rl.ones(1000).requires_grad_()
    h = x * 2
    storage = weakref.ref(h.storage())
    y = (h * h).sum()
    del h
    gc.collect()
    y.backward()
    gc.collect()
    assert storage() is None


def test_dead_graph_frees_its_tensors():
    x = rl.ones(10).requires_grad_()
    count = x._reference_count()
    y = (x * x).exp().sum()
    assert x._reference_count() > count
    del y
    assert x._reference_count() == count


def test_grad_function():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    gx, gy = rl.grad(z, [x, y])
    assert (gx.item(), gy.item()) == (3.0, 2.0) and x.grad is None and y.grad is None
    h = x * y
    (gh,) = rl.grad(h * h, h, retain_graph=True)
    assert gh.item() == 12.0
    gx, unused = rl.grad(x * 2, [x, y], allow_unused=True)
    assert gx.item() == 2.0 and unused is None
    with pytest.raises(RuntimeError, match="depends on input 1"):
        rl.grad(x * 2, [x, y])
    with pytest.raises(RuntimeError, match="does not require"):
        rl.grad(x * 2, rl.ones(1))
    with pytest.raises(ValueError, match="at least one"):
        rl.grad(x * 2, [])


def test_grad_only_runs_what_leads_to_the_inputs():
    class Explode(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("not needed")

    x, y = leaf(2.0), leaf(3.0)
    (g,) = rl.grad(x * 2 + Explode.apply(y), x)
    assert g.item() == 2.0


def test_several_outputs():
    x = leaf(1.0, 2.0, 3.0)
    a, b = x * 2, x * x
    (g,) = rl.grad([a, b], x, [rl.ones(3), rl.tensor([1.0, 0.0, 2.0])])
    assert g.tolist() == [4.0, 2.0, 14.0]
    values, _ = rl.sort(x * x, 0, True)
    rl.autograd.backward([values[0], a.sum()])
    assert x.grad.tolist() == [2.0, 2.0, 8.0]


def test_higher_orders():
    x = leaf(0.7)
    y = x.sin()
    for order in range(1, 5):
        (y,) = rl.grad(y, x, create_graph=True)
        expected = [math.sin, math.cos, lambda v: -math.sin(v), lambda v: -math.cos(v)][order % 4]
        assert y.item() == pytest.approx(expected(0.7))


def test_create_graph_in_backward():
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad and first.item() == 27.0
    x.grad = None
    first.backward()
    assert x.grad.item() == 18.0


def test_hessian_vector_product_through_saved_outputs():
    x = leaf(0.3, -0.8)
    y = x.tanh().exp().sigmoid().sum()
    (g,) = rl.grad(y, x, create_graph=True)
    (h,) = rl.grad((g * rl.tensor([1.0, 2.0], dtype=rl.float64)).sum(), x)
    eps = 1e-5

    def gradient(values):
        v = leaf(*values)
        return rl.grad(v.tanh().exp().sigmoid().sum(), v)[0].numpy()

    a = np.array([0.3, -0.8])
    direction = np.array([1.0, 2.0])
    numeric = (gradient(a + eps * direction) - gradient(a - eps * direction)) / (2 * eps)
    np.testing.assert_allclose(h.numpy(), numeric, rtol=1e-6, atol=1e-8)


def test_no_grad_and_friends():
    x = leaf(1.0)
    with rl.no_grad():
        assert not rl.is_grad_enabled() and not (x * 2).requires_grad
        with rl.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad

    @rl.no_grad()
    def f(v):
        return v * 2

    @rl.no_grad
    def g(v):
        return v * 2

    assert not f(x).requires_grad and not g(x).requires_grad
    with rl.set_grad_enabled(False):
        assert not rl.is_grad_enabled()
    assert rl.is_grad_enabled()
    rl.set_grad_enabled(False)
    assert not rl.is_grad_enabled()
    rl.set_grad_enabled(True)
    with pytest.raises(KeyError), rl.no_grad():
        raise KeyError
    assert rl.is_grad_enabled()


def test_detach():
    x = leaf(1.0, 2.0)
    y = x * 2
    d = y.detach()
    assert not d.requires_grad and d.data_ptr() == y.data_ptr() and d.is_leaf
    (y * d).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    z = x * 3
    assert z.detach_() is z and not z.requires_grad and z.is_leaf


def test_integer_results_are_off_the_tape():
    x = leaf(1.0, 2.0)
    assert not (x > 1).requires_grad and not x.argmax().requires_grad and not x.long().requires_grad


def test_in_place_change_of_a_saved_tensor_is_caught():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = h * h
    h.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()
    h = (x * 2).exp()
    y = h.sum()
    h.mul_(2)  # exp saved its result
    with pytest.raises(RuntimeError, match="changed in place"):
        h.sum().backward()


def test_change_through_numpy_like_views_is_caught():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = h * h
    h.detach()[0] = 5.0
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_in_place_change_of_what_is_not_saved_is_fine():
    x = leaf(1.0, 2.0)
    h = x + 1
    y = h + 1
    h.mul_(5)
    (y + h).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_in_place_ops_are_on_the_tape():
    x = leaf(1.0, 2.0)
    h = x * 1
    h.mul_(3).add_(x)
    h += x * x
    h.sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]


def test_in_place_op_whose_derivative_needs_the_old_value():
    x = leaf(1.0, 2.0)
    h = x * 1
    h.mul_(h).sin_()
    h.sum().backward()
    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), np.cos(a * a) * 2 * a)


def test_leaf_in_place():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1
    with rl.no_grad():
        x.add_(1)
    assert x.item() == 2.0


def test_assignment_is_on_the_tape():
    x, v = leaf(1.0, 2.0, 3.0), leaf(5.0)
    h = x * 2
    h[1] = v[0] * 3
    h[0] = 7.0
    (h * h).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 24.0] and v.grad.tolist() == [90.0]


def test_in_place_on_a_view_reaches_its_base():
    x = leaf(1.0, 2.0, 3.0)
    h = x * 1
    view = h[:2]
    view.mul_(10)
    assert h.tolist() == [10.0, 20.0, 3.0]
    (h * h).sum().backward()
    assert x.grad.tolist() == [200.0, 400.0, 6.0]


def test_in_place_on_a_base_reaches_its_views():
    x = leaf(1.0, 2.0)
    h = x * 1
    view = h[0]
    h.mul_(3)
    (view * view).backward()
    assert x.grad.tolist() == [18.0, 0.0]


def test_filling_a_buffer_step_by_step():
    x = leaf(1.0, 2.0, 3.0)
    out = rl.zeros(3, dtype=rl.float64)
    for i in range(3):
        out[i] = x[i] * (i + 1)
    out.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_out_argument_is_refused_while_recording():
    x, out = leaf(1.0), rl.zeros(1, dtype=rl.float64)
    with pytest.raises(RuntimeError, match="out="):
        rl.exp(x, out=out)
    with rl.no_grad():
        rl.exp(x, out=out)


def test_graph_of_a_million_ops_neither_recurses_nor_leaks():
    x = leaf(1.0)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    for _ in range(200_000):
        y = y * 1.0
    del y


def test_one_weight_many_steps():
    w = leaf(0.9)
    h = rl.ones(1, dtype=rl.float64)
    for _ in range(50):
        h = (w * h).tanh()
    h.sum().backward()
    eps, values = 1e-6, []
    for shift in (eps, -eps):
        v = 1.0
        for _ in range(50):
            v = math.tanh((0.9 + shift) * v)
        values.append(v)
    assert w.grad.item() == pytest.approx((values[0] - values[1]) / (2 * eps), rel=1e-6)


def test_names_of_nodes():
    x = leaf(1.0)
    assert (
        (x * 2).grad_fn.name() == "mul" and x.grad_fn is None and (x * 2).detach().grad_fn is None
    )


def test_grad_mode_of_a_generator_holds_while_it_runs():
    x = rl.tensor([1.0], requires_grad=True)

    @rl.no_grad()
    def generate():
        received = yield (x * 2).requires_grad
        try:
            yield received
        except KeyError:
            yield (x * 3).requires_grad
        return "done"

    generator = generate()
    assert next(generator) is False
    assert (x * 2).requires_grad  # between the steps
    assert generator.send("value") == "value"
    assert generator.throw(KeyError()) is False
    with pytest.raises(StopIteration, match="done"):
        next(generator)
    assert rl.is_grad_enabled()
