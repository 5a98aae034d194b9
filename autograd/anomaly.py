"""Anomaly mode: a backward pass that fails, or gives NaN, says which line of the forward did it."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from relume import _C

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once or for a `with` block; for all threads.

    Every recorded op remembers the Python stack, which makes it many times slower: for
    finding an error, not for training.

    Args:
        mode: on or off.
        check_nan: a NaN in a gradient is an error too.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _C.set_anomaly_mode(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        _C.set_anomaly_mode(*self._before)


class detect_anomaly:
    """Anomaly mode for a `with` block: errors of backward name the line that recorded the op.

    Args:
        check_nan: a NaN in a gradient is an error too.

    >>> import relume as rl
    >>> x = rl.tensor([0.0], requires_grad=True)
    >>> with rl.autograd.detect_anomaly():
    ...     y = (x / x).sum()
    ...     y.backward()
    Traceback (most recent call last):
        ...
    RuntimeError: the derivative of div() gave NaN in the gradient of its input 1 of shape (1,)
    backward failed in div(), which ran here:
    ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before.append(_C.set_anomaly_mode(True, self._check_nan))

    def __exit__(self, *exception: Any) -> None:
        _C.set_anomaly_mode(*self._before.pop())


def is_anomaly_enabled() -> bool:
    """Is anomaly mode on?

    >>> is_anomaly_enabled()
    False
    """
    return _C.is_anomaly_enabled()


def current_stack() -> str:
    """Where Python is, as a traceback; the core keeps it with each op in anomaly mode."""
    frames = traceback.extract_stack(sys._getframe(1))
    return "".join(traceback.format_list(frames))


def add_story(error: BaseException, story: str) -> None:
    """Adds to an exception in which op the backward pass failed."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{story}", *error.args[1:])
    elif hasattr(error, "add_note"):  # since Python 3.11
        error.add_note(story)
