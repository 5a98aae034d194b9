"""Matrix products and neural-network ops: relume against PyTorch.

CPU time of one thread each (or wall time with --threads 2 and more, on a quiet machine); the
libraries take turns and the fastest round counts.

    python benchmarks/neural_network_ops.py               # all
    python benchmarks/neural_network_ops.py conv mm       # lines whose label contains a word
    python benchmarks/neural_network_ops.py --quick       # a smoke test
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

# They slow OpenBLAS down for everybody; a process that has them starts again without.
BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

# Name, channels in and out, size, kernel, stride, padding.
LAYERS = [
    ("LeNet 1", 1, 6, 28, 5, 1, 2),
    ("LeNet 2", 6, 16, 14, 5, 1, 0),
    ("ResNet-18 first", 3, 64, 224, 7, 2, 3),
    ("ResNet-18 group 1", 64, 64, 56, 3, 1, 1),
    ("ResNet-18 to group 2", 64, 128, 56, 3, 2, 1),
    ("ResNet-18 group 2", 128, 128, 28, 3, 1, 1),
    ("ResNet-18 shortcut", 64, 128, 56, 1, 2, 0),
    ("ResNet-18 group 3", 256, 256, 14, 3, 1, 1),
    ("ResNet-18 group 4", 512, 512, 7, 3, 1, 1),
]

Case = tuple[str, Callable[[], Any], Callable[[], Any]]


def relume_gradient(rl: Any, operand: str, stride: list[int], padding: list[int]) -> Any:
    call = rl._C.ops[f"conv2d_{operand}_gradient"]

    def run(g: Any, x: Any, w: Any) -> Any:
        shape, other = (list(x.shape), w) if operand == "input" else (list(w.shape), x)
        return call(g, other, shape, stride, padding, [1, 1], 1)

    return run


def torch_gradient(torch: Any, wanted: list[bool], stride: list[int], padding: list[int]) -> Any:
    call = torch.ops.aten.convolution_backward

    def run(g: Any, x: Any, w: Any) -> Any:
        return call(g, x, w, None, stride, padding, [1, 1], False, [0, 0], 1, wanted)

    return run


def cases(rl: Any, torch: Any) -> list[Case]:
    """Label, relume's call, PyTorch's call."""
    import numpy as np

    functional = torch.nn.functional
    random = np.random.default_rng(0)
    made: list[Case] = []

    def both(*shape: int) -> tuple[Any, Any]:
        array = random.standard_normal(shape, dtype="float32")
        return rl.from_numpy(array), torch.from_numpy(array)

    def add(label: str, ours: Callable[..., Any], theirs: Callable[..., Any], *pairs: Any) -> None:
        """A case whose functions take the tensors of `pairs`."""
        mine, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        made.append((label, lambda: ours(*mine), lambda: theirs(*others)))

    for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        add(f"mm {n}", rl.matmul, torch.matmul, both(n, n), both(n, n))
    add("bmm 64 of 32", rl.bmm, torch.bmm, both(64, 32, 32), both(64, 32, 32))
    for batch in (1, 8, 64):
        for inputs, outputs in ((10, 10), (128, 512), (1024, 1024)):
            label = f"linear {inputs} to {outputs}, batch {batch}"
            operands = both(batch, inputs), both(outputs, inputs), both(outputs)
            add(label, rl.linear, functional.linear, *operands)

    for batch in (1, 8):
        for name, inputs, outputs, size, kernel, stride, padding in LAYERS:
            x, w = both(batch, inputs, size, size), both(outputs, inputs, kernel, kernel)
            out = (size + 2 * padding - kernel) // stride + 1
            g = both(batch, outputs, out, out)
            s, p = [stride, stride], [padding, padding]

            label = f"{name}, batch {batch}"
            add(
                f"conv {label}",
                lambda x, w, s=s, p=p: rl.conv2d(x, w, None, s, p),
                lambda x, w, s=s, p=p: functional.conv2d(x, w, None, s, p),
                x,
                w,
            )
            for k, operand in enumerate(("input", "weight")):
                add(
                    f"conv {operand} gradient {label}",
                    relume_gradient(rl, operand, s, p),
                    torch_gradient(torch, [k == 0, k == 1, False], s, p),
                    g,
                    x,
                    w,
                )

    x = both(8, 64, 56, 56)
    add(
        "max_pool2d 2x2",
        lambda x: rl.max_pool2d(x, 2),
        lambda x: functional.max_pool2d(x, 2, return_indices=True),
        x,
    )
    add(
        "max_pool2d 3x3, stride 2",
        lambda x: rl.max_pool2d(x, 3, 2, 1),
        lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True),
        x,
    )
    add("avg_pool2d", lambda x: rl.avg_pool2d(x, 2), lambda x: functional.avg_pool2d(x, 2), x)
    add(
        "upsample_nearest2d",
        lambda x: rl.upsample_nearest2d(x, 2),
        lambda x: functional.interpolate(x, scale_factor=2),
        x,
    )
    ones = [1, 1, 1, 1]
    add("pad", lambda x: rl.pad(x, ones), lambda x: functional.pad(x, ones), x)
    add(
        "pad, reflected",
        lambda x: rl.pad(x, ones, "reflect"),
        lambda x: functional.pad(x, ones, "reflect"),
        x,
    )
    for shape in ((8, 64, 56, 56), (64, 256)):
        x, channel = both(*shape), both(shape[1])
        var = random.random(shape[1], dtype="float32")
        variance = rl.from_numpy(var), torch.from_numpy(var)
        for training in (False, True):
            add(
                f"batch_norm {shape}{', training' if training else ''}",
                lambda x, w, v, t=training: rl.batch_norm(x, w, w, w, v, t, 0.1, 1e-5),
                lambda x, w, v, t=training: functional.batch_norm(x, w, v, w, w, t, 0.1, 1e-5),
                x,
                channel,
                variance,
            )
    for shape, dim in (((64, 1000), 1), ((4, 8), 1), ((8, 64, 56, 56), 1)):
        for name in ("softmax", "log_softmax"):
            mine, other = getattr(rl, name), getattr(torch, name)
            x = both(*shape)
            add(
                f"{name} {shape}",
                lambda x, f=mine, dim=dim: f(x, dim),
                lambda x, f=other, dim=dim: f(x, dim),
                x,
            )
    rows = random.integers(0, 10_000, 512)
    indices = rl.from_numpy(rows), torch.from_numpy(rows)
    table = both(10_000, 128)
    add("embedding", rl.embedding, lambda w, i: functional.embedding(i, w), table, indices)
    return made


def fastest(
    functions: list[Callable[[], Any]], clock: Callable[[], float], budget: float
) -> list[float]:
    """Seconds per call: the best of the rounds that fit into the budget, taking turns."""
    counts = []
    for function in functions:
        function()
        start = clock()
        function()
        counts.append(max(1, int(0.005 / max(clock() - start, 1e-7))))
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + budget
    while True:
        for i, function in enumerate(functions):
            start = clock()
            for _ in range(counts[i]):
                function()
            best[i] = min(best[i], (clock() - start) / counts[i])
        if time.perf_counter() > end:
            return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only lines whose label contains one of them")
    parser.add_argument("--quick", action="store_true", help="one round: does everything run?")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    if any(name in os.environ for name in BLAS_VARIABLES):
        rest = {k: v for k, v in os.environ.items() if k not in BLAS_VARIABLES}
        os.execve(sys.executable, [sys.executable, *sys.argv], rest)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import torch

    import relume

    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    print(f"{'microseconds':<46}{'relume':>12}{'torch':>12}{'ratio':>8}")
    with torch.no_grad():
        for label, ours, theirs in cases(relume, torch):
            if options.words and not any(word in label for word in options.words):
                continue
            mine, other = fastest([ours, theirs], clock, 0 if options.quick else 0.5)
            line = f"{label:<46}{mine * 1e6:>12.2f}{other * 1e6:>12.2f}{mine / other:>8.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
