"""How many threads the kernels use, and which instructions."""

from __future__ import annotations

from relume import _C


def get_num_threads() -> int:
    """How many threads large operations are split over; 1 in a forked child.

    >>> get_num_threads() >= 1
    True
    """
    return _C.get_num_threads()


def set_num_threads(count: int) -> None:
    """Sets how many threads large operations are split over, for the whole process.

    Args:
        count: at least 1; by default as many as OpenMP would use (OMP_NUM_THREADS, or the CPUs
            this process may use).

    Raises:
        ValueError: when count is below 1.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    _C.set_num_threads(count)


def instruction_set() -> str:
    """The instructions that the kernels use: "baseline", "avx2" or "avx512".

    The best that the CPU has; the environment variable RELUME_ISA lowers it.

    >>> instruction_set() in ("baseline", "avx2", "avx512")
    True
    """
    return _C.instruction_set()
