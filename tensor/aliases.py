"""Second names of ops, as NumPy and PyTorch have them: functions, methods and in-place methods."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "around": "round",
    "bitwise_invert": "bitwise_not",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "conj_physical": "conj",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "divide": "div",
    "fabs": "abs",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "igamma": "gammainc",
    "igammac": "gammaincc",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "less": "lt",
    "less_equal": "le",
    "mod": "remainder",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "row_stack": "vstack",
    "sgn": "sign",
    "subtract": "sub",
    "trapz": "trapezoid",
    "true_divide": "div",
}


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """The element, at most `max`: a number or a tensor.

    >>> import relume as rl
    >>> rl.clamp_max(rl.tensor([1, 5]), 3)
    tensor([1, 3])
    """
    return _C.ops["clamp"](input, None, max)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """The element, at least `min`: a number or a tensor.

    >>> import relume as rl
    >>> rl.clamp_min(rl.tensor([1, 5]), 3)
    tensor([3, 5])
    """
    return _C.ops["clamp"](input, min, None)


def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    >>> import relume as rl
    >>> rl.positive(rl.tensor([-1]))
    tensor([-1])
    """
    return input


def cbrt(input: Tensor) -> Tensor:
    """The cube root, also of numbers below 0.

    >>> import relume as rl
    >>> rl.cbrt(rl.tensor([-8.0, 27.0]))
    tensor([-2.,  3.])
    """
    return _C.ops["copysign"](_C.ops["pow"](_C.ops["abs"](input), 1 / 3), input)


def _polygamma(tensor: Tensor, n: int) -> Tensor:
    """relume.polygamma(n, tensor)."""
    return _C.ops["polygamma"](n, tensor)


FUNCTIONS = (cbrt, clamp_max, clamp_min, positive)


def functions() -> dict[str, Any]:
    """The aliases as functions of `relume`."""
    functions = {alias: _C.ops[name] for alias, name in ALIASES.items() if name in _C.ops}
    in_place = [f"{alias}_" for alias in ALIASES]
    return functions | {name: getattr(Tensor, name) for name in in_place if hasattr(Tensor, name)}


def install() -> None:
    """Adds the aliases to Tensor, and methods whose tensor is not the first argument."""
    for alias, name in ALIASES.items():
        for suffix in ("", "_"):
            method = getattr(Tensor, name + suffix, None)
            if method is not None and not hasattr(Tensor, alias + suffix):
                setattr(Tensor, alias + suffix, method)
    for function in FUNCTIONS:
        setattr(Tensor, function.__name__, function)
    Tensor.polygamma = _polygamma
    more = {
        "igamma": _C.ops["gammainc"],
        "igammac": _C.ops["gammaincc"],
        "igamma_": lambda tensor, other: tensor.copy_(tensor.clone().igamma(other)),
        "igammac_": lambda tensor, other: tensor.copy_(tensor.clone().igammac(other)),
        "polygamma_": lambda tensor, n: tensor.copy_(tensor.clone().polygamma(n)),
        "clamp_max_": lambda tensor, max: tensor.clamp_(None, max),
        "clamp_min_": lambda tensor, min: tensor.clamp_(min, None),
    }
    for name, method in more.items():
        setattr(Tensor, name, method)
