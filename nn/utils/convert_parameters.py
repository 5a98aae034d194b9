"""All parameters as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable

import relume as rl
from relume import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, one after another.

    >>> from relume import nn
    >>> parameters_to_vector(nn.Linear(3, 2).parameters()).shape
    (8,)
    """
    return rl.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of a vector, in order.

    >>> import relume as rl
    >>> from relume import nn
    >>> layer = nn.Linear(1, 1)
    >>> vector_to_parameters(rl.tensor([2.0, 3.0]), layer.parameters())
    >>> layer(rl.ones(1)).item()
    5.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vec must be a Tensor, not {type(vec).__name__}")
    parameters = list(parameters)
    wanted = sum(math.prod(parameter.shape) for parameter in parameters)
    if vec.shape != (wanted,):
        raise ValueError(f"vec must have shape ({wanted},), not {vec.shape}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view(parameter.shape).detach()
        start += count
