"""Loading Torch7 files: time and memory against numpy.fromfile and the package torchfile.

    python benchmarks/loading.py [--quick]

Everything is measured in one run, alternating between the sides. Targets: large tensors within
1.3x of numpy.fromfile and within 1.1x the file's size of memory; a million small objects at least
20x faster than torchfile.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

PEAK_OF_LOAD = """
import re, sys
import relume as rl
rl.load  # loads the room, before memory is looked at
peak = lambda: int(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read()).group(1))
before = peak()
value = rl.load(sys.argv[1])
print((peak() - before) * 1024)
"""


def number(value: float) -> bytes:
    return struct.pack("<id", 1, value)


def text(value: str) -> bytes:
    return struct.pack("<ii", 2, len(value)) + value.encode()


def class_head(index: int, name: str) -> bytes:
    return struct.pack("<iii3si", 4, index, 3, b"V 1", len(name)) + name.encode()


def tensor(index: int, kind: str, elements: bytes, size: int) -> bytes:
    head = class_head(index, f"torch.{kind}Tensor") + struct.pack("<iqqq", 1, size, 1, 1)
    return head + class_head(index + 1, f"torch.{kind}Storage") + struct.pack("<q", size) + elements


def write_large(path: Path, megabytes: int) -> None:
    """A table of float tensors of 64 MB each."""
    block = np.random.default_rng(0).standard_normal(16 << 20, dtype=np.float32)
    count = max(megabytes // 64, 1)
    with open(path, "wb") as file:
        file.write(struct.pack("<iii", 3, 1, count))
        for i in range(count):
            file.write(number(i + 1) + tensor(2 + 2 * i, "Float", block.tobytes(), block.size))


def write_small(path: Path, count: int, kind: str) -> None:
    """A table of small tables, of small tensors or of objects."""
    with open(path, "wb") as file:
        file.write(struct.pack("<iii", 3, 1, count))
        index = 2
        for i in range(count):
            # torchfile fails on a list of tensors with today's NumPy, so they get names.
            file.write(text(f"t{i}") if kind == "tensors" else number(i + 1))
            if kind == "tables":
                file.write(struct.pack("<iii", 3, index, 2) + text("x") + number(i))
                file.write(text("name") + text(f"item{i % 1000}"))
                index += 1
            elif kind == "tensors":
                file.write(tensor(index, "Double", struct.pack("<3d", i, 1, 2), 3))
                index += 2
            else:
                file.write(class_head(index, "my.Point") + struct.pack("<iii", 3, index + 1, 2))
                file.write(text("x") + number(i) + text("y") + number(0.5))
                index += 2


def best(
    actions: dict[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The shortest time of each action in seconds, taken in turns."""
    times: dict[str, float] = {}
    for _ in range(repeats):
        for name, action in actions.items():
            start = clock()
            result = action()
            times[name] = min(times.get(name, 1e9), clock() - start)
            del result
    return times


def peak_of_load(path: Path) -> int:
    """Bytes of memory that a fresh process takes to load a file, at most."""
    output = subprocess.run(
        [sys.executable, "-c", PEAK_OF_LOAD, str(path)], check=True, capture_output=True, text=True
    )
    return int(output.stdout)


def measure_large(folder: Path, megabytes: int) -> None:
    import relume as rl

    path = folder / "large.t7"
    write_large(path, megabytes)
    times = best(
        {
            "numpy.fromfile": lambda: np.fromfile(path, dtype=np.uint8),
            "relume.load": lambda: rl.load(path),
        },
        5,
    )
    size = path.stat().st_size
    ratio = times["relume.load"] / times["numpy.fromfile"]
    print(f"large tensors, {size / 1e6:.0f} MB")
    for name, seconds in times.items():
        print(f"  {name:16} {seconds:8.3f} s  {size / seconds / 1e9:6.2f} GB/s")
    print(f"  ratio to numpy.fromfile: {ratio:.2f} (target 1.3)")
    print(f"  peak memory / file size: {peak_of_load(path) / size:.2f} (target 1.1)")
    os.unlink(path)


def measure_small(folder: Path, count: int, kind: str) -> None:
    import relume as rl

    path = folder / "small.t7"
    write_small(path, count, kind)
    actions: dict[str, Callable[[], object]] = {"relume.load": lambda: rl.load(path)}
    try:
        import torchfile

        actions["torchfile"] = lambda: torchfile.load(str(path))
    except ImportError:
        pass
    times = best(actions, 3, time.process_time)
    print(f"{count} small {kind}, {path.stat().st_size / 1e6:.0f} MB")
    for name, seconds in times.items():
        print(f"  {name:16} {seconds:8.3f} s  {seconds / count * 1e9:6.0f} ns per object")
    if "torchfile" in times:
        print(f"  torchfile / relume: {times['torchfile'] / times['relume.load']:.1f} (target 20)")
    os.unlink(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files: only a check")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        measure_large(Path(folder), 128 if quick else 1024)
        for kind in ("tables", "tensors", "objects"):
            measure_small(Path(folder), 20_000 if quick else 1_000_000, kind)


if __name__ == "__main__":
    main()
