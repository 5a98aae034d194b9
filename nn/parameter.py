"""Parameters: tensors that a module counts as its own and an optimizer changes."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.tensor.devices import check_device


class Parameter(Tensor):
    """A tensor that becomes a parameter of the module to which it is assigned.

    Args:
        data: a tensor, whose memory is used as it is; by default an empty one.
        requires_grad: does the tape record what is done with it?

    >>> import relume as rl
    >>> from relume import nn
    >>> layer = nn.Module()
    >>> layer.weight = nn.Parameter(rl.ones(2))
    >>> [name for name, _ in layer.named_parameters()]
    ['weight']
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        self: Any = super().__new__(cls, rl.empty(0) if data is None else rl.as_tensor(data))
        return self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module to which it is assigned: state, no parameter.

    Args:
        data: a tensor, whose memory is used as it is.
        persistent: is it part of the module's `state_dict`?

    >>> import relume as rl
    >>> from relume import nn
    >>> layer = nn.Module()
    >>> layer.count = nn.Buffer(rl.zeros(1))
    >>> list(layer.state_dict())
    ['count']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        self: Any = super().__new__(cls, rl.empty(0) if data is None else rl.as_tensor(data))
        self.persistent = persistent
        return self


def new_parameter(shape: tuple[int, ...], device: Any, dtype: Any) -> Parameter:
    """A parameter without values, on a device and of a type."""
    check_device(device)
    return Parameter(rl.empty(shape, dtype=dtype))
