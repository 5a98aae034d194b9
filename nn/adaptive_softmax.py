"""A softmax over very many classes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.nn import functional as F
from relume.nn.containers import ModuleList, Sequential
from relume.nn.linear import Linear
from relume.nn.module import Module


class TargetLogProbability(NamedTuple):
    """What AdaptiveLogSoftmaxWithLoss gives: log-probabilities of the targets, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax in which rare classes cost little; Grave et al., 2017.

    Classes come most frequent first. A head scores the most frequent ones and the clusters of the
    others; each cluster has a smaller network of its own.

    Args:
        in_features: size of the input.
        n_classes: number of classes.
        cutoffs: where clusters begin, in growing order.
        div_value: how many times smaller each cluster's network is than the one before.
        head_bias: add a bias to the head.

    `forward(input, target)`: input (batch, in_features), target (batch); returns `output` (batch)
    and `loss`.

    >>> import relume as rl
    >>> layer = AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> layer(rl.randn(3, 8), rl.tensor([0, 7, 19])).output.shape
    (3,)
    >>> layer.log_prob(rl.randn(3, 8)).exp().sum(1).detach().round()
    tensor([1., 1., 1.])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = [int(cutoff) for cutoff in cutoffs]
        ends = [0, *cutoffs, n_classes]
        if not cutoffs or any(a >= b for a, b in itertools.pairwise(ends)):
            raise ValueError(
                f"cutoffs must grow from above 0 to below n_classes ({n_classes}), they are "
                f"{cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, False, device, dtype),
                    Linear(hidden, end - start, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for layer in (self.head, *(part for cluster in self.tail for part in cluster)):
            layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> TargetLogProbability:
        single = input.ndim == 1
        if single:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if input.shape[:1] != target.shape:
            raise ValueError(f"input of shape {input.shape} with targets of shape {target.shape}")
        if not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise ValueError(f"targets must be between 0 and {self.n_classes - 1}")
        head = F.log_softmax(self.head(input), 1)
        # In the head, a rare class stands for its cluster.
        in_head = target.clone()
        output = rl.zeros(target.shape, dtype=head.dtype)
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            rows = ((target >= start) & (target < end)).nonzero().reshape(-1)
            if not rows.numel():
                continue
            in_head[rows] = self.shortlist_size + i
            scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            own = (target.index_select(0, rows) - start).unsqueeze(1)
            output = output.index_add(0, rows, scores.gather(1, own).squeeze(1))
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        return TargetLogProbability(output.squeeze(0) if single else output, -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, shape (batch, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            place = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), 1) + head[:, place : place + 1])
        return rl.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of every row."""
        return self.log_prob(input).argmax(1)
