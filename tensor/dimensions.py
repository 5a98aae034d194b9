"""NumPy's and PyTorch's names for the dimensions that a function works along."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# What NumPy calls an argument, and what it may be called here.
_NAMES = {"axis": ("dim", "dims"), "keepdims": ("keepdim",)}


def takes_numpy_names(function: Function) -> Function:
    """The function, which takes `axis` and `keepdims` too where it has `dim` and `keepdim`.

    >>> takes_numpy_names(lambda dim=0: dim)(axis=1)
    1
    """
    own = inspect.signature(function).parameters
    names = {given: name for given, all in _NAMES.items() for name in all if name in own}

    @functools.wraps(function)
    def renamed(*arguments: Any, **options: Any) -> Any:
        for given in options.keys() & names.keys() - own.keys():
            if names[given] in options:
                raise TypeError(f"give either {names[given]} or {given}, not both")
            options[names[given]] = options.pop(given)
        return function(*arguments, **options)

    return cast(Function, renamed)


def chosen_dimension(dim: Any, axis: Any) -> Any:
    """What was given as `dim` or as `axis`; TypeError for both."""
    if dim is not None and axis is not None:
        raise TypeError("give either dim or axis, not both")
    return axis if dim is None else dim
