"""Initial values of parameters, in place; the distributions and names are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import no_grad

_GAINS = {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before this activation are larger than before none.

    Args:
        nonlinearity: "linear", "conv2d" and the like, "sigmoid", "tanh", "relu", "leaky_relu"
            or "selu".
        param: the slope of "leaky_relu" below zero, 0.01 by default.

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity == "linear" or nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        known = ", ".join(["linear", "conv...", "leaky_relu", *_GAINS])
        raise ValueError(f"no gain is known for {nonlinearity!r}; known: {known}")
    return _GAINS[nonlinearity]


def _filled(tensor: Tensor, generator: Any, fill: Callable[[Tensor], Any]) -> Tensor:
    with no_grad():
        if generator is None:
            fill(tensor)
        else:
            with generator:
                fill(tensor)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with numbers between a and b, all equally likely.

    >>> import relume as rl
    >>> rl.manual_seed(1)
    >>> uniform_(rl.empty(2), -1, 1)
    tensor([-0.166 ,  0.9944])
    """
    return _filled(tensor, generator, lambda t: t.uniform_(a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with normally distributed numbers.

    >>> import relume as rl
    >>> normal_(rl.empty(10)).shape
    (10,)
    """
    return _filled(tensor, generator, lambda t: t.normal_(mean, std))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fills with normally distributed numbers, of which only those between a and b are taken.

    >>> import relume as rl
    >>> bool((trunc_normal_(rl.empty(100), std=3.0).abs() <= 2).all())
    True
    """

    def fill(t: Tensor) -> None:
        low, high = (0.5 * (1 + math.erf((end - mean) / std / math.sqrt(2))) for end in (a, b))
        quantiles = rl.empty(t.shape, dtype=rl.float64).uniform_(2 * low - 1, 2 * high - 1)
        values = rl.erfinv(quantiles) * (std * math.sqrt(2)) + mean
        t.copy_(values.clamp(a, b))

    return _filled(tensor, generator, fill)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one number.

    >>> import relume as rl
    >>> constant_(rl.empty(2), 0.5)
    tensor([0.5, 0.5])
    """
    return _filled(tensor, None, lambda t: t.fill_(val))


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity, as far as it goes.

    >>> import relume as rl
    >>> eye_(rl.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError(f"eye_() needs a matrix, not a tensor of {tensor.ndim} dimensions")
    return _filled(tensor, None, lambda t: t.copy_(rl.eye(*t.shape)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes the weight of a convolution pass its input on, as many channels as there are.

    Args:
        tensor: shape (outputs, inputs / groups, *kernel), of 3 to 5 dimensions.

    >>> import relume as rl
    >>> dirac_(rl.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"dirac_() needs 3, 4 or 5 dimensions, not {tensor.ndim}")
    if tensor.shape[0] % groups:
        raise ValueError(f"{tensor.shape[0]} outputs cannot be divided into {groups} groups")
    outputs = tensor.shape[0] // groups
    center = tuple(size // 2 for size in tensor.shape[2:])

    def fill(t: Tensor) -> None:
        t.zero_()
        for group in range(groups):
            for channel in range(min(outputs, t.shape[1])):
                place = (group * outputs + channel, channel, *center)
                t[place] = 1.0

    return _filled(tensor, None, fill)


def fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many numbers enter and leave one unit whose weight this is.

    >>> import relume as rl
    >>> fan_in_and_fan_out(rl.empty(8, 4, 3, 3))
    (36, 72)
    """
    if tensor.ndim < 2:
        raise ValueError("fan in and fan out need a weight of at least 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    return fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills uniformly with the variance of Glorot and Bengio, 2010.

    >>> import relume as rl
    >>> bool((xavier_uniform_(rl.empty(3, 3)).abs() <= 1).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills normally with the variance of Glorot and Bengio, 2010."""
    std = gain * math.sqrt(2.0 / sum(fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fills uniformly with the variance of He et al., 2015.

    Args:
        a: the slope below zero of the leaky_relu that follows.
        mode: "fan_in" keeps the variance forward, "fan_out" backward.

    >>> import relume as rl
    >>> bool((kaiming_uniform_(rl.empty(3, 6)).abs() <= 1).all())
    True
    """
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fills normally with the variance of He et al., 2015; arguments as of kaiming_uniform_."""
    if tensor.numel() == 0:
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Makes the rows (or columns, the fewer) orthonormal, times gain; Saxe et al., 2013.

    Args:
        tensor: at least 2 dimensions; all but the first count as columns.

    >>> import relume as rl
    >>> w = orthogonal_(rl.empty(2, 5))
    >>> rl.allclose(w @ w.T, rl.eye(2), atol=1e-5)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("orthogonal_() needs at least 2 dimensions")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows

    def fill(t: Tensor) -> None:
        shape = (rows, columns) if rows >= columns else (columns, rows)
        q, r = rl.linalg.qr(rl.empty(shape, dtype=rl.float64).normal_(0.0, 1.0))
        q = q * rl.sign(r.diagonal())  # one of the many decompositions, so that q is uniform
        t.copy_((q if rows >= columns else q.T).reshape(t.shape) * gain)

    return _filled(tensor, generator, fill)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fills a matrix normally, with a fraction of every column zero; Martens, 2010.

    >>> import relume as rl
    >>> int((sparse_(rl.empty(10, 2), 0.3) == 0).sum())
    6
    """
    if tensor.ndim != 2:
        raise ValueError(f"sparse_() needs a matrix, not a tensor of {tensor.ndim} dimensions")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)

    def fill(t: Tensor) -> None:
        t.normal_(0.0, std)
        for column in range(columns):
            t[rl.randperm(rows)[:zeros], column] = 0.0

    return _filled(tensor, generator, fill)
