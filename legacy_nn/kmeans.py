"""Clusters learned by gradient steps: nn.Kmeans."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


def draw_number(count: int) -> int:
    """A random number from 0 to count - 1; one of Torch7's random numbers."""
    return int(rl.randint(0, count, (1,)).item())


@register("nn.Kmeans")
class Kmeans(Module):
    """The number (from 1) of the cluster centre that is nearest to each row of the input.

    The gradient of a centre is its distance from the mean of the rows that chose it, so a
    gradient step of length 1 is a step of the k-means algorithm.

    Args:
        k: number of centres.
        dim: length of a row.
        scale: factor for the gradients, by default that of backward.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer, rows = nn.Kmeans(2, 1), rl.tensor([[0.0], [1.0], [9.0]], dtype=rl.float64)
    >>> _ = layer.weight.copy_(rl.tensor([[2.0], [8.0]]))
    >>> layer.forward(rows).tolist(), layer.loss
    ([1.0, 1.0, 2.0], 6.0)
    >>> _ = layer.backward(rows, None)
    >>> layer.updateParameters(1)
    >>> layer.weight
    tensor([[0.5],
            [9. ]], dtype=float64)
    """

    parameter_names = ("weight",)
    scale: float | None = None

    def __init__(self, k: int, dim: int, scale: float | None = None) -> None:
        super().__init__()
        self.k = k
        self.dim = dim
        if scale is not None:
            self.scale = scale
        if k <= 0 or dim <= 0:
            raise ValueError(f"nn.Kmeans: k and dim must be positive, got {k} and {dim}")
        self.weight = new_parameter(k, dim)
        self.gradWeight = new_parameter(k, dim)
        self.loss: float = 0
        self.clusterSampleCount = new_parameter(k)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.weight.uniform_(-(stdv or 1), stdv or 1)

    def _check(self, input: Any) -> Tensor:
        if (
            not isinstance(input, Tensor)
            or input.ndim not in (1, 2)
            or (input.shape[-1] != self.dim)
        ):
            raise ValueError(f"{self}: expected a batch Nx{self.dim}, got {nested.describe(input)}")
        rows = input.detach()
        return rows if input.ndim == 2 else rows.unsqueeze(0)

    def _squared_distances(self, rows: Tensor, centres: Tensor) -> Tensor:
        return (rows.unsqueeze(1) - centres.detach().unsqueeze(0)).square().sum(2)

    def initRandom(self, input: Tensor) -> None:
        """Makes randomly chosen rows of the input the centres."""
        rows = self._check(input)
        with rl.no_grad():
            for centre in range(int(self.k)):
                self.weight[centre] = rows[draw_number(rows.shape[0])]

    def initKmeansPlus(self, input: Tensor, p: float | None = None) -> None:
        """Makes rows that are far from each other the centres (after k-means++, Arthur and
        Vassilvitskii 2007): each is drawn from the rows farthest from the centres before it.

        Args:
            input: rows to choose from.
            p: share of the rows that are too near to be drawn, by default 0.95.
        """
        self.p = p or self.__dict__.get("p") or 0.95
        rows = self._check(input)
        candidates = max(1, math.ceil((1 - self.p) * rows.shape[0]))
        with rl.no_grad():
            self.weight[0] = rows[draw_number(rows.shape[0])]
            for centre in range(1, int(self.k)):
                distances = self._squared_distances(rows, self.weight[:centre]).amin(1)
                farthest = distances.argsort(0, descending=True)
                self.weight[centre] = rows[int(farthest[draw_number(candidates)].item())]

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        rows = self._check(input)
        smallest, nearest = rl.min_with_indices(self._squared_distances(rows, weight), 1)
        self.loss = smallest.sum().item()
        return (nearest + 1).to(rows.dtype)

    def updateGradInput(self, input: Tensor, gradOutput: Any) -> Tensor:
        self.gradInput = rl.zeros_like(input.detach())
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Any, scale: float = 1) -> None:
        rows = self._check(input)
        scale = self.scale or scale
        members = rl.one_hot(self.output.to(rl.int64) - 1, int(self.k)).to(rows.dtype)
        counts = members.sum(0)
        self.clusterSampleCount = counts
        total = rl.matmul(members.transpose(0, 1), rows)
        distance = counts.unsqueeze(1) * self.weight.detach() - total
        # Centres that nothing is near to stay where they are.
        self.gradWeight.add_(distance / (counts + 1e-7).unsqueeze(1), alpha=scale)
