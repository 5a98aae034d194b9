"""Element types: `relume.float32` and its kin.

They are equal to NumPy's types of the same name, and every `dtype=` argument takes either,
or the name as a string.

>>> import numpy as np, relume as rl
>>> rl.float32 == np.float32
True
>>> rl.zeros(2, dtype="int64").dtype
relume.int64
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import _C


class dtype:
    """An element type.

    Attributes:
        name: "float32", "int64", ...
        itemsize: bytes of one element.
        torch_typename: Torch7's name of the tensor type, "torch.FloatTensor"; None for the types
            that Torch7 did not have (bool, bfloat16).
        numpy: the NumPy dtype, None for bfloat16.
        is_floating_point: True for the floating types.
        is_complex: True for complex64 and complex128.
    """

    __slots__ = ("is_complex", "is_floating_point", "itemsize", "name", "numpy", "torch_typename")

    def __init__(self, name: str, itemsize: int, torch_name: str | None) -> None:
        self.name = name
        self.itemsize = itemsize
        self.torch_typename = f"torch.{torch_name}Tensor" if torch_name else None
        self.numpy = None if name == "bfloat16" else np.dtype(name)
        self.is_floating_point = "float" in name
        self.is_complex = "complex" in name

    @property
    def dtype(self) -> Any:
        """The NumPy dtype; where it looks, so that `np.zeros(2, dtype=relume.float32)` works."""
        if self.numpy is None:
            raise AttributeError("NumPy has no bfloat16")
        return self.numpy

    def __repr__(self) -> str:
        return f"relume.{self.name}"

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, dtype):
            return self is other
        if isinstance(other, str):
            return self.name == other
        if self.numpy is None or other is None:
            return NotImplemented
        try:
            return bool(self.numpy == other)
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.numpy) if self.numpy is not None else hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return find_dtype, (self.name,)


# In the order of the core's enum DType.
ALL_DTYPES = [
    dtype("bool", 1, None),
    dtype("uint8", 1, "Byte"),
    dtype("int8", 1, "Char"),
    dtype("int16", 2, "Short"),
    dtype("int32", 4, "Int"),
    dtype("int64", 8, "Long"),
    dtype("float16", 2, "Half"),
    dtype("bfloat16", 2, None),
    dtype("float32", 4, "Float"),
    dtype("float64", 8, "Double"),
    dtype("complex64", 8, None),
    dtype("complex128", 16, None),
]
_C.register_dtypes(ALL_DTYPES)
bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = ALL_DTYPES[:10]
complex64, complex128 = ALL_DTYPES[10:]

# PyTorch's other names, with which `relume.float` is a dtype and no Python type.
SECOND_NAMES = {
    "bool": bool_,
    "cdouble": complex128,
    "cfloat": complex64,
    "double": float64,
    "float": float32,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
}


def get_default_dtype() -> dtype:
    """The floating type of what has none: `zeros(2)`, Python's floats, roots of integers.

    >>> get_default_dtype()
    relume.float32
    """
    return _C.default_float()


def set_default_dtype(d: Any) -> None:
    """Makes float32 (at first) or float64 the floating type of what has none, for all threads.

    Complex numbers without a type follow: complex64 or complex128.

    Raises:
        TypeError: another type.

    >>> import relume as rl
    >>> set_default_dtype(rl.float64)
    >>> rl.tensor(0.5).dtype
    relume.float64
    >>> set_default_dtype(rl.float32)
    """
    _C.set_default_float(d)


def find_dtype(name: Any) -> dtype:
    """The dtype of a name, a NumPy dtype or a dtype. ValueError when there is none.

    >>> find_dtype("float64")
    relume.float64
    """
    for candidate in ALL_DTYPES:
        if candidate is name or candidate.name == name:
            return candidate
    numpy_name = np.dtype(name).name
    for candidate in ALL_DTYPES:
        if candidate.name == numpy_name:
            return candidate
    raise ValueError(f"relume has no dtype {numpy_name}")
