"""pickle, copy and deepcopy of tensors: tensors that share a storage go on sharing it."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Storage, Tensor


def _rebuild(
    kind: type[Tensor],
    storage: Storage | None,
    dtype: Any,
    place: tuple[int, tuple[int, ...], tuple[int, ...]],
    requires_grad: bool,
    grad: Tensor | None,
) -> Tensor:
    if storage is None:
        result = _C.ops["empty"](place[1], dtype=dtype)
    else:
        result = _C.tensor_on_storage(storage, *place, dtype)
    if kind is not Tensor:
        result = kind.__new__(kind, result)
    result.requires_grad_(requires_grad)
    result.grad = grad
    return result


def parts_of(tensor: Tensor, grad: Tensor | None) -> tuple[Any, ...]:
    """What pickle makes of a tensor, with `grad` as its gradient."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that the tape made cannot be pickled or deep-copied; use t.detach()"
        )
    place = (tensor.storage_offset(), tensor.shape, tensor.stride())
    parts = (type(tensor), tensor.storage(), tensor.dtype, place, tensor.requires_grad, grad)
    state = getattr(tensor, "__dict__", None)
    return (_rebuild, parts, state) if state else (_rebuild, parts)


def _reduce(tensor: Tensor, _protocol: int) -> tuple[Any, ...]:
    return parts_of(tensor, tensor.grad)


def rebuild_storage(data: bytes, dtype: str) -> Storage:
    """A storage from its pickle."""
    return _C.storage_from_bytes(data, dtype)


def find_op_function(name: str, form: int) -> Any:
    """An op function from its pickle."""
    return _C.op_function(name, form)


def install() -> None:
    """Adds pickling to Tensor."""
    setattr(Tensor, "__reduce_ex__", _reduce)  # noqa: B010
