"""Turning the tape off and on, for the calling thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from relume import _C


class set_grad_enabled:
    """Turns recording on or off: at once, until the end of a `with` block, or in a function.

    >>> import relume as rl
    >>> x = rl.tensor([1.0], requires_grad=True)
    >>> with rl.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._before = _C.set_grad_enabled(mode)

    def __enter__(self) -> None:
        _C.set_grad_enabled(self._mode)

    def __exit__(self, *exception: Any) -> None:
        _C.set_grad_enabled(self._before)


class _Scope:
    """A grad mode for a `with` block or, as a decorator, for a function."""

    _mode: bool
    _stack: list[bool]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        self._stack = []
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self._stack.append(_C.set_grad_enabled(self._mode))

    def __exit__(self, *exception: Any) -> None:
        _C.set_grad_enabled(self._stack.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        mode = self._mode
        if inspect.isgeneratorfunction(function):
            return _generator_with_mode(function, mode)

        @functools.wraps(function)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            before = _C.set_grad_enabled(mode)
            try:
                return function(*arguments, **options)
            finally:
                _C.set_grad_enabled(before)

        return wrapped


def _generator_with_mode(function: Callable[..., Any], mode: bool) -> Callable[..., Any]:
    """The mode holds while the generator runs, and not between its steps."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        generator = function(*arguments, **options)
        step: Callable[..., Any] = generator.send
        value: Any = None
        while True:
            before = _C.set_grad_enabled(mode)
            try:
                result = step(value)
            except StopIteration as end:
                return end.value
            finally:
                _C.set_grad_enabled(before)
            try:
                step, value = generator.send, (yield result)
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                step, value = generator.throw, error

    return wrapped


class no_grad(_Scope):
    """Nothing is recorded inside: a `with` block, or a decorator `@no_grad()` or `@no_grad`.

    >>> import relume as rl
    >>> x = rl.tensor([1.0], requires_grad=True)
    >>> with rl.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _mode = False


class enable_grad(_Scope):
    """Recording is on inside, also within `no_grad`; used like `no_grad`."""

    _mode = True


def is_grad_enabled() -> bool:
    """Does the calling thread record?"""
    return _C.is_grad_enabled()
