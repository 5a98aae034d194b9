"""Softmax for many classes (facebookresearch/adaptive-softmax; Grave et al. 2016).

Frequent classes come first. The head knows them, and one class per cluster of rarer ones.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


def bounds(cutoff: Any) -> list[int]:
    """Where clusters end, as whole numbers."""
    values = cutoff.tolist() if isinstance(cutoff, Tensor) else nested.elements(cutoff)
    return [int(value) for value in values]


@register("nn.AdaptiveSoftMax")
class AdaptiveSoftMax(Taped):
    """Vectors N x isz to {scores of the head, scores of the first cluster, ...}; a cluster has
    scores of the samples whose target it holds, or an empty table. `setTarget` says which.

    Args:
        isz: length of the vectors.
        cutoff: the last class of the head and of every cluster.
    """

    idx: Any = None
    head: Any
    tail: Any

    def __init__(self, isz: int, cutoff: Any) -> None:
        super().__init__()
        del self.modules
        self.isz, self.cutoff = isz, cutoff
        ends = bounds(cutoff)
        self.hsz = ends[0] + len(ends) - 1
        self.head = make("Linear", isz, self.hsz, False)
        parts = []
        for place in range(1, len(ends)):
            size = max(1, isz // 4**place)
            part = make("Sequential").add(make("Linear", isz, size, False))
            parts.append(part.add(make("Linear", size, ends[place] - ends[place - 1], False)))
        self.tail = nested.table(parts)

    def children(self) -> list[Any]:
        return [self.head, *nested.elements(self.tail)]

    def replace_children(self, function: Any) -> None:
        self.head = function(self.head)
        self.tail = nested.table([function(part) for part in nested.elements(self.tail)])

    def setTarget(self, target: Tensor) -> None:
        """Says which classes (from 1) the samples of the next forward have."""
        ends, found = bounds(self.cutoff), []
        for place in range(1, len(ends)):
            is_inside = (target > ends[place - 1]) & (target <= ends[place])
            samples = is_inside.flatten().nonzero().flatten() + 1
            found.append(samples if samples.numel() else nested.table([]))
        self.idx = nested.table(found)

    def compute(self, input: Tensor) -> Activation:
        outputs: list[Any] = [self.head(input)]
        parts = nested.elements(self.tail)
        for samples, part in zip(nested.elements(self.idx or []), parts, strict=False):
            has_some = isinstance(samples, Tensor)
            rows = input[from_one(self, samples, input.shape[0])] if has_some else None
            outputs.append(nested.table([]) if rows is None else part(rows))
        return nested.table(outputs)

    def getLogProb(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, N x classes."""
        ends = bounds(self.cutoff)
        with rl.no_grad():
            head = rl.log_softmax(self.head(input), 1)
            parts = [head[:, : ends[0]]]
            for place, part in enumerate(nested.elements(self.tail)):
                own = head[:, ends[0] + place].unsqueeze(1)
                parts.append(own + rl.log_softmax(part(input), 1))
        return rl.cat(parts, 1)


@register("nn.AdaptiveLoss")
class AdaptiveLoss(Criterion):
    """The mean negative log-probability of classes (from 1), for what `AdaptiveSoftMax` gives.

    Args:
        cutoff: the last class of the head and of every cluster.
    """

    def __init__(self, cutoff: Any) -> None:
        super().__init__()
        self.cutoff = cutoff

    def compute(self, input: Activation, target: Tensor) -> Tensor:
        ends, scores = bounds(self.cutoff), nested.elements(input)
        head, labels = scores[0], target.flatten()
        if labels.shape[0] != head.shape[0]:
            raise ValueError(
                f"{self}: expected a label per sample, got {nested.describe(input)} and "
                f"{nested.describe(target)}"
            )
        of_head = labels.to(rl.int64)
        total: Any = 0
        for place in range(1, len(ends)):
            is_inside = (labels > ends[place - 1]) & (labels <= ends[place])
            of_head = of_head.masked_fill(is_inside, ends[0] + place)
            own = scores[place] if place < len(scores) else None
            if isinstance(own, Tensor) and own.numel():
                total = total + self._loss(own, labels[is_inside] - ends[place - 1])
        return (total + self._loss(head, of_head)) / head.shape[0]

    def _loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        if labels.shape[0] != scores.shape[0]:
            raise ValueError(
                f"{self}: there are {labels.shape[0]} labels of a cluster, "
                f"got {nested.describe(scores)}"
            )
        places = from_one(self, labels, scores.shape[1]).unsqueeze(1)
        return -rl.log_softmax(scores, 1).gather(1, places).sum()
