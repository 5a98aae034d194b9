"""Losses that ask for a distance between classes or between pairs of inputs."""

from __future__ import annotations

from collections.abc import Callable

from relume._C import Tensor
from relume.nn.functional._common import ops, reduction_of
from relume.nn.functional.distance import pairwise_distance


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, -target * (input1 - input2) + margin)`; a target of 1 asks for a larger `input1`.

    >>> import relume as rl
    >>> margin_ranking_loss(rl.tensor([1.0]), rl.tensor([3.0]), rl.tensor([1]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["margin_ranking_loss"](input1, input2, target, margin, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of `max(0, margin - input[target] + input[class]) ** p`.

    Args:
        input: scores, shape (N, C) or (C).
        target: class numbers (0-based), shape (N) or ().
        p: 1 or 2.
        weight: a factor for each target class, shape (C).

    >>> import relume as rl
    >>> multi_margin_loss(rl.tensor([[0.25, 0.5]]), rl.tensor([1]))
    tensor(0.375)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["multi_margin_loss"](input, target, p, margin, weight, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of `max(0, 1 - input[target] + input[other])`, for all pairs.

    Args:
        input: scores, shape (N, C) or (C).
        target: class numbers (0-based) of the input's shape; a line ends at the first -1.

    >>> import relume as rl
    >>> multilabel_margin_loss(rl.tensor([[0.25, 0.5]]), rl.tensor([[1, -1]]))
    tensor(0.375)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["multilabel_margin_loss"](input, target, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of the logistic loss of every class being there or not.

    Args:
        input: scores, shape (N, C).
        target: 0 or 1, of the same shape.
        weight: a factor for each class.

    >>> import relume as rl
    >>> multilabel_soft_margin_loss(rl.tensor([[0.0, 0.0]]), rl.tensor([[1, 0]]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["multilabel_soft_margin_loss"](input, target, weight, reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`1 - cosine` where the target is 1, `max(0, cosine - margin)` where it is -1.

    Args:
        input1, input2: shape (N, D) or (D).
        target: shape (N) or ().

    >>> import relume as rl
    >>> a, b = rl.tensor([[1.0, 0.0]]), rl.tensor([[3.0, 4.0]])
    >>> cosine_embedding_loss(a, b, rl.tensor([1]))
    tensor(0.4)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["cosine_embedding_loss"](input1, input2, target, margin, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`.

    Args:
        p, eps: of `pairwise_distance`.
        swap: take the distance of positive and negative where that is smaller than the
            anchor's (Balntas et al., "Learning shallow convolutional feature descriptors", 2016).

    >>> import relume as rl
    >>> a, b = rl.tensor([[0.0, 0.0]]), rl.tensor([[3.0, 4.0]])
    >>> triplet_margin_loss(a, a, b, margin=6.0)
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with another distance, such as a network's.

    >>> import relume as rl
    >>> a, b = rl.tensor([[0.0, 0.0]]), rl.tensor([[3.0, 4.0]])
    >>> distance = lambda x, y: (x - y).abs().sum(1)
    >>> triplet_margin_with_distance_loss(a, a, b, distance_function=distance, margin=8.0)
    tensor(1.)
    """
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = ops["minimum"](far, distance(positive, negative))
    loss = ops["clamp"](distance(anchor, positive) - far + margin, 0)
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', not {reduction!r}")
    return loss.mean() if reduction == "mean" else loss.sum()
