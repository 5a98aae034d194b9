"""Threads on shared tensors, forked children, and running out of memory."""

import os
import signal
import threading

import numpy as np
import pytest
from sanitizer import SANITIZED

import relume as rl


def run_in_threads(function, count=2):
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
    if errors:
        raise errors[0]


def test_threads_on_shared_tensors_keep_counts_right():
    small, large = rl.ones(8), rl.ones(200_000)
    before = small._reference_count(), large._reference_count()

    def work(_):
        for _ in range(300):
            x = small + small
            x = x.reshape(2, 4)[0] * small[:4]
            x.tolist()
        for _ in range(20):
            large.sum()
            large[::2].clone()

    run_in_threads(work, 4)
    assert (small._reference_count(), large._reference_count()) == before
    assert small.tolist() == [1.0] * 8 and large.sum().item() == 200_000


def test_threads_record_their_own_graphs_on_shared_leaves():
    w = rl.ones(64, dtype=rl.float64).requires_grad_()
    total = [0.0, 0.0]

    def work(i):
        for _ in range(200):
            (gradient,) = rl.grad((w * w * (i + 1)).sum(), w)
            total[i] += gradient[0].item()

    run_in_threads(work)
    assert total == [400.0, 800.0] and w.grad is None


def test_threads_add_into_one_gradient():
    w = rl.ones(16).requires_grad_()
    (w * 1).sum().backward()

    def work(_):
        for _ in range(100):
            (w * 2).sum().backward()

    run_in_threads(work)
    assert w.grad.tolist() == [1.0 + 2 * 100 * 2] * 16


def test_grad_mode_is_of_the_thread():
    seen = []
    with rl.no_grad():
        thread = threading.Thread(target=lambda: seen.append(rl.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not rl.is_grad_enabled()
    assert seen == [True] and rl.is_grad_enabled()


def test_tensor_dies_in_another_thread():
    a = np.arange(100_000.0)
    boxes = [rl.from_numpy(a)[i:] for i in range(100)]

    def work(i):
        while boxes:
            try:
                boxes.pop()
            except IndexError:
                return

    run_in_threads(work)
    assert a[5] == 5.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_computes_after_the_parent_used_all_cores():
    a = rl.ones(512, 512)
    big = rl.ones(2_000_000)
    expected = (a @ a).sum().item() + rl.exp(big).sum().item()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a hang ends the child, not the test run
        ok = False
        try:
            got = (a @ a).sum().item() + rl.exp(big).sum().item()
            x = rl.ones(300_000).requires_grad_()
            (x * x).sum().backward()
            ok = abs(got - expected) <= 1e-4 * abs(expected) and x.grad[7].item() == 2.0
        finally:
            os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert (a @ a)[0, 0].item() == 512.0


@pytest.fixture
def little_memory():
    """Leaves the process 256 MB more address space than it has now."""
    resource = pytest.importorskip("resource")
    if SANITIZED:
        pytest.skip("the sanitizer has its own allocator")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def assert_usable():
    x = rl.ones(4).requires_grad_()
    (x * x + rl.zeros(4)).sum().backward()
    assert x.grad.tolist() == [2.0] * 4
    assert rl.ones(100_000).sum().item() == 100_000


@pytest.mark.parametrize("function", [rl.zeros, rl.ones, rl.empty, rl.rand])
def test_out_of_memory_is_a_memory_error(function, little_memory):
    with pytest.raises(MemoryError):
        function(2**34)  # more than any block that the tests before have left to be used again
    assert_usable()


def test_out_of_memory_inside_an_op(little_memory):
    x = rl.ones(2**10).requires_grad_()
    wide = x.expand(2**24, 2**10)
    for operation in (lambda: wide.clone(), lambda: wide * 2, lambda: rl.cat([wide, wide])):
        with pytest.raises(MemoryError):
            operation()
    assert_usable()


@pytest.mark.parametrize("shape", [(2**62,), (2**40, 2**40), (2**33, 2**33)])
def test_sizes_beyond_all_memory(shape):
    with pytest.raises((MemoryError, ValueError)):
        rl.zeros(*shape)
    assert_usable()
