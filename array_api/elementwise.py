"""Element-wise functions of the standard: the registered ops under its names.

Every function takes tensors by position; of two operands one may be a Python number.
"""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor

_ops = _C.ops

# Name in the standard -> registered op.
_UNARY = {
    "abs": "abs",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "bitwise_invert": "bitwise_not",
    "ceil": "ceil",
    "conj": "conj",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "expm1": "expm1",
    "floor": "floor",
    "imag": "imag",
    "isfinite": "isfinite",
    "isinf": "isinf",
    "isnan": "isnan",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "logical_not": "logical_not",
    "negative": "neg",
    "real": "real",
    "reciprocal": "reciprocal",
    "round": "round",
    "sign": "sign",
    "signbit": "signbit",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "square": "square",
    "tan": "tan",
    "tanh": "tanh",
    "trunc": "trunc",
}
_BINARY = {
    "add": "add",
    "atan2": "atan2",
    "bitwise_and": "bitwise_and",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "bitwise_right_shift",
    "bitwise_xor": "bitwise_xor",
    "copysign": "copysign",
    "divide": "div",
    "equal": "eq",
    "floor_divide": "floor_divide",
    "greater": "gt",
    "greater_equal": "ge",
    "hypot": "hypot",
    "less": "lt",
    "less_equal": "le",
    "logaddexp": "logaddexp",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "mul",
    "nextafter": "nextafter",
    "not_equal": "ne",
    "pow": "pow",
    "remainder": "remainder",
    "subtract": "sub",
}


def _described(function: Any, name: str, op: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's {name}: relume.{op}."
    return function


def _unary(name: str, op_name: str) -> Any:
    op = _ops[op_name]

    def function(x: Tensor, /) -> Tensor:
        return op(x)

    return _described(function, name, op_name)


def _binary(name: str, op_name: str) -> Any:
    op = _ops[op_name]

    def function(x1: Any, x2: Any, /) -> Tensor:
        return op(x1, x2)

    return _described(function, name, op_name)


def positive(x: Tensor, /) -> Tensor:
    """The elements as they are, in a tensor of their own."""
    return x.clone()


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` become `min`, those above `max` become `max`; the type stays.

    >>> import relume as rl
    >>> clip(rl.tensor([1, 5, 9]), 2, 7)
    tensor([2, 5, 7])
    """
    result = x
    if min is not None:
        result = _ops["maximum"](result, min)
    if max is not None:
        result = _ops["minimum"](result, max)
    return x.clone() if result is x else result.to(x.dtype)


FUNCTIONS = {name: _unary(name, op) for name, op in _UNARY.items()}
FUNCTIONS |= {name: _binary(name, op) for name, op in _BINARY.items()}
FUNCTIONS |= {"clip": clip, "positive": positive}
