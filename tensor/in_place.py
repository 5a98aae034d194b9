"""In-place forms of ops that are neither elementwise nor registered in place.

An op whose result has the shape of its first argument gets a method `name_` that writes the result
back. A view op gets one that makes the tensor itself look as the view would.
"""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor

_ops = _C.ops

# Ops whose result replaces their first argument.
_REPLACING = (
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "cumprod",
    "cumsum",
    "float_power",
    "index_reduce",
    "mvlgamma",
    "renorm",
    "tril",
    "triu",
)
# View ops that become the tensor's own shape and strides.
_RESHAPING = (
    "as_strided",
    "movedim",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unsqueeze",
)


def _replacing(name: str) -> Any:
    op = _ops[name]

    def in_place(tensor: Tensor, *arguments: Any, **options: Any) -> Tensor:
        # What the derivative needs of the input is kept in a copy.
        source = tensor.clone() if tensor.requires_grad else tensor
        return tensor.copy_(op(source, *arguments, **options))

    in_place.__doc__ = f"{op.schema}\n\nWrites the result into the tensor and returns it."
    return in_place


def _reshaping(name: str) -> Any:
    op = _ops[name]

    def in_place(tensor: Tensor, *arguments: Any, **options: Any) -> Tensor:
        return tensor._become_view(op(tensor, *arguments, **options))

    in_place.__doc__ = f"{op.schema}\n\nGives the tensor itself this shape and returns it."
    return in_place


def _set(
    tensor: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Looks at the memory of another tensor or storage from now on, and returns itself.

    Args:
        source: a tensor or a Storage of the same type; None for no elements.
        storage_offset, size, stride: where in the storage, for a Storage (in elements).

    >>> import relume as rl
    >>> a, b = rl.zeros(2), rl.ones(3)
    >>> a.set_(b)
    tensor([1., 1., 1.])
    """
    if source is None:
        source = tensor.new_empty(0)
    elif not isinstance(source, Tensor):
        source = source.tensor()
        if size is not None:
            steps = _row_major(size) if stride is None else stride
            source = source.as_strided(size, steps, storage_offset)
    tensor.data = source
    return tensor


def _row_major(size: Any) -> list[int]:
    strides = [1]
    for length in tuple(size)[:0:-1]:
        strides.append(strides[-1] * length)
    return strides[::-1] if len(tuple(size)) else []


def functions() -> dict[str, Any]:
    """The in-place forms as functions, as PyTorch has them: relume.exp_(t)."""
    names = [f"{row['name']}_" for row in _C.registry() if row["has_in_place_form"]]
    names += ["fill_", "zero_"]
    return {name: getattr(Tensor, name) for name in names if hasattr(Tensor, name)}


def install() -> None:
    """Adds the methods to Tensor."""
    for name in _REPLACING:
        if name in _ops and not hasattr(Tensor, f"{name}_"):
            setattr(Tensor, f"{name}_", _named(_replacing(name), f"{name}_"))
    for name in _RESHAPING:
        setattr(Tensor, f"{name}_", _named(_reshaping(name), f"{name}_"))
    Tensor.set_ = _set


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    return function
