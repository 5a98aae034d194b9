"""Compares relume with PyTorch on this machine: speed and memory, in one run.

    python benchmarks/run.py                          # everything, about half an hour
    python benchmarks/run.py --only matmul small_ops  # some topics
    python benchmarks/run.py conv "mm 64"             # lines whose label contains a word
    python benchmarks/run.py --threads 2 --isa avx2
    python benchmarks/run.py --quick                  # a smoke test

The libraries take turns within every case, and the fastest round of each counts. One thread is
measured by its CPU time; with more threads the wall time counts, which wants a quiet machine.
With --save NAME the results go to NAME.json and NAME.md, and, where matplotlib is installed, to
NAME.png.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

# They slow OpenBLAS down for everybody; a process that has them starts again without.
BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only lines whose label contains one of them")
    parser.add_argument("--only", nargs="+", metavar="TOPIC", help="some of the topics")
    parser.add_argument("--quick", action="store_true", help="one round: does everything run?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="per case")
    parser.add_argument("--isa", choices=("baseline", "avx2", "avx512"), help="of relume")
    parser.add_argument("--save", type=Path, metavar="NAME")
    return parser.parse_args()


def start_again_without(variables: tuple[str, ...]) -> None:
    if any(name in os.environ for name in variables):
        rest = {key: value for key, value in os.environ.items() if key not in variables}
        os.execve(sys.executable, [sys.executable, *sys.argv], rest)


def main() -> None:
    given = options()
    start_again_without(BLAS_VARIABLES)
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    if given.isa:
        os.environ["RELUME_ISA"] = given.isa

    # Imported late: both libraries read the environment.
    import torch
    from comparison.case import Settings
    from comparison.report import console, markdown, plot, save, show, start, summary
    from comparison.topics import TOPICS

    import relume

    topics = [topic for topic in TOPICS if not given.only or topic.name in given.only]
    if not topics:
        sys.exit(f"--only takes {', '.join(topic.name for topic in TOPICS)}")
    settings = Settings(given.quick, given.threads, given.seconds, tuple(given.words))
    results = []
    for topic in topics:
        start(topic)
        for result in topic.measure(topic, settings):
            show(result)
            results.append(result)
    console.print(summary(topics, results))
    if given.save:
        environment = {
            "processor": platform.machine(),
            "instruction set": relume._C.instruction_set(),
            "threads": given.threads,
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
        save(given.save.with_suffix(".json"), environment, results)
        given.save.with_suffix(".md").write_text(markdown(topics, results))
        plot(given.save.with_suffix(".png"), topics, results)


if __name__ == "__main__":
    main()
