"""The end of memory is a MemoryError, wherever it is met, and the process goes on."""

import subprocess
import sys
import textwrap

import pytest
from sanitizer import needs_own_allocator

import relume as rl

pytest.importorskip("resource")

# Runs each of the given operations with 300 MB of address space to spare.
PROGRAM = """
    import resource, sys
    import numpy as np
    import relume as rl
    from relume import nn

    x = rl.rand(2_000, 2_000)                      # 16 MB
    images = rl.rand(4, 16, 128, 128)
    rl.exp(x); x @ x; nn.functional.conv2d(images, rl.rand(16, 16, 3, 3))  # starts the threads
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + (300 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    wide = x.expand(100, 2_000, 2_000)             # 1.6 GB, if it were there
    graph = x.clone().requires_grad_()

    def long_chain():
        y = graph
        for _ in range(100):
            y = (y * 1.001).exp().tanh()
        return y.sum()

    def keep(things=[]):
        while True:
            things.append(rl.ones(1_000_000))

    def keep_small(things=[]):
        while True:
            things.append(rl.ones(20))

    OPERATIONS = {
        "zeros": lambda: rl.zeros(1 << 28),
        "rand": lambda: rl.rand(1 << 28),
        "arange": lambda: rl.arange(1 << 28),
        "clone": lambda: wide.clone(),
        "contiguous": lambda: wide.contiguous(),
        "add": lambda: wide + 1,
        "compare": lambda: wide.double() > 0.5,
        "cast": lambda: wide.double(),
        "cat": lambda: rl.cat([x] * 100),
        "stack": lambda: rl.stack([x] * 100),
        "repeat": lambda: x.repeat(100, 1),
        "outer": lambda: x.reshape(-1)[:20_000, None] * x.reshape(-1)[None, :20_000],
        "matmul": lambda: x.reshape(-1, 100) @ x.reshape(100, -1),
        "bmm": lambda: rl.bmm(wide, wide),
        "index": lambda: x[rl.zeros(200_000, dtype=rl.int64)],
        "gather": lambda: x.gather(0, rl.zeros(400_000, 2_000, dtype=rl.int64)),
        "nonzero": lambda: (wide > 2).logical_not().nonzero(),
        "sort": lambda: wide.sort(-1),
        "cumsum": lambda: wide.cumsum(0),
        "softmax": lambda: wide.softmax(-1),
        "sum": lambda: wide.double().sum(0),
        "where": lambda: rl.where(wide > 0.5, wide, 0.0),
        "one_hot": lambda: rl.eye(40_000),
        "conv2d": lambda: nn.functional.conv2d(images.repeat(64, 1, 1, 1), rl.rand(64, 16, 3, 3)),
        "max_pool2d": lambda: rl.max_pool2d(images.expand(4, 16, 128, 128).repeat(100, 1, 1, 1), 2),
        "numpy": lambda: np.array(wide),
        "tolist": lambda: wide.tolist(),
        "share": lambda: rl.cat([x] * 8).share_memory_() is rl.cat([x] * 12).share_memory_(),
        "pickle": lambda: __import__("pickle").dumps(wide.clone()),
        "backward": lambda: long_chain().backward(),
        "many": keep,
        "many small": keep_small,
    }

    def assert_usable():
        t = rl.ones(4).requires_grad_()
        (t * t + rl.zeros(4)).sum().backward()
        assert t.grad.tolist() == [2.0] * 4
        assert rl.ones(100_000).sum().item() == 100_000
        assert (rl.ones(50, 50) @ rl.ones(50, 50))[0, 0].item() == 50

    for name in sys.argv[1:]:
        print(name, flush=True)
        try:
            OPERATIONS[name]()
        except MemoryError:
            pass
        else:
            raise AssertionError(f"{name} found the memory")
        for function in (keep, keep_small):
            function.__defaults__[0].clear()
        graph.grad = None
        assert_usable()
    print("done")
"""
NAMES = [
    line.split('"')[1]
    for line in PROGRAM.splitlines()
    if line.strip().startswith('"') and ":" in line
]


@needs_own_allocator
def test_every_operation_in_one_process_after_the_other():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *NAMES],
        capture_output=True,
        text=True,
        timeout=120,
    )
    reached = done.stdout.splitlines()
    assert done.returncode == 0 and reached[-1] == "done", (reached[-1:], done.stderr[-2000:])


@pytest.mark.parametrize(
    "make",
    [
        lambda n: rl.zeros(n),
        lambda n: rl.empty(n, n),
        lambda n: rl.ones(3).expand(n, 3).clone(),
        lambda n: rl.arange(n),
        lambda n: rl.eye(n),
        lambda n: rl.linspace(0, 1, n),
        lambda n: rl.ones(3).repeat(n),
        lambda n: rl.full((n,), 1),
        lambda n: rl.rand(n),
        lambda n: rl.zeros(2).resize_(n),
        lambda n: rl.nn.functional.pad(rl.ones(3), (n, n)),
    ],
)
@pytest.mark.parametrize("size", [2**40, 2**61, 2**63 - 1])
def test_sizes_that_no_machine_has(make, size):
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        make(size)
    assert rl.ones(4).sum().item() == 4
