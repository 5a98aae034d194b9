"""Cost and memory: long graphs, many steps, threads."""

import os
import threading
import time

import pytest
from sanitizer import needs_own_allocator

import relume as rl


def leaf(*values):
    return rl.tensor(list(values), dtype=rl.float64, requires_grad=True)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def chain(x, length):
    y = x
    for _ in range(length):
        y = y * 1.0
    return y


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def test_a_million_nodes_in_a_row():
    x = leaf(3.0)
    y = chain(x, 1_000_000)
    (g,) = rl.grad(y, x, retain_graph=True)
    assert g.item() == 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y  # the destruction of a graph does not recurse either
    y = chain(x, 100_000)
    del y


def test_cost_is_linear_in_the_length():
    x = leaf(1.0)

    def step(length):
        return min(seconds(lambda: chain(x, length).backward()) for _ in range(3))

    step(1000)
    # Ten times as long: a quadratic cost would be a hundredfold. The machine may be busy.
    assert step(200_000) < 40 * step(20_000)


def test_wide_graphs():
    x = leaf(1.0)
    y = rl.stack([x * i for i in range(20_000)]).sum()
    y.backward()
    assert x.grad.item() == 20_000 * 19_999 / 2
    z = x
    for _ in range(60):
        z = z + z  # 2^60 paths, 60 nodes
    assert rl.grad(z, x)[0].item() == 2.0**60


def test_a_long_graph_of_gradients():
    x = leaf(1.0)
    (g,) = rl.grad(chain(x, 50_000) * x, x, create_graph=True)
    (second,) = rl.grad(g, x)
    assert second.item() == 2.0


@needs_own_allocator
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow_over_ten_thousand_steps():
    w = rl.rand(32, 32).requires_grad_()
    x = rl.rand(8, 32)

    def step():
        loss = ((x @ w).tanh() @ w.t()).exp().mean()
        loss.backward()
        (g,) = rl.grad((w * w).sum(), w, create_graph=True)
        g.sum().backward()
        with rl.no_grad():
            w.sub_(w.grad * 1e-3)
        w.grad = None

    for _ in range(1000):
        step()
    before = resident_bytes()
    for _ in range(10_000):
        step()
    assert resident_bytes() - before < 4 << 20


@needs_own_allocator
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow_with_hooks_checkpoints_and_functions():
    class Double(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y / x

    w = rl.rand(1000).requires_grad_()

    def step():
        h = Double.apply(w) * 2
        h.retain_grad()
        with h.register_hook(lambda g: g * 1.0), w.register_hook(lambda g: g):
            rl.autograd.checkpoint(lambda h: h.exp().tanh(), h).sum().backward()
        w.grad = None

    for _ in range(500):
        step()
    before = resident_bytes()
    for _ in range(3000):
        step()
    assert resident_bytes() - before < 4 << 20


def in_threads(function, count=4):
    errors = []

    def guarded(i):
        try:
            function(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_go_back_through_one_graph():
    x = leaf(1.0, 2.0)
    h = chain((x * x).exp(), 500)
    results = [None] * 4

    def work(i):
        for _ in range(20):
            (results[i],) = rl.grad((h * (i + 1)).sum(), x, retain_graph=True)

    assert in_threads(work) == []
    first = results[0].numpy()
    for i, result in enumerate(results):
        assert (result.numpy() == first * (i + 1)).all()


def test_threads_that_free_one_graph_fail_in_words():
    """Whoever comes second is told so: no crash, and no wrong number."""
    for _ in range(30):
        x = rl.rand(1000).requires_grad_()
        h = chain((x * x).exp(), 50)
        results = []

        def work(i, h=h, x=x, results=results):
            results.append(rl.grad(h.sum(), x)[0])

        errors = in_threads(work)
        assert len(errors) + len(results) == 4
        assert all(isinstance(e, RuntimeError) and "retain_graph" in str(e) for e in errors)
        for result in results:
            assert rl.allclose(result, 2 * x * (x * x).exp())


def test_threads_with_hooks_and_functions_of_python():
    class Twice(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    h = Twice.apply(x)
    calls = []
    h.register_hook(lambda g: calls.append(1))

    def work(i):
        for _ in range(50):
            rl.autograd.backward((h * 1).sum(), retain_graph=True)

    assert in_threads(work) == []
    assert x.grad.item() == 2.0 * 200 and len(calls) == 200


def test_backward_within_backward():
    class Inner(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with rl.enable_grad():
                v = x.detach().requires_grad_()
                (own,) = rl.grad((v**3).sum(), v)
            return g * own

    x = leaf(2.0)
    h = x * 1
    y = Inner.apply(h) + Inner.apply(h)
    y.backward()
    assert x.grad.item() == 24.0
