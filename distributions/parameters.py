"""Parameters of distributions: numbers and tensors brought to one shape and one floating type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor

# Probabilities stay this far from 0 and 1, per type, so that their logarithms are finite.
_EPSILON = {rl.float64: 2.0**-52, rl.float32: 2.0**-23, rl.float16: 2.0**-10, rl.bfloat16: 2.0**-7}
_TINY = {
    rl.float64: 2.0**-1022,
    rl.float32: 2.0**-126,
    rl.float16: 2.0**-14,
    rl.bfloat16: 2.0**-126,
}


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a floating type."""
    return _EPSILON[dtype]


def tiny(dtype: Any) -> float:
    """The smallest positive normal number of a floating type."""
    return _TINY[dtype]


def broadcast_parameters(*values: Tensor | float) -> list[Tensor]:
    """Tensors of one shape and one floating type.

    >>> [p.shape for p in broadcast_parameters(0.0, rl.ones(3))]
    [(3,), (3,)]
    """
    dtype = common_dtype(values)
    tensors = [rl.as_tensor(value).to(dtype) for value in values]
    shape = np.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors))
    return [tensor.expand(shape) for tensor in tensors]


def common_dtype(values: Sequence[Any]) -> Any:
    """The floating type of tensors taken together; float32 where there is none."""
    floating = [v.dtype for v in values if isinstance(v, Tensor) and v.dtype in _EPSILON]
    result = floating[0] if floating else rl.float32
    for dtype in floating[1:]:
        result = (rl.zeros(1, dtype=result) + rl.zeros(1, dtype=dtype)).dtype
    return result


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
    probs = clamped(probs)
    return rl.log(probs) - rl.log1p(-probs)


def times_log(x: Tensor, y: Tensor) -> Tensor:
    """x * log(y), and 0 where x is 0, whatever y is."""
    is_zero = x == 0
    return rl.where(is_zero, 0.0, x * rl.log(rl.where(is_zero, 1.0, y)))


def sum_last(tensor: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return tensor.sum(tuple(range(-count, 0))) if count else tensor
