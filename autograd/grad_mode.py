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
    """Modes of the thread for a `with` block or, as a decorator, for a function."""

    _stack: list[Any]

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        self._stack = []
        return self if function is None else self(function)

    def _set(self) -> Any:
        """Sets the modes and returns what they were."""
        raise NotImplementedError

    def _restore(self, before: Any) -> None:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._stack.append(self._set())

    def __exit__(self, *exception: Any) -> None:
        self._restore(self._stack.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return _generator_with_mode(function, self)

        @functools.wraps(function)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            before = self._set()
            try:
                return function(*arguments, **options)
            finally:
                self._restore(before)

        return wrapped


def _generator_with_mode(function: Callable[..., Any], scope: _Scope) -> Callable[..., Any]:
    """The mode holds while the generator runs, and not between its steps."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        generator = function(*arguments, **options)
        step: Callable[..., Any] = generator.send
        value: Any = None
        while True:
            before = scope._set()
            try:
                result = step(value)
            except StopIteration as end:
                return end.value
            finally:
                scope._restore(before)
            try:
                step, value = generator.send, (yield result)
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:
                step, value = generator.throw, error

    return wrapped


class _GradScope(_Scope):
    _mode: bool

    def _set(self) -> bool:
        return _C.set_grad_enabled(self._mode)

    def _restore(self, before: bool) -> None:
        _C.set_grad_enabled(before)


class no_grad(_GradScope):
    """Nothing is recorded inside: a `with` block, or a decorator `@no_grad()` or `@no_grad`.

    >>> import relume as rl
    >>> x = rl.tensor([1.0], requires_grad=True)
    >>> with rl.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _mode = False


class enable_grad(_GradScope):
    """Recording is on inside, also within `no_grad`; used like `no_grad`."""

    _mode = True


class inference_mode(_Scope):
    """Nothing is recorded inside, not even within `enable_grad`; used like `no_grad`.

    Args:
        mode: False turns recording on again within an outer `inference_mode`.

    >>> import relume as rl
    >>> x = rl.tensor([1.0], requires_grad=True)
    >>> with rl.inference_mode(), rl.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _mode: bool

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        function = None if isinstance(mode, bool) else mode
        self = super().__new__(cls)
        self._mode = mode if function is None else True
        return self if function is None else self(function)

    def _set(self) -> Any:
        return _C.set_inference_mode(self._mode, not self._mode)

    def _restore(self, before: Any) -> None:
        _C.set_inference_mode(*before)


def is_inference_mode_enabled() -> bool:
    """Is the calling thread in inference mode?

    >>> is_inference_mode_enabled()
    False
    """
    return _C.is_inference_mode_enabled()


def is_grad_enabled() -> bool:
    """Does the calling thread record?"""
    return _C.is_grad_enabled()
