"""Vectors that sum to 1, made of normal ones."""

from __future__ import annotations

from relume import Tensor
from relume.distributions.combined import TransformedDistribution
from relume.distributions.distribution import Shape
from relume.distributions.normal import Normal
from relume.distributions.transforms_of_vectors import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """StickBreakingTransform of a normal vector.

    Args:
        loc, scale: of the normal numbers, of shape (..., d); draws have length d + 1.

    >>> import relume as rl
    >>> LogisticNormal(rl.zeros(2), rl.ones(2)).sample().shape
    (3,)
    """

    def __init__(self, loc: Tensor, scale: Tensor, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, validate_args)
        if not normal.batch_shape:
            raise ValueError("LogisticNormal needs vectors loc and scale, not numbers")
        self.loc, self.scale = normal.loc, normal.scale
        super().__init__(normal, StickBreakingTransform(), validate_args)

    def expand(self, batch_shape: Shape) -> LogisticNormal:
        shape = (*batch_shape, self.loc.shape[-1])
        return LogisticNormal(self.loc.expand(shape), self.scale.expand(shape), False)

    def __repr__(self) -> str:
        return f"LogisticNormal(loc: of shape {self.loc.shape})"
