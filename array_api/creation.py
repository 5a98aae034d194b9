"""Creation functions of the standard."""

from __future__ import annotations

from typing import Any

import numpy as np

import relume
from relume import Tensor
from relume.tensor.devices import check_device


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A tensor of numbers, nested sequences, buffers or arrays.

    Args:
        dtype: the element type; by default that of `obj`.
        copy: True: on memory of its own; False: on the memory of `obj`, or ValueError; None: a
            copy only where one is needed.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    check_device(device)
    if isinstance(obj, memoryview):
        obj = np.asarray(obj)
    elif isinstance(obj, bytearray | bytes):
        obj = np.frombuffer(obj, dtype="uint8")
    if copy:
        return relume.tensor(obj, dtype=dtype)
    result = relume.as_tensor(obj, dtype=dtype)
    if copy is False and not _shares_memory(result, obj):
        raise ValueError("asarray(copy=False): this object cannot be shared, only copied")
    return result


def _shares_memory(tensor: Tensor, source: Any) -> bool:
    if isinstance(source, Tensor):
        return tensor.data_ptr() == source.data_ptr()
    return isinstance(source, np.ndarray) and bool(np.shares_memory(tensor.numpy(), source))


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Numbers from `start` (0 when only one is given) up to, not including, `stop`.

    >>> arange(1, 4)
    tensor([1, 2, 3])
    """
    return relume.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose elements are not set."""
    return relume.empty(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros."""
    return relume.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones."""
    return relume.ones(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of one value, of the value's type unless one is given."""
    return relume.full(shape, fill_value, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of the shape and type of `x` whose elements are not set."""
    return relume.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros of the shape and type of `x`."""
    return relume.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones of the shape and type of `x`."""
    return relume.ones_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """One value in the shape and type of `x`."""
    return relume.full_like(x, fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """A matrix with ones on diagonal `k` (0: the main one, above it positive) and zeros elsewhere.

    >>> eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    columns = n_rows if n_cols is None else n_cols
    result = relume.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        relume.diagonal(result, k).fill_(1)
    return result


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, which `endpoint` includes.

    >>> linspace(0, 1, 4, endpoint=False)
    tensor([0.  , 0.25, 0.5 , 0.75])
    """
    if dtype is None and complex in (type(start), type(stop)):
        dtype = relume.result_type(relume.float32, 1j)
    if endpoint:
        return relume.linspace(start, stop, num, dtype=dtype, device=device)
    return relume.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, one tensor for each axis.

    >>> [grid.shape for grid in meshgrid(arange(2), arange(3))]
    [(3, 2), (3, 2)]
    """
    return relume.meshgrid(*arrays, indexing=indexing) if arrays else []


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangle of matrices, zeros above diagonal `k`."""
    return relume.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangle of matrices, zeros below diagonal `k`."""
    return relume.triu(x, k)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or a copy of it."""
    return relume.from_dlpack(x, device=device, copy=copy)
