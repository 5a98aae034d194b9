"""Distances and similarities."""

from __future__ import annotations

from relume._C import Tensor
from relume.nn.functional._common import ops


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension.

    Args:
        x1, x2: shapes that broadcast.
        eps: norms smaller than this count as this.

    >>> import relume as rl
    >>> cosine_similarity(rl.tensor([[1.0, 0.0]]), rl.tensor([[3.0, 4.0]]))
    tensor([0.6])
    """
    return ops["cosine_similarity"](x1, x2, dim, eps)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last dimension.

    >>> import relume as rl
    >>> pairwise_distance(rl.tensor([[0.0, 0.0]]), rl.tensor([[3.0, 4.0]]))
    tensor([5.])
    """
    return ops["pairwise_distance"](x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of rows, in the order of SciPy's `pdist`.

    Args:
        input: shape (rows, width).

    Returns:
        Shape (rows * (rows - 1) / 2).

    >>> import relume as rl
    >>> pdist(rl.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.    , 1.    , 4.2426])
    """
    return ops["pdist"](input, p)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x1' A x2 + b` for every output.

    Args:
        input1: shape (*, in1). input2: shape (*, in2).
        weight: shape (out, in1, in2). bias: shape (out).

    Returns:
        Shape (*, out).

    >>> import relume as rl
    >>> bilinear(rl.tensor([[2.0]]), rl.tensor([[3.0]]), rl.tensor([[[5.0]]]))
    tensor([[30.]])
    """
    return ops["bilinear"](input1, input2, weight, bias)
