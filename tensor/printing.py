"""How tensors print: like NumPy's arrays, with the type where it is not the default one."""

from __future__ import annotations

import numpy as np

from relume._C import Tensor
from relume.tensor.dtypes import bool_, float32, int64


def format_tensor(tensor: Tensor) -> str:
    """`tensor([1., 2.], dtype=float64, requires_grad=True)`; long ones are summarised.

    >>> import relume as rl
    >>> rl.zeros(2, 2)
    tensor([[0., 0.],
            [0., 0.]])
    """
    values = tensor.detach()
    if values.dtype.numpy is None:
        values = values.to(float32)
    notes = []
    if tensor.numel() == 0 and tensor.shape != (0,):
        notes.append(f"shape={tensor.shape}")
    if tensor.dtype not in (float32, int64, bool_):
        notes.append(f"dtype={tensor.dtype.name}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn={tensor.grad_fn}")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    if tensor.numel() == 0:
        body = "[]"
    else:
        body = np.array2string(values.numpy(), separator=", ", prefix="tensor(", precision=4)
    return f"tensor({', '.join([body, *notes])})"


def _format(tensor: Tensor, specification: str) -> str:
    if specification and tensor.numel() == 1:
        return format(tensor.item(), specification)
    return format(format_tensor(tensor), specification)


def install() -> None:
    """Adds printing to Tensor."""
    for name, method in {"__repr__": format_tensor, "__format__": _format}.items():
        setattr(Tensor, name, method)
