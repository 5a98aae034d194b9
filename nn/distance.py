"""Distances and similarities as modules."""

from __future__ import annotations

from relume import Tensor
from relume.nn import functional as F
from relume.nn.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension.

    >>> import relume as rl
    >>> CosineSimilarity(dim=0)(rl.tensor([1.0, 0.0]), rl.tensor([3.0, 4.0])).item()
    0.6000000238418579
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of differences along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
