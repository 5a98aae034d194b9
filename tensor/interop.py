"""NumPy and DLPack: the protocols by which other libraries see a Tensor."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.tensor.numpy_functions import array_function, array_ufunc


def numpy(tensor: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array on the tensor's memory: a change of one is seen in the other.

    Args:
        force: give an array in any case: without the gradient, bfloat16 as a float32 copy.

    Raises:
        RuntimeError: the tensor requires a gradient; use `t.detach().numpy()`.
        TypeError: bfloat16, which NumPy does not have; use `t.float().numpy()`.

    >>> import relume as rl
    >>> rl.arange(3).numpy()
    array([0, 1, 2])
    """
    if force:
        tensor = tensor.detach()
        tensor = tensor.float() if tensor.dtype.numpy is None else tensor
    if tensor.requires_grad:
        raise RuntimeError("numpy() would lose the gradient of this tensor; use t.detach().numpy()")
    if tensor.dtype.numpy is None:
        raise TypeError("NumPy has no bfloat16; use t.float().numpy()")
    return np.asarray(memoryview(tensor))


def _array(tensor: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    if tensor.dtype.numpy is None and copy is not False:
        tensor = tensor.float()
    result = numpy(tensor)
    if dtype is not None and result.dtype != dtype:
        if copy is False:
            raise ValueError(f"a view of {tensor.dtype} as {np.dtype(dtype)} needs a copy")
        return result.astype(dtype)
    return result.copy() if copy else result


def _dlpack(
    tensor: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    if dl_device is not None and tuple(dl_device) != _dlpack_device(tensor):
        raise BufferError(
            f"cannot export to DLPack device {tuple(dl_device)}; only (1, 0), the CPU"
        )
    versioned = max_version is not None and max_version[0] >= 1
    return _C.to_dlpack(tensor.clone() if copy else tensor, versioned, bool(copy))


def _dlpack_device(tensor: Tensor) -> tuple[int, int]:
    return (1, 0)


def _array_namespace(tensor: Tensor, /, *, api_version: str | None = None) -> Any:
    """The functions of the Python array API standard for tensors: relume.array_api.

    >>> import relume as rl
    >>> rl.ones(2).__array_namespace__().__name__
    'relume.array_api'
    """
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"relume.array_api is version 2024.12, not {api_version}")
    return importlib.import_module("relume.array_api")


def _to_device(tensor: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device: itself, for the CPU."""
    return tensor.to(device=device)


def _reversed(tensor: Tensor) -> Tensor:
    """The tensor from its end to its start, along its first dimension."""
    return tensor.flip(0) if tensor.ndim else tensor


def install() -> None:
    """Adds the protocols to Tensor."""
    attributes = {
        "numpy": numpy,
        "__array__": _array,
        "__array_function__": array_function,
        "__array_ufunc__": array_ufunc,
        "__array_priority__": 1000,
        "__array_namespace__": _array_namespace,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "to_device": _to_device,
        "__reversed__": _reversed,
    }
    for name, value in attributes.items():
        setattr(Tensor, name, value)
