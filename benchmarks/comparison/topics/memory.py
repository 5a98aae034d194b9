"""Memory of a training step, its growth over many steps, and the cost of long graphs."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..case import Arrays, Result, Settings, Topic
from ..timing import LIBRARIES

PEAK = """
import importlib, re, sys
lib = importlib.import_module(sys.argv[1])
from comparison.case import Arrays
from comparison.models import ResNet18
batch, size = int(sys.argv[2]), int(sys.argv[3])
arrays = Arrays(lib)
model = ResNet18(lib)
x, targets = arrays.floats(batch, 3, size, size), arrays.integers(1000, batch)
def peak():
    return int(re.search("VmHWM:\\\\s*(\\\\d+)", open("/proc/self/status").read()).group(1)) / 1024
before = peak()
for _ in range(3):
    model.step(x, targets)
print(peak() - before)
"""

GROWTH = """
import importlib, re, sys
lib = importlib.import_module(sys.argv[1])
from comparison.case import Arrays
from comparison.models import Perceptron
arrays = Arrays(lib)
model = Perceptron(lib)
x, targets = arrays.floats(32, 64), arrays.integers(64, 32)
def resident():
    return int(re.search("VmRSS:\\\\s*(\\\\d+)", open("/proc/self/status").read()).group(1))
steps = int(sys.argv[2])
for _ in range(steps // 10):
    model.step(x, targets)
before = resident()
for _ in range(steps):
    model.step(x, targets)
print(max(resident() - before, 1))
"""


def in_new_process(script: str, library: str, *numbers: int) -> float:
    """What a script prints, run with one of the libraries."""
    folder = Path(__file__).parents[2]
    arguments = [sys.executable, "-c", script, library, *map(str, numbers)]
    output = subprocess.run(arguments, check=True, capture_output=True, text=True, cwd=folder)
    return float(output.stdout)


def seconds_of_graph(lib: Any, nodes: int) -> float:
    """Builds a chain of additions and goes back through it."""
    x = Arrays(lib).parameter(4)
    start = time.process_time()
    y = x
    for _ in range(nodes):
        y = y + x
    y.sum().backward()
    return time.process_time() - start


def best_of(rounds: int, function: Callable[[], float]) -> float:
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        best = min(best, function())
    return best


def measure(topic: Topic, settings: Settings) -> Iterator[Result]:
    processes = {
        "ResNet-18 training step, batch 16, peak": ("MB", PEAK, (16, 224), (2, 64)),
        "perceptron, growth over 10,000 steps": ("KB", GROWTH, (10_000,), (100,)),
    }
    for label, (unit, script, numbers, few) in processes.items():
        if not settings.wants(label):
            continue
        given = few if settings.quick else numbers
        values = [in_new_process(script, name, *given) for name in LIBRARIES]
        yield Result(topic.name, label, unit, *values, aim=topic.worst)
    for nodes in (1000,) if settings.quick else (10_000, 100_000, 1_000_000):
        label = f"graph of {nodes:,} nodes, per node"
        if not settings.wants(label):
            continue
        values = [
            best_of(3, partial(seconds_of_graph, lib, nodes)) / nodes * 1e9
            for lib in LIBRARIES.values()
        ]
        yield Result(topic.name, label, "ns", *values, aim=topic.worst)


TOPIC = Topic("memory", "Memory and long graphs", measure, worst=1.0)
