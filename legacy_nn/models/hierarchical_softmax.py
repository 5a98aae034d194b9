"""The loss of word models with many words (yoonkim/lstm-char-cnn)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.registry import register


@register("nn.HLogSoftMax")
class HLogSoftMax(Criterion):
    """The mean negative log-probability of words in clusters: of the cluster, plus that of the word
    in it. `backward` adds the gradients of its networks too.

    Attributes:
        mapping: rows {cluster, place in it}, one per word, both from 1.
        cluster_model: from vectors to log-probabilities of clusters.
        class_model: from {vectors, clusters} to log-probabilities of places.
    """

    mapping: Tensor
    cluster_model: Any
    class_model: Any
    logLossCluster: Any
    logLossClass: Any

    def children(self) -> list[Any]:
        return [self.cluster_model, self.class_model]

    def parameters(self) -> tuple[list, list]:
        both = [module.parameters() for module in self.children()]
        return both[0][0] + both[1][0], both[0][1] + both[1][1]

    def _places(self, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if not isinstance(input, Tensor) or input.ndim != 2 or len(target) != len(input):
            raise ValueError(
                f"{self}: expected vectors N x size and N words, got {nested.describe(input)} and "
                f"{nested.describe(target)}"
            )
        mapping = self.mapping.to(rl.int64)
        rows = mapping[from_one(self, target, mapping.shape[0])]
        return rows[:, 0], rows[:, 1]

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        clusters, places = self._places(input, target)
        of_clusters = self.logLossCluster(self.cluster_model(input), clusters)
        return of_clusters + self.logLossClass(self.class_model([input, clusters]), places)

    def updateOutput(self, input: Tensor, target: Any = None) -> Any:
        clusters, places = self._places(input, target)
        of_clusters = self.logLossCluster.forward(self.cluster_model.forward(input), clusters)
        likelihoods = self.class_model.forward([input, clusters])
        self.output = of_clusters + self.logLossClass.forward(likelihoods, places)
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        clusters, places = self._places(input, target)
        first = self.logLossCluster.backward(self.cluster_model.output, clusters)
        second = self.logLossClass.backward(self.class_model.output, places)
        own = self.cluster_model.backward(input, first)
        other = nested.elements(self.class_model.backward([input, clusters], second))[0]
        self.gradInput = own + other
        return self.gradInput
