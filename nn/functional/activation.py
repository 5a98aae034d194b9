"""Activation functions."""

from __future__ import annotations

from typing import Any

from relume._C import Tensor
from relume.nn.functional._common import applied, ops


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The element where it is positive, otherwise 0.

    >>> import relume as rl
    >>> relu(rl.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return applied("relu", input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The element, kept between 0 and 6.

    >>> import relume as rl
    >>> relu6(rl.tensor([-1.0, 2.0, 9.0]))
    tensor([0., 2., 6.])
    """
    return applied("relu6", input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The element where it is positive, otherwise `negative_slope` times it.

    >>> import relume as rl
    >>> leaky_relu(rl.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5,  2. ])
    """
    return applied("leaky_relu", input, inplace, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element where it is positive, otherwise `alpha * (exp(input) - 1)`.

    Clevert et al., "Fast and accurate deep network learning by exponential linear units", 2016.

    >>> import relume as rl
    >>> elu(rl.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.    ])
    """
    return applied("elu", input, inplace, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising unit: 1.0507 times `elu` with alpha 1.6733.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    >>> import relume as rl
    >>> selu(rl.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return applied("selu", input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element where it is positive, otherwise `alpha * (exp(input / alpha) - 1)`.

    Barron, "Continuously differentiable exponential linear units", 2017.

    >>> import relume as rl
    >>> celu(rl.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.    ])
    """
    return applied("celu", input, inplace, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)`, also called swish.

    >>> import relume as rl
    >>> silu(rl.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return applied("silu", input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * tanh(softplus(input))`.

    Misra, "Mish: a self regularized non-monotonic activation function", 2020.

    >>> import relume as rl
    >>> mish(rl.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.944 ])
    """
    return applied("mish", input, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """The element, kept between `min_val` and `max_val`.

    >>> import relume as rl
    >>> hardtanh(rl.tensor([-3.0, 0.5]))
    tensor([-1. ,  0.5])
    """
    return applied("hardtanh", input, inplace, min_val, max_val)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * relu6(input + 3) / 6`.

    Howard et al., "Searching for MobileNetV3", 2019.

    >>> import relume as rl
    >>> hardswish(rl.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])
    """
    return applied("hardswish", input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`relu6(input + 3) / 6`: a sigmoid of straight lines.

    >>> import relume as rl
    >>> hardsigmoid(rl.tensor([-4.0, 0.0, 3.0]))
    tensor([0. , 0.5, 1. ])
    """
    return applied("hardsigmoid", input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The element where it is larger than `threshold`, otherwise `value`.

    >>> import relume as rl
    >>> threshold(rl.tensor([0.1, 2.0]), 1.0, -5.0)
    tensor([-5.,  2.])
    """
    return applied("threshold", input, inplace, threshold, value)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A leaky ReLU whose slope is drawn between `lower` and `upper` for every element.

    Without training the slope is the middle of the two.

    Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.

    >>> import relume as rl
    >>> rrelu(rl.tensor([-1.0, 2.0]), 0.2, 0.4)
    tensor([-0.3,  2. ])
    """
    return applied("rrelu", input, inplace, lower, upper, training)


def _along(name: str, input: Tensor, dim: int | None, dtype: Any) -> Tensor:
    if dim is None:  # as Torch7 chose it: the channels of images, the columns of matrices
        dim = 0 if input.ndim in (0, 1, 3) else 1
    if dtype is not None:
        input = input.to(dtype)
    return ops[name](input, dim)


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Exponentials that are scaled to sum to 1 along a dimension.

    Args:
        input: a floating tensor of any shape.
        dim: the dimension (0-based); when left out, 0 for 1-d and 3-d inputs and 1 for others.
        dtype: the type to compute in.

    >>> import relume as rl
    >>> softmax(rl.tensor([0.0, 0.0]), 0)
    tensor([0.5, 0.5])
    """
    return _along("softmax", input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax(-input)`.

    >>> import relume as rl
    >>> softmin(rl.tensor([0.0, 0.0]), 0)
    tensor([0.5, 0.5])
    """
    return _along("softmax", -input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, computed without leaving the range of the type.

    >>> import relume as rl
    >>> log_softmax(rl.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _along("log_softmax", input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of a categorical distribution that has a gradient.

    Jang et al., "Categorical reparameterization with Gumbel-softmax", 2017.

    Args:
        logits: unnormalised log probabilities.
        tau: the temperature: the smaller, the closer to one-hot.
        hard: give a one-hot vector, with the gradient of the soft one.
        eps: has no effect; kept for code that gives it.
        dim: the dimension of the categories.

    >>> import relume as rl
    >>> gumbel_softmax(rl.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    noise = -logits.detach().clone().exponential_().log()
    soft = ops["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one_hot = ops["scatter"](ops["zeros_like"](soft.detach()), dim, index, 1.0)
    return one_hot - soft.detach() + soft
