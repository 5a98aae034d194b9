"""Normalisation of activations."""

from __future__ import annotations

from collections.abc import Sequence

from relume._C import Tensor
from relume.nn.functional._common import ops


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Channels (dimension 1) brought to mean 0 and variance 1, then scaled and shifted.

    Ioffe and Szegedy, "Batch normalization", 2015.

    Args:
        input: shape (N, C, ...).
        running_mean, running_var: shape (C); used without training, and moved towards the
            batch's statistics by `momentum` with it.
        weight, bias: shape (C), the scale and the shift.

    Raises:
        ValueError: one value per channel in training, whose variance means nothing.

    >>> import relume as rl
    >>> batch_norm(rl.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.],
            [ 1.]])
    """
    if training and input.ndim > 1 and input.numel() == input.shape[1]:
        raise ValueError(
            f"batch_norm in training needs more than one value per channel, got shape {input.shape}"
        )
    return ops["batch_norm"](
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Every channel of every sample of (N, C, ...) brought to mean 0 and variance 1.

    Ulyanov et al., "Instance normalization", 2016. Arguments as in `batch_norm`.

    >>> import relume as rl
    >>> instance_norm(rl.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.,  1.]]])
    """
    return ops["instance_norm"](
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted.

    Ba et al., "Layer normalization", 2016.

    Args:
        normalized_shape: the sizes of these last dimensions.
        weight, bias: of that shape.

    >>> import relume as rl
    >>> layer_norm(rl.tensor([[1.0, 3.0], [5.0, 5.0]]), (2,))
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    return ops["layer_norm"](input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The last dimensions divided by the root of their mean square.

    Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Args:
        normalized_shape: the sizes of these last dimensions.
        eps: is added to the mean square; the type's smallest step when left out.

    >>> import relume as rl
    >>> rms_norm(rl.tensor([1.0, 7.0]), (2,))
    tensor([0.2, 1.4])
    """
    return ops["rms_norm"](input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Groups of channels of every sample brought to mean 0 and variance 1.

    Wu and He, "Group normalization", 2018.

    Args:
        input: shape (N, C, ...).
        num_groups: divides C.
        weight, bias: shape (C).

    >>> import relume as rl
    >>> group_norm(rl.tensor([[1.0, 3.0, 2.0, 8.0]]), 2)
    tensor([[-1.,  1., -1.,  1.]])
    """
    return ops["group_norm"](input, num_groups, weight, bias, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Every element divided by a power of the mean square over `size` neighbouring channels.

    Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012.

    >>> import relume as rl
    >>> local_response_norm(rl.ones(1, 3, 2), 3).shape
    (1, 3, 2)
    """
    return ops["local_response_norm"](input, size, alpha, beta, k)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Lines along a dimension divided by their p-norm (or by `eps` where that is larger).

    >>> import relume as rl
    >>> normalize(rl.tensor([[3.0, 4.0]]))
    tensor([[0.6, 0.8]])
    """
    norm = ops["norm"](input, p, dim, True)
    denominator = ops["clamp"](norm, eps).expand(input.shape)
    return (
        ops["div"](input, denominator) if out is None else ops["div"](input, denominator, out=out)
    )
