"""Saving Torch7 files: time and memory against writing the same bytes with NumPy.

    python benchmarks/saving.py [FOLDER] [--quick]

Three files: one large tensor, a model of many tensors, and a vocabulary (a table of strings). Both
sides write to the same folder and flush to the disk, in turns; the best of several runs counts.
The target is at most 1.3x for tensors. The memory is what the process grew by while it saved.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import relume as rl

MEGABYTE = 1 << 20
RUNS = 5


def large() -> dict[str, Any]:
    """One tensor of 256 MB."""
    return {"weight": rl.ones(64 * MEGABYTE)}


def model() -> dict[str, Any]:
    """200 tensors of 1 MB."""
    return {f"layer{i}": rl.ones(512, 512) for i in range(200)}


def vocabulary() -> dict[str, Any]:
    """100,000 words and their numbers."""
    return {f"word{i}": i for i in range(1, 100_001)}


def write_raw(arrays: list[np.ndarray], path: Path) -> None:
    """The least that anybody who keeps a file safe must do."""
    with open(path, "wb", buffering=0) as file:
        for array in arrays:
            view = memoryview(array).cast("B")
            while len(view):
                view = view[file.write(view) :]
        os.fsync(file.fileno())


def best_of(actions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The shortest time of every action, run in turns."""
    times = dict.fromkeys(actions, float("inf"))
    for _ in range(RUNS):
        for name, action in actions.items():
            started = time.perf_counter()
            action()
            times[name] = min(times[name], time.perf_counter() - started)
    return times


def measure(make: Callable[[], dict[str, Any]], folder: Path) -> None:
    value = make()
    path = folder / "saved.t7"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rl.save(value, path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    tensors = [item for item in value.values() if isinstance(item, rl.Tensor)]
    arrays = [tensor.numpy() for tensor in tensors] or [np.fromfile(path, np.uint8)]
    times = best_of(
        {
            "raw": lambda: write_raw(arrays, folder / "raw.bin"),
            "save": lambda: rl.save(value, path),
            "dumps": lambda: rl.dumps(value),
        }
    )
    print(make.__doc__)
    print(f"  file {path.stat().st_size / MEGABYTE:.1f} MB, memory grew by {grown:.1f} MB")
    for name, seconds in times.items():
        print(f"  {name:6} {seconds * 1000:8.1f} ms")
    target = " (target 1.3)" if tensors else ""
    print(f"  save / raw: {times['save'] / times['raw']:.2f}{target}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="by default a temporary one")
    parser.add_argument("--quick", action="store_true", help="the small file only: does it run?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for make in (vocabulary,) if options.quick else (large, model, vocabulary):
            measure(make, options.folder or Path(temporary))


if __name__ == "__main__":
    main()
