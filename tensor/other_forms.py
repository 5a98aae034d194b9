"""Forms of calls that the schema of an op does not have: `x.var(True)`, `x.view(rl.int32)`.

The function of an op hands a call that its schema refuses to its other form, which computes it, or
returns NotImplemented; then the error of the schema stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.dtypes import dtype

_ops = _C.ops

# What `scatter` calls its ways of joining, and what `scatter_reduce` does.
_JOINING = {"add": "sum", "multiply": "prod"}


def _of_type(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
    """`view(type)`, `view(dtype=type)`: the same bytes as elements of another type."""
    kinds = [*arguments, *(value for name, value in options.items() if name == "dtype")]
    if len(kinds) != 1 or len(options) != len(kinds) - len(arguments):
        return NotImplemented
    if not isinstance(kinds[0], dtype | np.dtype | str | type):
        return NotImplemented
    return _ops["view_bytes"](tensor, kinds[0])


def _unbiased_by_position(name: str) -> Callable[..., Any]:
    """`f(input, unbiased)` and `f(input, dim, unbiased, keepdim)` by position; NumPy's `ddof`."""

    def statistics(input: Tensor, *arguments: Any, **options: Any) -> Any:
        if "ddof" in options and not options.keys() & {"correction", "unbiased"}:
            return _ops[name](input, *arguments, correction=options.pop("ddof"), **options)
        places = ("unbiased",) if len(arguments) == 1 else ("dim", "unbiased", "keepdim")
        given = dict(zip(places, arguments, strict=False))
        is_this = isinstance(given.get("unbiased"), bool) and len(arguments) <= len(places)
        if not is_this or given.keys() & options.keys():
            return NotImplemented
        return _ops[name](input, **given, **options)

    return statistics


def _converted_first(name: str) -> Callable[..., Any]:
    """`f(input, dim, dtype)`: of the input in another type."""

    def converted(input: Tensor, dim: int, dtype: Any = None, **options: Any) -> Any:
        if options or dtype is None or not isinstance(input, Tensor):
            return NotImplemented
        return _ops[name](input.to(dtype), dim)

    return converted


def _cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None, **options: Any
) -> Any:
    """`cdist(x1, x2, p, compute_mode)`: relume chooses how it computes by itself."""
    if options or compute_mode is None:
        return NotImplemented
    return _ops["cdist"](x1, x2, p)


def _scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Any:
    """`scatter(..., value=)` and `scatter(..., reduce="add" or "multiply")`."""
    if (src is None) == (value is None):
        return NotImplemented
    source = value if src is None else src
    if reduce is None and value is None:
        return NotImplemented  # what the schema has
    if reduce is None:
        return _ops["scatter"](input, dim, index, source)
    if reduce not in _JOINING:
        raise ValueError(f"scatter(): reduce must be 'add' or 'multiply', not {reduce!r}")
    if not isinstance(source, Tensor):
        source = _ops["full_like"](index, source, dtype=input.dtype)
    return _ops["scatter_reduce"](input, dim, index, source, _JOINING[reduce])


def _scatter_in_place(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
    if not isinstance(tensor, Tensor):
        return NotImplemented
    # What the derivative needs of the input is kept in a copy.
    source = tensor.clone() if tensor.requires_grad else tensor
    result = _scatter(source, *arguments, **options)
    return result if result is NotImplemented else tensor.copy_(result)


def _where_it_fits(form: Callable[..., Any]) -> Callable[..., Any]:
    """The form, which leaves calls that it has no arguments for to the error of the schema."""
    signature = inspect.signature(form)

    def guarded(*arguments: Any, **options: Any) -> Any:
        try:
            signature.bind(*arguments, **options)
        except TypeError:
            return NotImplemented
        return form(*arguments, **options)

    return guarded


def install() -> None:
    """Gives the functions of ops their other forms."""
    forms: dict[str, Callable[..., Any]] = {
        "cdist": _cdist,
        "view": _of_type,
        "scatter": _scatter,
        **{name: _unbiased_by_position(name) for name in ("var", "std", "var_mean", "std_mean")},
        **{name: _converted_first(name) for name in ("softmax", "log_softmax")},
    }
    for name, form in forms.items():
        _C.set_other_form(_ops[name], _where_it_fits(form))
    _C.set_other_form(Tensor.__dict__["scatter_"], _where_it_fits(_scatter_in_place))
