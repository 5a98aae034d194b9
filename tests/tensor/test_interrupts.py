"""Ctrl-C in the middle of work: KeyboardInterrupt, soon, and everything still works."""

import os
import signal
import threading
import time

import pytest

import relume as rl


@pytest.fixture
def interrupt():
    """Sends this process a SIGINT after a while."""
    timers = []

    def after(seconds):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timers.append(timer)
        timer.start()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield after
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGINT, before)


def chain(x, length):
    y = x
    for _ in range(length):
        y = (y * 1.0).tanh()
    return y


def test_between_operations(interrupt):
    x = rl.rand(100, 100)
    interrupt(0.2)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1_000_000):
            x = (x @ x).tanh()
    assert x.shape == (100, 100)


def test_within_backward(interrupt):
    x = rl.rand(4).requires_grad_()
    total = chain(x, 50_000).sum()
    start = time.perf_counter()
    total.backward(retain_graph=True)
    whole = time.perf_counter() - start
    x.grad = None
    interrupt(min(0.1, whole / 4))
    with pytest.raises(KeyboardInterrupt):
        while True:
            total.backward(retain_graph=True)
    assert rl.grad(total, x)[0].shape == (4,)  # the graph is as it was
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_within_a_hook(interrupt):
    x = rl.ones(3).requires_grad_()

    def wait(grad):
        interrupt(0.1)
        time.sleep(30)

    h = x * 2
    h.register_hook(wait)
    with pytest.raises(KeyboardInterrupt):
        h.sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_while_a_checkpoint_runs_again(interrupt):
    x = rl.ones(3).requires_grad_()
    calls = []

    def function(x):
        calls.append(1)
        if len(calls) == 2:
            interrupt(0.1)
            time.sleep(30)
        return x.exp()

    y = rl.autograd.checkpoint(function, x).sum()
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    y.backward()  # the third run
    assert len(calls) == 3 and rl.allclose(x.grad, rl.ones(3).exp())
