"""New tensors of random numbers whose arguments have several meanings."""

from __future__ import annotations

import math
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.list_functions import broadcast_shapes

_ops = _C.ops


def randint(*arguments: Any, low: int = 0, size: Any = None, **options: Any) -> Tensor:
    """Integers from `low` (0 when left out) to `high` - 1, all equally likely.

    Args:
        arguments: (high, size) or (low, high, size).
        options: dtype (int64), device, requires_grad, generator.

    >>> import relume as rl
    >>> rl.manual_seed(1)
    >>> rl.randint(10, (4,))
    tensor([5, 9, 4, 8])
    """
    given = list(arguments)
    if size is None:
        if not given:
            raise TypeError("randint() needs high and a size: randint(10, (2, 3))")
        size = given.pop()
    if "high" in options:
        given.append(options.pop("high"))
    if len(given) == 2:
        low = given.pop(0)
    if len(given) != 1:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    return _ops["random_integers"](low, given[0], size, **options)


def randint_like(input: Tensor, *bounds: int, low: int = 0, **options: Any) -> Tensor:
    """Integers from `low` (0 when left out) to `high` - 1 in the shape and type of `input`.

    Args:
        bounds: (high,) or (low, high).

    >>> import relume as rl
    >>> rl.randint_like(rl.zeros(2, 3), 5).shape
    (2, 3)
    """
    given = list(bounds)
    if "high" in options:
        given.append(options.pop("high"))
    if len(given) == 2:
        low = given.pop(0)
    if len(given) != 1:
        raise TypeError("randint_like() takes (input, high) or (input, low, high)")
    return _ops["random_integers_like"](input, low, given[0], **options)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    """Normal numbers; means and deviations may be tensors, one for each number.

    Args:
        mean, std: numbers, or tensors that broadcast together.
        size: the shape, when both are numbers.
        options: dtype, device, requires_grad, generator.

    Raises:
        ValueError: a negative deviation.

    >>> import relume as rl
    >>> rl.manual_seed(1)
    >>> rl.normal(rl.tensor([0.0, 100.0]), 1.0).shape
    (2,)
    """
    shapes = [x.shape for x in (mean, std) if isinstance(x, Tensor)]
    if size is not None and shapes:
        raise TypeError("normal() takes a size only when mean and std are numbers")
    if size is None and not shapes:
        raise TypeError("normal() needs a size when mean and std are numbers")
    if bool((std < 0).any()) if isinstance(std, Tensor) else std < 0:
        raise ValueError(f"normal() expected std >= 0, got {std}")
    if not shapes:
        return _ops["randn"](size, **options).mul_(std).add_(mean)
    kind = next(x.dtype for x in (mean, std) if isinstance(x, Tensor))
    options.setdefault("dtype", kind)
    return _ops["randn"](broadcast_shapes(*shapes), **options) * std + mean


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """Ones with the probabilities that the input holds, zeros otherwise.

    Args:
        input: probabilities.
        p: one probability for all; then only the shape and type of the input count.

    Raises:
        ValueError: a probability outside of [0, 1].

    >>> import relume as rl
    >>> rl.bernoulli(rl.tensor([0.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    chance = input.detach() if p is None else p
    return _ops["empty_like"](input).bernoulli_(chance, generator=generator)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Numbers of columns, drawn with chances in proportion to weights.

    Args:
        input: weights of shape (columns,) or (rows, columns), which need not add up to 1.
        num_samples: how many to draw from each row.
        replacement: may a column be drawn more than once?

    Returns:
        Column numbers (int64) of shape (num_samples,) or (rows, num_samples).

    Raises:
        ValueError: weights that are negative, infinite or NaN, or all 0; more draws without
            replacement than columns with a weight.

    >>> import relume as rl
    >>> rl.multinomial(rl.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    if not bool(((input >= 0) & (input < math.inf)).all()):
        raise ValueError("multinomial() needs weights that are finite and not negative")
    return _ops["multinomial"](input, num_samples, replacement, generator=generator)


FUNCTIONS = (bernoulli, multinomial, normal, randint, randint_like)
METHODS = {"bernoulli": bernoulli, "multinomial": multinomial}
