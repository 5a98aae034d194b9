"""Tensors from Python data, NumPy arrays and other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.devices import check_device
from relume.tensor.dtypes import dtype as DType


def tensor(
    data: Any,
    dtype: DType | str | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`.

    Args:
        data: a number, nested lists or tuples of numbers, a NumPy array or a tensor. Without
            `dtype`, Python ints give int64, floats float32, bools bool; arrays and tensors keep
            their type (uint16 becomes int32, uint32 int64).
        dtype: the element type.
        device: "cpu".
        requires_grad: record what is done with it.

    Returns:
        A tensor of the shape of the nesting, on memory of its own.

    Raises:
        ValueError: nested lists of different lengths.
        TypeError: something that is no number.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    check_device(device)
    if isinstance(data, np.generic):  # np.float64 is a Python float too, which would be float32
        data = np.asarray(data)
    result = _C.tensor_from_data(data, dtype)
    return result.requires_grad_() if requires_grad else result


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array: a change of one is seen in the other.

    Args:
        array: any shape, with any strides that are multiples of the item size (negative ones too).

    Raises:
        TypeError: not an array, or of a type that relume does not have (uint16, longdouble, ...).
        ValueError: read-only memory, byte-swapped or unaligned strides; copy it with `tensor()`.

    >>> a = np.zeros(3)
    >>> t = from_numpy(a)
    >>> a[0] = 7
    >>> t
    tensor([7., 0., 0.], dtype=float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy() expects a numpy.ndarray, not {type(array).__name__}")
    return _C.tensor_from_array(array, True)


def as_tensor(data: Any, dtype: DType | str | None = None, device: str | None = None) -> Tensor:
    """`data` as a tensor, on the same memory where that is possible, else a copy.

    A tensor comes back as it is; arrays are shared unless their type or layout forbids it or
    `dtype` differs.

    >>> t = tensor([1.0])
    >>> as_tensor(t) is t
    True
    """
    check_device(device)
    if not isinstance(data, Tensor):
        if isinstance(data, np.ndarray):
            data = _C.tensor_from_array(data, False)
        else:
            return _C.tensor_from_data(data, dtype)
    return data if dtype is None else data.to(dtype)


def from_dlpack(source: Any, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array (PyTorch, JAX, CuPy, ...).

    Args:
        source: an object with `__dlpack__`, or a DLPack capsule.
        device: "cpu".
        copy: True always copies, None and False share.

    >>> from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    check_device(device)
    if not hasattr(source, "__dlpack__"):
        capsule = source
    else:
        try:
            capsule = source.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer from before DLPack 1.0
            capsule = source.__dlpack__()
    result = _C.from_dlpack_capsule(capsule)
    return result.clone() if copy else result
