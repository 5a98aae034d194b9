"""Parameters of distributions: numbers and tensors brought to one shape and one floating type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relume as rl
from relume import Tensor

EULER = 0.57721566490153286  # the Euler-Mascheroni constant


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a floating type."""
    return rl.finfo(dtype).eps


def tiny(dtype: Any) -> float:
    """The smallest positive normal number of a floating type."""
    return rl.finfo(dtype).tiny


def broadcast_parameters(*values: Tensor | float) -> list[Tensor]:
    """Tensors of one shape and one floating type.

    >>> [p.shape for p in broadcast_parameters(0.0, rl.ones(3))]
    [(3,), (3,)]
    """
    dtype = common_dtype(values)
    tensors = [rl.as_tensor(value).to(dtype) for value in values]
    shape = rl.broadcast_shapes(*(tensor.shape for tensor in tensors))
    return [tensor.expand(shape) for tensor in tensors]


def common_dtype(values: Sequence[Any]) -> Any:
    """The floating type of tensors taken together; the default one where there is none."""
    floating = [v for v in values if isinstance(v, Tensor) and v.dtype.is_floating_point]
    dtype = rl.get_default_dtype() if not floating else floating[0].dtype
    for value in floating[1:]:
        dtype = rl.promote_types(dtype, value.dtype)
    return dtype


def exactly_one(first: Any, second: Any, names: str) -> None:
    """Refuses two descriptions of one distribution, and none."""
    if (first is None) == (second is None):
        raise ValueError(f"give exactly one of {names}")


def clamped(probs: Tensor) -> Tensor:
    """Probabilities without exact zeros and ones."""
    distance = epsilon(probs.dtype)
    return probs.clamp(distance, 1 - distance)


def logits_of(probs: Tensor) -> Tensor:
    """log(p / (1 - p))."""
    return rl.logit(clamped(probs))


def sum_last(tensor: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return tensor.sum(tuple(range(-count, 0))) if count else tensor
