"""Tensors that came from a GPU: what they were there, and what they are here."""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["cpu_type", "origin", "remember_origin"]

_origins: dict[int, tuple[weakref.ref, str]] = {}  # by id: tensors compare element by element


def origin(value: Any) -> str | None:
    """The GPU class that a tensor or storage had in its file, or None.

    >>> import relume as rl
    >>> origin(rl.zeros([2])) is None
    True
    """
    reference, name = _origins.get(id(value), (None, None))
    return name if reference is not None and reference() is value else None


def remember_origin(value: Any, name: str) -> None:
    """Makes `name` the origin of a tensor or storage, for as long as it lives."""
    identity = id(value)
    forget = weakref.ref(value, lambda _: _origins.pop(identity, None))
    _origins[identity] = (forget, name)


def cpu_type(name: str) -> str:
    """The CPU's counterpart of a type of tensor; other names stay as they are.

    >>> cpu_type("torch.CudaTensor"), cpu_type("torch.CudaLongTensor"), cpu_type("nn.Linear")
    ('torch.FloatTensor', 'torch.LongTensor', 'nn.Linear')
    """
    if name in ("torch.CudaTensor", "torch.ClTensor"):
        return "torch.FloatTensor"
    return name.replace("torch.Cuda", "torch.", 1) if name.startswith("torch.Cuda") else name
