"""What the functions of this package share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from relume import _C
from relume._C import Tensor

ops: Mapping[str, Callable[..., Any]] = _C.ops


def applied(name: str, input: Tensor, inplace: bool, *arguments: Any) -> Tensor:
    """An element-wise op of the registry, into a new tensor or into `input` itself."""
    if not inplace:
        return ops[name](input, *arguments)
    in_place = getattr(Tensor, f"{name}_", None)
    if in_place is not None:
        return in_place(input, *arguments)
    return input.copy_(ops[name](input.clone(), *arguments))


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that PyTorch's older arguments `size_average` and `reduce` stand for."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    """A loss of tensors of two shapes is nearly always a mistake, (n, 1) against (n) above all."""
    if isinstance(target, Tensor) and input.shape != target.shape:
        warnings.warn(
            f"{name}(): input of shape {input.shape} and target of shape {target.shape} broadcast; "
            "give them one shape",
            stacklevel=3,
        )
