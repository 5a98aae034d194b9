"""NumPy and DLPack: the protocols by which other libraries see a Tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor

# The registered op behind a NumPy ufunc, so that `numpy_array * tensor` stays on the tape.
_OPS_OF_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "power": "pow",
    "matmul": "matmul",
    "maximum": "maximum",
    "minimum": "minimum",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "absolute": "abs",
    "negative": "neg",
}


def numpy(tensor: Tensor) -> np.ndarray:
    """A NumPy array on the tensor's memory: a change of one is seen in the other.

    Raises:
        RuntimeError: the tensor requires a gradient; use `t.detach().numpy()`.
        TypeError: bfloat16, which NumPy does not have; use `t.float().numpy()`.

    >>> import relume as rl
    >>> rl.arange(3).numpy()
    array([0, 1, 2])
    """
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


def _array_ufunc(tensor: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    operands = [_C.tensor_from_array(x, False) if type(x) is np.ndarray else x for x in inputs]
    name = _OPS_OF_UFUNCS.get(ufunc.__name__)
    if name is not None and method == "__call__" and not options:
        return _C.ops[name](*operands)
    # The rest is NumPy's to compute, off the tape.
    arrays = [numpy(x) if isinstance(x, Tensor) else x for x in inputs]
    out = options.pop("out", None)
    if out is not None:
        targets = tuple(numpy(x) if isinstance(x, Tensor) else x for x in out)
        getattr(ufunc, method)(*arrays, out=targets, **options)
        return out[0] if len(out) == 1 else out
    result = getattr(ufunc, method)(*arrays, **options)
    if isinstance(result, tuple):
        return tuple(_C.tensor_from_array(np.asarray(x), False) for x in result)
    return None if result is None else _C.tensor_from_array(np.asarray(result), False)


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


def install() -> None:
    """Adds the protocols to Tensor."""
    attributes = {
        "numpy": numpy,
        "__array__": _array,
        "__array_ufunc__": _array_ufunc,
        "__array_priority__": 1000,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
    }
    for name, value in attributes.items():
        setattr(Tensor, name, value)
