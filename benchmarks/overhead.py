"""What one small operation costs in Python: relume against PyTorch and NumPy.

Tensors of 4 floats, so that the time is all overhead. The libraries take turns within each
round; the fastest round counts. CPU time is measured, which a busy machine disturbs least.

    python benchmarks/overhead.py            # all
    python benchmarks/overhead.py --quick    # a smoke test

Ratios are relume's time divided by the other's. PyTorch and NumPy columns stay empty where
the library is absent or has no such operation.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

# They slow OpenBLAS down for everybody; a process that has them starts again without.
BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

CHAIN = 20  # operations per recorded graph

# Statements in terms of `lib` (relume, torch or numpy), a, b, m (plain) and x, w (recorded).
FORWARD = [
    "a + b",
    "a + 1.0",
    "a * b",
    "a > b",
    "-a",
    "a.sum()",
    "a.sum(0)",
    "a[2]",
    "a[1:3]",
    "a[None]",
    "a.reshape(2, 2)",
    "lib.exp(a)",
    "lib.tanh(a)",
    "m @ m",
    "a.__iadd__(b)",
    "lib.zeros(4)",
]
RECORDED = ["x + w", "x * w", "x.tanh()", "x[2]"]


def mul_chain(x: Any, w: Any) -> Any:
    """A graph of CHAIN multiplications."""
    for _ in range(CHAIN):
        x = x * w
    return x


def tanh_chain(x: Any, _: Any) -> Any:
    """A graph of CHAIN tanh."""
    for _ in range(CHAIN):
        x = x.tanh()
    return x


CHAINS: dict[str, Callable[[Any, Any], Any]] = {"mul": mul_chain, "tanh": tanh_chain}


def environments() -> dict[str, dict[str, Any]]:
    """For each library the names that the statements use."""
    import numpy

    import relume

    libraries: dict[str, Any] = {"relume": relume, "numpy": numpy}
    try:
        import torch

        torch.set_num_threads(1)
        libraries["torch"] = torch
    except ImportError:
        pass
    result = {}
    for name, lib in libraries.items():
        make = lib.array if name == "numpy" else lib.tensor
        names = {
            "lib": lib,
            "a": make([0.1, 0.2, 0.3, 0.4], dtype=lib.float32),
            "b": make([0.5, 0.6, 0.7, 0.8], dtype=lib.float32),
            "m": make([[0.1, 0.2], [0.3, 0.4]], dtype=lib.float32),
        }
        if name != "numpy":
            names["x"] = make([0.1, 0.2, 0.3, 0.4], dtype=lib.float32, requires_grad=True)
            names["w"] = make([0.5, 0.6, 0.7, 0.8], dtype=lib.float32, requires_grad=True)
            names["seed"] = lib.ones(4)
        result[name] = names
    return result


def timer(statement: str, names: dict[str, Any]) -> timeit.Timer:
    """Times a statement with a copy of the names."""
    return timeit.Timer(statement, timer=time.thread_time, globals=dict(names))


def measure(timers: dict[str, timeit.Timer], number: int, rounds: int) -> dict[str, float]:
    """Nanoseconds per execution and library, the best of interleaved rounds."""
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for name, own in timers.items():
            best[name] = min(best[name], own.timeit(number) / number * 1e9)
    return best


def report(label: str, times: dict[str, float]) -> float | None:
    """Prints a line; returns the ratio to PyTorch."""
    own = times["relume"]
    columns = [f"{label:<28}{own:>9.0f}"]
    for other in ("torch", "numpy"):
        if other in times:
            columns.append(f"{times[other]:>10.0f}{own / times[other]:>8.3f}")
        else:
            columns.append(f"{'-':>10}{'-':>8}")
    print("".join(columns), flush=True)
    return own / times["torch"] if "torch" in times else None


def measure_chain(
    label: str,
    chain: Callable[[Any, Any], Any],
    names: dict[str, dict[str, Any]],
    number: int,
    rounds: int,
) -> list[float | None]:
    """Forward and backward of a recorded chain, per operation."""
    forward, both = {}, {}
    for library, values in names.items():
        if library == "numpy":
            continue
        own = {**values, "chain": chain}
        forward[library] = timer("chain(x, w)", own)
        both[library] = timer("chain(x, w).backward(seed)", own)
    alone = measure(forward, number, rounds)
    together = measure(both, number, rounds)
    backward = {library: (together[library] - alone[library]) / CHAIN for library in alone}
    return [
        report(f"{label} chain, forward", {k: v / CHAIN for k, v in alone.items()}),
        report(f"{label} chain, backward", backward),
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="What one small operation costs in Python")
    parser.add_argument("--quick", action="store_true", help="few repetitions, for a smoke test")
    quick = parser.parse_args().quick
    number, rounds = (200, 2) if quick else (20_000, 9)

    names = environments()
    ratios = []
    print(
        f"{'ns per operation':<28}{'relume':>9}{'torch':>10}{'ratio':>8}{'numpy':>10}{'ratio':>8}"
    )
    for statement in FORWARD + RECORDED:
        recorded = statement in RECORDED
        timers = {
            library: timer(statement, values)
            for library, values in names.items()
            if not (recorded and library == "numpy")
        }
        label = statement + (", recorded" if recorded else "")
        ratios.append(report(label, measure(timers, number, rounds)))
    for label, chain in CHAINS.items():
        ratios += measure_chain(label, chain, names, max(number // CHAIN, 20), rounds)
    known = [ratio for ratio in ratios if ratio is not None]
    if known:
        print(f"\nlargest ratio to PyTorch: {max(known):.3f} (at most 0.15 is the aim)")


if __name__ == "__main__":
    if any(name in os.environ for name in BLAS_VARIABLES):
        clean = {k: v for k, v in os.environ.items() if k not in BLAS_VARIABLES}
        os.execve(sys.executable, [sys.executable, *sys.argv], clean)
    main()
