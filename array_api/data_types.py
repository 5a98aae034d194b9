"""Data types, constants and what the namespace says of itself."""

from __future__ import annotations

import math
from typing import Any

import relume
from relume import Tensor
from relume.tensor import dtypes as _dtypes
from relume.tensor.devices import check_device
from relume.tensor.devices import device as Device
from relume.tensor.dtypes import dtype as DType

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

bool = _dtypes.bool_
_BY_KIND: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_BY_KIND["integral"] = _BY_KIND["signed integer"] + _BY_KIND["unsigned integer"]
_BY_KIND["numeric"] = (
    _BY_KIND["integral"] + _BY_KIND["real floating"] + _BY_KIND["complex floating"]
)
# The types of the standard that relume has, by name.
DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in _dtypes.ALL_DTYPES
    if dtype.name in _BY_KIND["numeric"] + _BY_KIND["bool"]
}


def astype(
    x: Tensor,
    dtype: Any,
    /,
    *,
    copy: Any = True,
    device: Any = None,
) -> Tensor:
    """The tensor in another type; itself when that changes nothing and `copy` is False.

    >>> import relume as rl
    >>> astype(rl.tensor([1.7]), rl.int64)
    tensor([1])
    """
    return x.to(dtype, device=device, copy=copy)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Is a dtype of a kind ("integral", "real floating", ...), or one of several?

    >>> import relume as rl
    >>> isdtype(rl.uint8, "unsigned integer"), isdtype(rl.float32, ("bool", "integral"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _BY_KIND:
            raise ValueError(f"isdtype(): kind must be one of {sorted(_BY_KIND)}, not {kind!r}")
        return dtype.name in _BY_KIND[kind]
    return dtype == kind


def can_cast(from_: Any, to: DType, /) -> Any:
    """Does arithmetic turn this type (or a tensor's) into `to` by itself?"""
    return relume.can_cast(from_, to)


def finfo(type: Any, /) -> Any:
    """Limits of a floating or complex type, or of a tensor's type."""
    return relume.finfo(type)


def iinfo(type: Any, /) -> Any:
    """Limits of an integer type, or of a tensor's type."""
    return relume.iinfo(type)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type that tensors, dtypes and Python numbers have together."""
    return relume.result_type(*arrays_and_dtypes)


class NamespaceInfo:
    """What this namespace can do, as the standard's inspection functions tell it."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and shapes that depend on data work; at most 16 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> Device:
        """The CPU."""
        return Device("cpu")

    def devices(self) -> list[Device]:
        """All devices: the CPU."""
        return [Device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The types of tensors made from Python numbers."""
        check_device(device)
        names = {
            "real floating": "float32",
            "complex floating": "complex64",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: DTYPES[name] for kind, name in names.items() if name in DTYPES}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The types of the standard that relume has, of one kind or of several."""
        check_device(device)
        return {n: dtype for n, dtype in DTYPES.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """Devices, types and capabilities.

    >>> __array_namespace_info__().default_dtypes()["integral"]
    relume.int64
    """
    return NamespaceInfo()
