"""Tensors between processes: shared memory, pickling, and how it is freed."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import relume as rl
from relume import nn

METHODS = ["fork", "spawn"]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def shared_bytes():
    """Of this process's mappings of relume's files."""
    total = 0
    with open("/proc/self/maps") as file:
        for line in file:
            if "memfd:relume" in line:
                start, end = line.split()[0].split("-")
                total += int(end, 16) - int(start, 16)
    return total


def run(method, target, *args):
    context = multiprocessing.get_context(method)
    process = context.Process(target=target, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


# ---- in one process ----


@pytest.mark.parametrize("make", [lambda: rl.arange(6.0), lambda: rl.arange(100_000.0)])
def test_sharing_keeps_contents_views_and_the_tape(make):
    t = make()
    view, storage = t[1:4], t.storage()
    x = (t * 1).requires_grad_()
    y = (x * x).sum()
    assert not t.is_shared() and not storage.is_shared()
    assert t.share_memory_() is t
    x.share_memory_()
    assert t.is_shared() and view.is_shared() and t.storage() is storage
    view[0] = 50.0
    assert t[1].item() == 50.0 and t[2].item() == 2.0
    y.backward()
    assert x.grad[3].item() == 6.0
    assert x.share_memory_().is_shared()  # once more does nothing
    with pytest.raises(ValueError, match="resize"):
        t.resize_(2 * t.numel())


def test_sharing_of_every_type_and_of_nothing():
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64", "bool"):
        t = rl.ones(3, dtype=dtype)
        assert t.share_memory_().tolist() == rl.ones(3, dtype=dtype).tolist()
    assert rl.zeros(0).share_memory_().shape == (0,)
    assert rl.tensor(3.0).share_memory_().item() == 3.0


def test_arrays_keep_their_memory():
    a = np.ones(1000)
    t = rl.from_numpy(a)
    t.share_memory_()
    t[0] = 5.0
    assert a[0] == 1.0 and t.is_shared()
    t = rl.ones(1000)
    seen = t.numpy()
    t.share_memory_()
    t[0] = 5.0
    assert seen[0] == 1.0 and t.numpy()[0] == 5.0
    a = np.full(1000, 7.0)
    t = rl.from_numpy(a)
    del a
    seen = t.numpy()
    t.share_memory_()
    gc.collect()
    del t
    assert (seen == 7.0).all()


def test_shared_memory_is_freed():
    before = shared_bytes()
    tensors = [rl.zeros(1 << 18).share_memory_() for _ in range(8)]
    assert shared_bytes() - before == 8 << 20
    descriptors = len(os.listdir("/proc/self/fd"))
    del tensors
    assert shared_bytes() == before
    assert len(os.listdir("/proc/self/fd")) == descriptors - 8


def test_too_much_shared_memory_is_a_memory_error():
    t = rl.zeros(1).expand(1 << 45)
    assert t.share_memory_().is_shared()  # one element
    with pytest.raises(MemoryError):
        rl.empty(1 << 45)


def test_plain_pickle_copies_and_keeps_sharing_inside():
    t = rl.arange(6.0).share_memory_()
    a, b = pickle.loads(pickle.dumps((t, t[2:])))
    a[2] = 9.0
    assert b[0].item() == 9.0 and t[2].item() == 2.0 and not a.is_shared()
    c = copy.deepcopy(t)
    c[0] = 1.0
    assert t[0].item() == 0.0
    p = nn.Parameter(rl.ones(2))
    p.grad = rl.zeros(2)
    q = pickle.loads(pickle.dumps(p))
    assert isinstance(q, nn.Parameter) and q.requires_grad and q.grad.tolist() == [0.0, 0.0]


# ---- between processes ----


def child_of_arguments(t, views, parameter):
    assert t.is_shared() and t.requires_grad and t.grad is None
    with rl.no_grad():
        t.add_(1)
    first, second = views
    first[0] = 70.0
    assert second[0, 0].item() == 70.0
    assert isinstance(parameter, nn.Parameter) and parameter.note == "kept"
    parameter.data.mul_(2)


@pytest.mark.parametrize("method", METHODS)
def test_arguments_are_shared(method):
    t = rl.arange(4.0).requires_grad_()
    t.grad = rl.ones(4)
    base = rl.zeros(2, 3)
    parameter = nn.Parameter(rl.ones(3))
    parameter.note = "kept"
    if method == "fork":  # the child inherits the memory: what is not shared is copied on write
        for x in (t, base, parameter):
            x.share_memory_()
        t.grad = None
    run(method, child_of_arguments, t, (base[0], base), parameter)
    assert t.tolist() == [1.0, 2.0, 3.0, 4.0] and base[0, 0].item() == 70.0
    assert parameter.tolist() == [2.0] * 3


def child_of_queues(inbox, outbox):
    while (message := inbox.get()) is not None:
        a, b = message
        a.mul_(10)
        outbox.put((a + 0, b.sum(), a))
    outbox.put("end")


@pytest.mark.parametrize("method", METHODS)
def test_queues(method):
    context = multiprocessing.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=child_of_queues, args=(inbox, outbox))
    process.start()
    t = rl.arange(5.0)
    for factor in (10, 100):
        inbox.put((t, t[1:3]))
        copied, total, same = outbox.get(timeout=60)
        assert t.tolist() == [factor * i for i in range(5)] == copied.tolist()
        assert total.item() == 3.0 * factor
        assert same.data_ptr() == t.data_ptr()  # what comes back is found where it is
        same[0] = 0.0
    inbox.put(None)
    assert outbox.get(timeout=60) == "end"
    process.join(60)
    assert process.exitcode == 0


def child_that_leaves(results):
    results.put(rl.ones(1000))


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_ends_waits_until_its_results_are_unpacked(method):
    context = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=child_that_leaves, args=(results,))
    process.start()
    process.join(0.5 if method == "fork" else 3)
    assert results.get(timeout=60).sum().item() == 1000.0
    process.join(60)
    assert process.exitcode == 0


def child_that_is_killed(results):
    results.put(rl.ones(1000))
    results.close()
    results.join_thread()
    os.kill(os.getpid(), signal.SIGKILL)


def test_tensors_of_a_process_that_was_killed_are_an_error_in_words():
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=child_that_is_killed, args=(results,))
    process.start()
    process.join(60)
    with pytest.raises(RuntimeError, match="sender alive"):
        results.get(timeout=60)


def square(t):
    return t * t


@pytest.mark.parametrize("method", METHODS)
def test_pools(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map(square, [rl.full((3,), float(i)) for i in range(6)])
        assert [r[0].item() for r in results] == [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]
        with pytest.raises(RuntimeError, match="detach"):
            pool.map(square, [rl.ones(1).requires_grad_() * 2])


def child_of_modules(net, x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    with rl.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad


@pytest.mark.parametrize("method", METHODS)
def test_modules(method):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    net.share_memory()
    assert all(p.is_shared() for p in net.parameters())
    before = [p.detach().clone() for p in net.parameters()]
    run(method, child_of_modules, net, rl.ones(5, 3))
    assert all((p != b).any() for p, b in zip(net.parameters(), before, strict=True))
    assert all(p.grad is None for p in net.parameters())


def child_that_crashes(t):
    t.fill_(3)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", METHODS)
def test_a_crash_leaves_nothing_behind(method):
    t = rl.zeros(1 << 20).share_memory_()
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    process = multiprocessing.get_context(method).Process(target=child_that_crashes, args=(t,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert t[5].item() == 3.0
    named = set(os.listdir("/dev/shm")) - before if os.path.isdir("/dev/shm") else set()
    assert not [name for name in named if "relume" in name]


def child_that_counts(t, lock):
    for _ in range(200):
        with lock:
            t += 1


def test_processes_add_under_a_lock():
    context = multiprocessing.get_context("fork")
    t, lock = rl.zeros(1000).share_memory_(), context.Lock()
    processes = [context.Process(target=child_that_counts, args=(t, lock)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert t.tolist() == [600.0] * 1000


def child_of_spawn(index, results):
    results[index] = index + 1.0


def child_that_fails(index):
    if index == 1:
        raise LookupError("of the child")
    signal.pause()


def child_that_dies(index):
    os._exit(7)


def test_spawn():
    import relume.multiprocessing as mp

    results = rl.zeros(2)
    mp.spawn(child_of_spawn, (results,), nprocs=2)
    assert results.tolist() == [1.0, 2.0]
    with pytest.raises(mp.ProcessError, match="of the child"):
        mp.spawn(child_that_fails, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessError, match="exit code 7"):
        mp.spawn(child_that_dies, start_method="fork")
    assert mp.get_context is multiprocessing.get_context and mp is rl.multiprocessing


def test_wrong_descriptors_are_refused(tmp_path):
    (tmp_path / "short").write_bytes(b"1234")
    for bytes, opened in [(100, tmp_path / "short"), (4, "/dev/null")]:
        descriptor = os.open(opened, os.O_RDWR)
        with pytest.raises(ValueError, match="shared memory"):
            rl._C.open_shared_storage(descriptor, bytes, "float32")
        with pytest.raises(OSError):  # it was taken over, and closed
            os.fstat(descriptor)
    with pytest.raises(RuntimeError, match="shared memory"):
        rl._C.open_shared_storage(-1, 4, "float32")


def test_running_out_of_descriptors_says_what_to_do():
    program = """
        import resource, relume as rl
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        kept = []
        try:
            for _ in range(100):
                kept.append(rl.zeros(4).share_memory_())
        except RuntimeError as error:
            assert "ulimit -n" in str(error), error
        else:
            raise AssertionError("no error")
        kept.clear()
        rl.zeros(4).share_memory_()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)


def test_forked_children_have_their_own_tables_of_mappings():
    t = rl.zeros(10).share_memory_()
    child = os.fork()
    if child == 0:
        ok = False
        try:
            u = rl.zeros(10).share_memory_()
            t[0], u[0] = 1.0, 2.0
            ok = t.is_shared() and u.is_shared()
            del u
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert t[0].item() == 1.0
