"""Torch7's and PyTorch's names of tensors by their type: `FloatTensor`, `LongTensor`, ...

>>> import relume as rl
>>> rl.LongTensor([1, 2]).dtype
relume.int64
>>> isinstance(rl.ones(2), rl.FloatTensor)
True
"""

from __future__ import annotations

from typing import Any

from relume import _C
from relume.tensor.creation import tensor
from relume.tensor.dtypes import ALL_DTYPES, bfloat16, bool_

Tensor: Any = _C.Tensor


class TypedTensor(type):
    """The class of `FloatTensor` and its kin, whose instances are the tensors of one type."""

    dtype: Any

    def __call__(cls, *arguments: Any) -> Any:
        """An unset tensor of sizes, as in `FloatTensor(2, 3)`, or one of the numbers given."""
        if all(isinstance(argument, int) for argument in arguments):
            return _C.ops["empty"](arguments or (0,), dtype=cls.dtype)
        if len(arguments) > 1:
            raise TypeError(f"{cls.__name__} takes data or sizes, not {len(arguments)} arguments")
        data = arguments[0]
        if isinstance(data, Tensor):
            return data.to(cls.dtype)
        return tensor(data, dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


_NAMES = {
    kind.torch_typename.removeprefix("torch."): kind for kind in ALL_DTYPES if kind.torch_typename
} | {"BoolTensor": bool_, "BFloat16Tensor": bfloat16}

TYPED_TENSORS = {
    name: TypedTensor(name, (), {"dtype": kind, "__doc__": f"Tensors of {kind.name}."})
    for name, kind in _NAMES.items()
}
