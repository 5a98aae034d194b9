"""Times the statement of a case in both libraries, taking turns; the fastest round counts."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

import relume

from .case import Case, Result, Settings, Topic

LIBRARIES: dict[str, Any] = {"relume": relume, "torch": torch}
ROUND_SECONDS = 0.004  # a round repeats fast statements for about so long
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3}


def clock_for(threads: int) -> Callable[[], float]:
    """One thread is measured by its CPU time, which a busy machine disturbs least."""
    return time.process_time if threads == 1 else time.perf_counter


def fastest(timers: dict[str, timeit.Timer], settings: Settings) -> dict[str, float]:
    """Seconds per execution and library: the best of the rounds that fit into the time."""
    for timer in timers.values():
        timer.timeit(1)
    if settings.quick:
        return {name: timer.timeit(1) for name, timer in timers.items()}
    counts = {
        name: max(1, int(ROUND_SECONDS / max(timer.timeit(3) / 3, 1e-8)))
        for name, timer in timers.items()
    }
    best = dict.fromkeys(timers, float("inf"))
    end = time.perf_counter() + settings.seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(counts[name]) / counts[name])
        rounds += 1
    return best


def timers_of(case: Case, threads: int) -> dict[str, timeit.Timer]:
    """A timer per library, each with tensors of its own."""
    clock = clock_for(threads)
    return {
        name: timeit.Timer(case.statement, timer=clock, globals={"lib": lib, **case.names(lib)})
        for name, lib in LIBRARIES.items()
    }


def compare(case: Case, topic: Topic, settings: Settings) -> Result:
    """Both libraries on one case, each in the unit that suits."""
    relume.set_num_threads(settings.threads)
    torch.set_num_threads(settings.threads)
    timers = timers_of(case, settings.threads)
    if case.recorded:
        best = fastest(timers, settings)
    else:
        with torch.no_grad(), relume.no_grad():
            best = fastest(timers, settings)
    best = {name: seconds / case.per for name, seconds in best.items()}
    largest = max(best.values())
    unit = "ns" if largest < 1e-5 else "us" if largest < 1e-2 else "ms"
    scale = UNITS[unit]
    times = {name: seconds * scale for name, seconds in best.items()}
    return Result(topic.name, case.label, unit, **times, aim=case.aim or topic.worst)


def timed(
    cases: Callable[[Settings], Iterable[Case]],
) -> Callable[[Topic, Settings], Iterator[Result]]:
    """The `measure` of a topic that is a list of cases."""

    def measure(topic: Topic, settings: Settings) -> Iterator[Result]:
        for case in cases(settings):
            if settings.wants(case.label):
                yield compare(case, topic, settings)

    return measure
