"""Tensors from Python data, NumPy arrays and other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.devices import check_device
from relume.tensor.dtypes import dtype as DType
from relume.tensor.dtypes import find_dtype


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


def scalar_tensor(
    value: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """A 0-d tensor: of the default floating type, unless `dtype` says otherwise.

    >>> scalar_tensor(3)
    tensor(3.)
    """
    kind = _C.default_float() if dtype is None else dtype
    return tensor(value, kind, device, requires_grad)


def asarray(
    obj: Any,
    *,
    dtype: DType | str | None = None,
    device: str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor: shared where possible, always copied (copy=True) or never (copy=False).

    Args:
        obj: what `tensor` takes, or an object with `__dlpack__`.

    Raises:
        ValueError: copy=False, and only a copy is possible.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    check_device(device)
    if isinstance(obj, Tensor):
        source = obj
    elif isinstance(obj, np.ndarray):
        source = from_numpy(obj) if copy is False else _C.tensor_from_array(obj, False)
    elif hasattr(obj, "__dlpack__"):
        source = from_dlpack(obj)
    elif copy is False:
        raise ValueError(f"asarray() cannot share the memory of {type(obj).__name__}")
    else:
        source, copy = _C.tensor_from_data(obj, dtype), None
    result = source if dtype is None else source.to(dtype)
    if copy is False and result is not source:
        raise ValueError(f"asarray() cannot make {result.dtype} of {source.dtype} without a copy")
    if copy and result is source:
        result = result.clone()
    return result.detach().requires_grad_() if requires_grad else result


def frombuffer(
    buffer: Any,
    *,
    dtype: Any,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one dimension on the memory of a buffer: bytearray, mmap, array.array, ...

    Args:
        dtype: how to read the bytes.
        count: elements; all when -1.
        offset: bytes to skip.

    Raises:
        ValueError: a buffer that is read-only (bytes; copy it into a bytearray), or too short.

    >>> frombuffer(bytearray(b"\\x01\\x02\\x03"), dtype="uint8", offset=1)
    tensor([2, 3], dtype=uint8)
    """
    memory = np.frombuffer(buffer, np.uint8, offset=offset)
    if not memory.flags.writeable:
        raise ValueError("frombuffer() needs memory that can be written; bytes are read-only")
    kind = find_dtype(dtype)
    available, rest = divmod(memory.size, kind.itemsize)
    if count < 0 and rest:
        raise ValueError(
            f"frombuffer(): {memory.size} bytes are no whole number of {kind.name} elements"
        )
    if count > available:
        raise ValueError(f"frombuffer(): the buffer holds {available} elements, not {count}")
    memory = memory[: (available if count < 0 else count) * kind.itemsize]
    if kind.numpy is None or memory.ctypes.data % kind.itemsize:
        result = _C.ops["view_bytes"](from_numpy(memory.copy()), kind)
    else:
        result = _C.ops["view_bytes"](from_numpy(memory), kind)
    return result.requires_grad_() if requires_grad else result


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


FUNCTIONS = (asarray, frombuffer, scalar_tensor)
