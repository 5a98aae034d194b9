"""What element types can hold and what they become together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.dtypes import bfloat16, dtype, find_dtype

# NumPy lacks bfloat16: 8 bits of exponent as float32 has, 8 bits of significand.
_BFLOAT16 = {
    "bits": 16,
    "eps": 2.0**-7,
    "max": (2 - 2.0**-7) * 2.0**127,
    "min": -(2 - 2.0**-7) * 2.0**127,
    "smallest_normal": 2.0**-126,
    "resolution": 0.01,
}


@dataclass(frozen=True)
class FloatLimits:
    """Limits of a floating type; of a complex one those of its parts."""

    dtype: dtype
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    resolution: float

    @property
    def tiny(self) -> float:
        """Another name of smallest_normal."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerLimits:
    """Limits of an integer type."""

    dtype: dtype
    bits: int
    max: int
    min: int


def _dtype_of(value: Any) -> dtype:
    return value.dtype if isinstance(value, Tensor) else find_dtype(value)


def finfo(type: Any) -> FloatLimits:
    """Limits of a floating or complex type, or of a tensor's type.

    Raises:
        TypeError: a type of integers.

    >>> import relume as rl
    >>> rl.finfo(rl.float32).eps
    1.1920928955078125e-07
    >>> rl.finfo("bfloat16").bits
    16
    """
    kind = _dtype_of(type)
    if kind == bfloat16:
        return FloatLimits(dtype=kind, **_BFLOAT16)  # type: ignore[arg-type]
    if kind.numpy is None or kind.numpy.kind not in "fc":
        raise TypeError(f"finfo() needs a floating type, not {kind.name}; use iinfo")
    limits = np.finfo(kind.numpy)
    return FloatLimits(
        dtype=find_dtype(limits.dtype),
        bits=limits.bits,
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        resolution=float(limits.resolution),
    )


def iinfo(type: Any) -> IntegerLimits:
    """Limits of an integer type, or of a tensor's type.

    Raises:
        TypeError: a type that is not of integers.

    >>> import relume as rl
    >>> rl.iinfo(rl.uint8).max
    255
    """
    kind = _dtype_of(type)
    if kind.numpy is None or kind.numpy.kind not in "iu":
        raise TypeError(f"iinfo() needs an integer type, not {kind.name}; use finfo")
    limits = np.iinfo(kind.numpy)
    return IntegerLimits(kind, limits.bits, int(limits.max), int(limits.min))


def result_type(*operands: Any) -> dtype:
    """The type that tensors, dtypes and Python numbers have together in arithmetic.

    Python numbers count only where their kind exceeds that of all tensors and dtypes.

    >>> import relume as rl
    >>> rl.result_type(rl.int8, rl.ones(2, dtype="int32"))
    relume.int32
    >>> rl.result_type(rl.float32, 2)
    relume.float32
    """
    if not operands:
        raise ValueError("result_type() needs at least one tensor, dtype or number")
    numbers = [x for x in operands if isinstance(x, bool | int | float | complex)]
    kinds = [_dtype_of(x) for x in operands if not isinstance(x, bool | int | float | complex)]
    if not kinds:
        return _C.tensor_from_data(numbers, None).dtype
    joined = _none_of(kinds[0])
    for kind in kinds[1:]:
        joined = _C.ops["where"](_NOTHING, joined, _none_of(kind))
    for number in numbers:
        joined = _C.ops["where"](_NOTHING, joined, number)
    return joined.dtype


def _none_of(kind: dtype) -> Tensor:
    return _C.ops["empty"]((0,), dtype=kind)


_NOTHING = _C.ops["empty"]((0,), dtype="bool")


def promote_types(type1: Any, type2: Any) -> dtype:
    """The type that two dtypes have together.

    >>> import relume as rl
    >>> rl.promote_types("uint8", "int8")
    relume.int16
    """
    return result_type(find_dtype(type1), find_dtype(type2))


def can_cast(from_: Any, to: Any) -> bool:
    """Does arithmetic turn this type (or a tensor's) into `to` by itself?

    >>> import relume as rl
    >>> rl.can_cast(rl.int32, rl.int64), rl.can_cast(rl.float64, rl.float32)
    (True, False)
    """
    return result_type(_dtype_of(from_), find_dtype(to)) == find_dtype(to)


FUNCTIONS = (can_cast, finfo, iinfo, promote_types, result_type)
