"""Hooks on tensors and nodes, retained gradients, and looking at the graph."""

import gc
import weakref

import pytest

import relume as rl
from relume.autograd import Function


def leaf(*values, dtype=rl.float64):
    return rl.tensor(list(values), dtype=dtype, requires_grad=True)


def test_a_hook_sees_and_replaces_the_gradient_of_a_leaf_once_per_pass():
    x = leaf(1.0, 2.0)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.tolist()))
    doubling = x.register_hook(lambda g: g * 2)
    (x * x + 3 * x).sum().backward()
    assert seen == [[5.0, 7.0]]  # the sum over all uses
    assert x.grad.tolist() == [10.0, 14.0]
    assert rl.grad((x * 3).sum(), x)[0].tolist() == [6.0, 6.0]
    handle.remove()
    handle.remove()
    doubling.remove()
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and len(seen) == 2


def test_hooks_of_a_tensor_on_the_way():
    x = leaf(2.0)
    h = x * 3
    order = []
    h.register_hook(lambda g: order.append("first"))
    h.register_hook(lambda g: g + 1)
    with h.register_hook(lambda g: order.append(g.item())):
        (h * h).backward(retain_graph=True)
    assert order == ["first", 13.0] and x.grad.item() == 39.0
    assert rl.grad(h * h, h)[0].item() == 13.0  # replaced for who asks, too


def test_a_hook_of_one_output_of_several():
    x = leaf(3.0, 1.0, 2.0)
    values, _ = rl.sort(x, 0)
    values.register_hook(lambda g: g * rl.tensor([1.0, 10.0, 100.0], dtype=rl.float64))
    values.sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_a_hook_belongs_to_the_value_before_a_change_in_place():
    x = leaf(2.0)
    h = x * 1
    seen = []
    h.register_hook(lambda g: seen.append(g.item()))
    h.mul_(5)
    h.backward()
    assert seen == [5.0] and x.grad.item() == 5.0


def test_hooks_that_are_wrong():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="requires a gradient"):
        rl.ones(2).register_hook(print)
    with x.register_hook(lambda g: g.reshape(2, 1)), pytest.raises(ValueError, match="hook"):
        (x * 2).sum().backward()
    with x.register_hook(lambda g: 1.0), pytest.raises(TypeError, match="Tensor or None"):
        (x * 2).sum().backward()

    def fail(g):
        raise LookupError("mine")

    with x.register_hook(fail), pytest.raises(LookupError, match="mine"):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_hook_may_add_and_remove_hooks():
    x = leaf(1.0)
    calls = []

    def once(g):
        calls.append(1)
        handle.remove()
        x.register_hook(lambda g: calls.append(2))

    handle = x.register_hook(once)
    (x * 2).backward()
    assert calls == [1]
    (x * 2).backward()
    assert calls == [1, 2]


def test_hooks_see_gradients_that_can_be_differentiated():
    x = leaf(2.0)
    h = x * x
    with h.register_hook(lambda g: g * g):  # (dL/dh)^2 = (3 h^2)^2
        (g,) = rl.grad(h**3, x, create_graph=True)
    (second,) = rl.grad(g, x)
    # g = 9 x^8 * 2 x, its derivative 162 x^8
    assert g.item() == 18 * 2.0**9 and second.item() == 162 * 2.0**8


def test_post_accumulate_grad_hook_lets_gradients_go_one_by_one():
    weights = [leaf(1.0), leaf(2.0)]
    alive = []

    def step(w):
        alive.append(sum(v.grad is not None for v in weights))
        with rl.no_grad():
            w -= 0.5 * w.grad
        w.grad = None

    for w in weights:
        w.register_post_accumulate_grad_hook(step)
    (weights[0] * 2 + (weights[1] * 3).exp().log()).sum().backward()
    assert alive == [1, 1] and [w.grad for w in weights] == [None, None]
    assert weights[0].item() == 0.0 and weights[1].item() == pytest.approx(0.5)
    with pytest.raises(RuntimeError, match="leaf"):
        (weights[0] * 2).register_post_accumulate_grad_hook(step)


def test_grad_does_not_run_post_accumulate_hooks():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda _: pytest.fail("grad() touches no grad"))
    rl.grad(x * 2, x)


def test_retain_grad():
    x = leaf(2.0)
    h = x * 3
    assert not h.retains_grad and h.grad is None
    h.retain_grad()
    h.register_hook(lambda g: g * 2)  # what is retained is the gradient after all hooks
    (h * h).backward(retain_graph=True)
    assert h.retains_grad and h.grad.item() == 24.0 and x.grad.item() == 72.0
    (h * h).backward()
    assert h.grad.item() == 48.0
    h.grad = None
    assert h.grad is None
    x.retain_grad()
    with pytest.raises(RuntimeError, match="requires a gradient"):
        rl.ones(1).retain_grad()


def test_retained_gradient_follows_a_change_in_place():
    x = leaf(2.0)
    h = x * 3
    h.retain_grad()
    h.mul_(5)
    (h * h).backward()
    assert h.grad.item() == 60.0


def test_retained_gradient_outlives_neither_graph_nor_tensor():
    x = leaf(1.0)
    before = x._reference_count()
    h = x * 2
    h.retain_grad()
    y = h * 3
    del h
    y.backward(retain_graph=True)
    del y
    assert x._reference_count() == before


def test_removed_hooks_and_dead_graphs_free_what_hooks_refer_to():
    class Thing:
        pass

    def watch(tensor):
        thing = Thing()
        handle = tensor.register_hook(lambda g, thing=thing: None)
        return weakref.ref(thing), handle

    x = leaf(1.0)
    on_leaf, handle = watch(x)
    handle.remove()
    h = x * 2
    on_node, other = watch(h)
    del h, other
    gc.collect()
    assert on_leaf() is None and on_node() is None


def test_walking_the_graph():
    x, y = leaf(1.0), leaf(2.0)
    z = (x * y).exp()
    node = z.grad_fn
    assert node.name() == "exp" and repr(node) == "<exp>" and node == z.grad_fn
    assert len({node, z.grad_fn}) == 1 and node.variable is None
    ((product, index),) = node.next_functions
    assert (product.name(), index) == ("mul", 0) and product != node and product != "mul"
    leaves = [n for n, _ in product.next_functions]
    assert [n.name() for n in leaves] == ["accumulate_grad"] * 2
    assert leaves[0].variable is x and leaves[1].variable is y
    assert leaves[0].next_functions == ()
    assert (x * 3).grad_fn.next_functions[0][0].variable is x
    assert (x + rl.ones(1)).grad_fn.next_functions[1] == (None, 0)


def test_hooks_of_nodes():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    node = z.grad_fn
    seen = []

    def before(outputs):
        seen.append(outputs[0].item())
        return (outputs[0] * 10,)

    def after(inputs, outputs):
        seen.append((inputs[0].item(), inputs[1].item(), outputs[0].item()))
        return (inputs[0], None)

    with node.register_prehook(before), node.register_hook(after):
        z.backward(retain_graph=True)
    assert seen == [1.0, (30.0, 20.0, 10.0)] and x.grad.item() == 30.0 and y.grad is None
    z.backward(retain_graph=True)
    assert y.grad.item() == 2.0 and len(seen) == 2
    with node.register_hook(lambda i, o: (None,)), pytest.raises(ValueError, match="2 gradients"):
        z.backward()


def test_hooks_on_functions_of_python():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    y = Twice.apply(x)
    assert y.grad_fn.name() == "Twice"
    y.register_hook(lambda g: g * 7)
    y.backward()
    assert x.grad.item() == 14.0


def test_backward_into_chosen_tensors_only():
    x, w = leaf(1.0), leaf(3.0)
    h = x * 2
    (h * w).backward(inputs=[w, h])
    assert x.grad is None and w.grad.item() == 2.0 and h.grad.item() == 3.0
    (h * w).backward(inputs=w)
    assert w.grad.item() == 4.0


def test_batched_and_missing_gradients():
    x, unused = leaf(1.0, 2.0, 3.0), leaf(1.0)
    y = x * x
    identity = rl.eye(3, dtype=rl.float64)
    (jacobian,) = rl.grad(y, x, identity, is_grads_batched=True)
    assert jacobian.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    g, zero = rl.grad((x * 2).sum(), [x, unused], materialize_grads=True)
    assert g.tolist() == [2.0] * 3 and zero.tolist() == [0.0]
    with pytest.raises(ValueError, match="first dimension"):
        rl.grad(x.sum(), x, is_grads_batched=True)
