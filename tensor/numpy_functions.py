"""NumPy's ufuncs and functions on tensors: `np.exp(t)`, `np.mean(t, axis=0)`.

Where relume has the function, it computes, on the tape, and gives tensors. Everything else NumPy
computes on the memory of the tensors: ufuncs give tensors again, other functions what NumPy gives.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.aliases import ALIASES

# The registered op behind a ufunc, where its name is another one: our aliases are NumPy's names.
_OPS_OF_UFUNCS = {**ALIASES, "equal": "eq", "float_power": "float_power"}
del _OPS_OF_UFUNCS["fabs"]  # NumPy's makes floats of integers
_UFUNCS_WITH_OPS = frozenset(
    "add bitwise_and bitwise_or bitwise_xor ceil copysign cos cosh deg2rad exp exp2 expm1 "
    "floor floor_divide fmax fmin fmod gcd heaviside hypot isfinite isinf isnan lcm ldexp log "
    "log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul "
    "maximum minimum nextafter rad2deg reciprocal remainder sign signbit sin sinh sqrt square tan "
    "tanh trunc".split()
)

# Functions of the array API whose NumPy name is another one.
_STANDARD_NAMES = {
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "transpose": "permute_dims",
}
# Functions of relume that take what NumPy's take.
_SAME_IN_RELUME = frozenset("einsum fliplr flipud inner kron rot90 outer trapezoid".split())
# Without an axis NumPy reads all elements as one row; the standard's functions do not.
_WITHOUT_AXIS_A_ROW = frozenset("argsort cumprod cumsum sort take".split())
_LISTS_IN_RELUME = frozenset("column_stack dstack hstack vstack".split())


def _op_of(ufunc: np.ufunc) -> Any:
    name = ufunc.__name__
    return _C.ops.get(_OPS_OF_UFUNCS.get(name, name if name in _UFUNCS_WITH_OPS else ""))


def array_ufunc(tensor: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Tensor.__array_ufunc__: the op of that name, or NumPy's loop on the same memory.

    >>> import numpy as np, relume as rl
    >>> np.arctan2(rl.tensor([0.0]), 1.0)
    tensor([0.])
    """
    op = _op_of(ufunc)
    if op is not None and method == "__call__" and not options:
        operands = [_C.tensor_from_array(x, False) if type(x) is np.ndarray else x for x in inputs]
        return op(*operands)
    arrays = [_to_numpy(x) for x in inputs]
    out = options.pop("out", None)
    if out is not None:
        getattr(ufunc, method)(*arrays, out=tuple(map(_to_numpy, out)), **options)
        return out[0] if len(out) == 1 else out
    result = getattr(ufunc, method)(*arrays, **options)
    if isinstance(result, tuple):
        return tuple(_C.tensor_from_array(np.asarray(x), False) for x in result)
    return None if result is None else _C.tensor_from_array(np.asarray(result), False)


def array_function(
    tensor: Tensor, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
) -> Any:
    """Tensor.__array_function__: relume's function of that name, or NumPy's on the same memory.

    >>> import numpy as np, relume as rl
    >>> np.mean(rl.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([2., 3.])
    >>> float(np.median(rl.tensor([1.0, 5.0, 9.0])))
    5.0
    """
    call = _own_call(function, args, kwargs)
    if call is not None:
        return call()
    return function(*_to_numpy(list(args)), **{key: _to_numpy(x) for key, x in kwargs.items()})


def _own_call(function: Any, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    """A call of relume's function with these arguments; None where it does not take them all."""
    if function.__module__ != "numpy" or not _holds_only_tensors(args):
        return None
    name = function.__name__
    if name in _LISTS_IN_RELUME:
        relume = importlib.import_module("relume")
        return functools.partial(getattr(relume, name), list(args[0])) if not kwargs else None
    if name in _SAME_IN_RELUME:
        relume = importlib.import_module("relume")
        return functools.partial(getattr(relume, name), *args) if not kwargs else None
    standard = importlib.import_module("relume.array_api")
    own = getattr(standard, _STANDARD_NAMES.get(name, name), None)
    if own is None or not callable(own):
        return None
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
        positional, keywords = [], {}
        for parameter in given.signature.parameters.values():
            if parameter.name not in given.arguments:
                continue
            value = given.arguments[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.default is parameter.empty:
                positional.append(value)
            else:
                keywords[parameter.name] = value
        if name in _WITHOUT_AXIS_A_ROW:
            axis = given.arguments.get("axis", given.signature.parameters["axis"].default)
            if axis is None and positional[0].ndim != 1:
                return None
        if name in ("std", "var"):
            keywords["correction"] = keywords.pop("ddof", 0)
        inspect.signature(own).bind(*positional, **keywords)
    except (TypeError, ValueError):
        return None
    return functools.partial(own, *positional, **keywords)


def _holds_only_tensors(args: Any) -> bool:
    """Is every array among the arguments a tensor? Mixed ones are NumPy's to join."""
    if isinstance(args, list | tuple):
        return all(_holds_only_tensors(x) for x in args)
    return not isinstance(args, np.ndarray)


def _to_numpy(value: Any) -> Any:
    """Tensors, also inside of lists and tuples, as arrays on their memory."""
    if isinstance(value, Tensor):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_to_numpy, value))
    return value
