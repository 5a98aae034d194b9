"""Layers that change the shape only."""

from __future__ import annotations

from collections.abc import Sequence

from relume import Tensor
from relume.nn.module import Module


class Flatten(Module):
    """Joins the dimensions from start_dim to end_dim into one.

    >>> import relume as rl
    >>> Flatten()(rl.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes; one may be -1.

    >>> import relume as rl
    >>> Unflatten(1, (3, 4))(rl.ones(2, 12)).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        dim = self.dim % input.ndim if -input.ndim <= self.dim < input.ndim else self.dim
        if dim not in range(input.ndim):
            raise IndexError(f"dim {self.dim} is out of range for {input.ndim} dimensions")
        return input.reshape((*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
