"""Package fbnn (facebook/fbnn): criterions, some with parameters of their own."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import ClassNLLCriterion, Criterion
from relume.legacy_nn.learnt_criterion import LearntCriterion
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


def check_mapping(layer: Any, mapping: Tensor) -> list[int]:
    """How many classes every cluster has.

    Args:
        mapping: per class a row {cluster, place in it}, both from 1.

    Raises:
        ValueError: a cluster has no class, or its places are not 1, 2, ...
    """
    if mapping.ndim != 2 or mapping.shape[1] != 2:
        raise ValueError(
            f"{layer.torch_typename}: mapping must have a row {{cluster, place}} for every class, "
            f"got {nested.describe(mapping)}"
        )
    places: dict[int, list[int]] = {}
    for cluster, place in mapping.to(rl.int64).tolist():
        places.setdefault(cluster, []).append(place)
    counts = [len(places.get(cluster, ())) for cluster in range(1, len(places) + 1)]
    for cluster, count in enumerate(counts, 1):
        if sorted(places.get(cluster, ())) != list(range(1, count + 1)) or not count:
            raise ValueError(
                f"{layer.torch_typename}: clusters and the places in them must count from 1 "
                f"without gaps, but cluster {cluster} has {sorted(places.get(cluster, ()))}"
            )
    return counts


class TwoLevels(LearntCriterion):
    """The base of criterions that choose a cluster of classes, then a class in it."""

    mapping: Tensor

    def starts(self) -> list[int]:
        """The first row of every cluster, from 0."""
        raise NotImplementedError

    def counts(self) -> list[int]:
        """How many classes every cluster has."""
        raise NotImplementedError

    def losses(self, rows: Tensor, labels: Tensor, *parameters: Tensor) -> Tensor:
        """The sum of the negative log-probabilities of labels (from 0)."""
        cluster_weight, cluster_bias, class_weight, class_bias = parameters
        if rows.shape[1] != cluster_weight.shape[1] or labels.numel() != rows.shape[0]:
            raise ValueError(
                f"{self}: expected vectors of size {cluster_weight.shape[1]} and a label for "
                f"each, got {nested.describe(rows)} and {labels.numel()} labels"
            )
        pairs = self.mapping.to(rl.int64).index_select(0, labels) - 1
        clusters, places = pairs.select(1, 0), pairs.select(1, 1)
        scores = rl.log_softmax(rl.linear(rows, cluster_weight, cluster_bias), 1)
        total = scores.gather(1, clusters.unsqueeze(1)).sum()
        starts, counts = self.starts(), self.counts()
        for cluster in sorted(set(clusters.tolist())):
            own = (clusters == cluster).nonzero().reshape((-1,))
            first, size = starts[cluster], counts[cluster]
            weight, bias = class_weight.narrow(0, first, size), class_bias.narrow(0, first, size)
            scores = rl.log_softmax(rl.linear(rows.index_select(0, own), weight, bias), 1)
            total = total + scores.gather(1, places.index_select(0, own).unsqueeze(1)).sum()
        return -total


@register("nn.HSM")
class HSM(TwoLevels):
    """The negative log-probability of classes in clusters: a softmax over the clusters, times one
    over the classes of the cluster (Goodman 2001, "Classes for fast maximum entropy training").

    Args:
        mapping: per class a row {cluster, place in it}, both from 1: a tensor or a table.
        input_size: length of the input vectors.
        unk_index: a class that does not count, 0 for none.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> criterion = nn.HSM([[1, 1], [1, 2], [2, 1]], 4)
    >>> criterion.reset(0, 0)
    >>> round(criterion.forward(rl.zeros(1, 4, dtype=rl.float64), rl.tensor([3])), 6)
    0.693147
    """

    gradient_names: ClassVar[dict[str, str]] = {
        "cluster_weight": "cluster_grad_weight",
        "cluster_bias": "cluster_grad_bias",
        "class_weight": "class_grad_weight",
        "class_bias": "class_grad_bias",
    }
    parameter_names = tuple(gradient_names)
    uncast_names = ("mapping", "n_class_in_cluster", "class_start_indices")
    unk_index = 0
    n_class_in_cluster: Tensor
    class_start_indices: Tensor

    def __init__(self, mapping: Any, input_size: int, unk_index: int | None = None) -> None:
        super().__init__()
        if not isinstance(mapping, Tensor):
            mapping = rl.tensor([nested.elements(row) for row in nested.elements(mapping)])
        self.mapping = mapping.to(rl.int64)
        counts = check_mapping(self, self.mapping)
        self.n_classes, self.n_clusters = self.mapping.shape[0], len(counts)
        self.n_class_in_cluster = rl.tensor(counts, dtype=rl.int64)
        self.n_max_class_in_cluster = max(counts)
        self.class_start_indices = self.n_class_in_cluster.cumsum(0) - self.n_class_in_cluster
        self.unk_index = unk_index or 0
        for part, rows in (("cluster", self.n_clusters), ("class", self.n_classes)):
            self.__dict__[f"{part}_weight"] = new_parameter(rows, input_size)
            self.__dict__[f"{part}_bias"] = new_parameter(rows)
            self.__dict__[f"{part}_grad_weight"] = new_parameter(rows, input_size)
            self.__dict__[f"{part}_grad_bias"] = new_parameter(rows)
        self.logSMCluster = make("LogSoftMax")
        self.logLossCluster = ClassNLLCriterion(None, False)
        self.batch_size = 0
        self.reset()

    def reset(self, weight_stdv: float | None = None, bias_stdv: float | None = None) -> None:
        """Draws new parameters.

        Args:
            weight_stdv, bias_stdv: their standard deviations, by default 0.1.
        """
        with rl.no_grad():
            for name in self.parameter_names:
                given = weight_stdv if name.endswith("weight") else bias_stdv
                self.__dict__[name].normal_(0, 1).mul_(0.1 if given is None else given)

    def starts(self) -> list[int]:
        return [int(n) for n in self.class_start_indices.tolist()]

    def counts(self) -> list[int]:
        return [int(n) for n in self.n_class_in_cluster.tolist()]

    def value(self, input: Tensor, target: Any, *parameters: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (1, 2):
            raise ValueError(f"{self}: expected a vector or a batch, got {nested.describe(input)}")
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        labels = target if isinstance(target, Tensor) else rl.tensor([target])
        labels = from_one(self, labels.reshape((-1,)), int(self.n_classes))
        if self.unk_index:
            counted = (labels != int(self.unk_index) - 1).nonzero().reshape((-1,))
            rows, labels = rows.index_select(0, counted), labels.index_select(0, counted)
        return self.losses(rows, labels, *parameters)


@register("nn.ClassHierarchicalNLLCriterion")
class ClassHierarchicalNLLCriterion(TwoLevels):
    """The negative log-probability of one class in clusters, for one vector at a time.

    Args:
        mapping: a tensor with a row {cluster, place in it} per class, both from 1.
        clusterCounts: a tensor with the number of classes of every cluster.
        inputSize: length of the input vectors.
    """

    gradient_names: ClassVar[dict[str, str]] = {
        "clusterMatrix": "clusterMatrixDx",
        "clusterBias": "clusterBiasDx",
        "classMatrix": "classMatrixDx",
        "classBias": "classBiasDx",
    }
    parameter_names = tuple(gradient_names)
    startIndex: Tensor
    clusterCounts: Tensor

    def __init__(self, mapping: Tensor, clusterCounts: Tensor, inputSize: int) -> None:
        super().__init__()
        counts = check_mapping(self, mapping)
        if clusterCounts.reshape((-1,)).to(rl.int64).tolist() != counts:
            raise ValueError(
                f"{self.torch_typename}: clusterCounts is {clusterCounts.tolist()}, but the "
                f"clusters of mapping have {counts} classes"
            )
        dtype = new_parameter(1).dtype
        self.mapping, self.clusterCounts = mapping.to(dtype), clusterCounts.to(dtype)
        self.startIndex = self.clusterCounts.cumsum(0) - self.clusterCounts + 1
        for part, rows in (("cluster", len(counts)), ("class", mapping.shape[0])):
            drawn = new_parameter(rows, inputSize).normal_(0, 1) / math.sqrt(inputSize)
            self.__dict__[f"{part}Matrix"] = drawn
            self.__dict__[f"{part}Bias"] = new_parameter(rows)
            self.__dict__[f"{part}MatrixDx"] = new_parameter(rows, inputSize)
            self.__dict__[f"{part}BiasDx"] = new_parameter(rows)

    def starts(self) -> list[int]:
        return [int(n) - 1 for n in self.startIndex.tolist()]

    def counts(self) -> list[int]:
        return [int(n) for n in self.clusterCounts.tolist()]

    def value(self, input: Tensor, target: Any, *parameters: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 1:
            raise ValueError(f"{self}: expected one vector, got {nested.describe(input)}")
        labels = target if isinstance(target, Tensor) else rl.tensor([target])
        labels = from_one(self, labels.reshape((-1,)), self.mapping.shape[0])
        return self.losses(input.unsqueeze(0), labels, *parameters)

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        """The gradient of the input; those of the parameters are added up too, as in Torch7."""
        return super().backward(input, target)


@register("nn.ClassNLLCriterionWithUNK")
class ClassNLLCriterionWithUNK(Criterion):
    """The negative log-probability of the right class, where one class does not count.

    The mean over a batch; the sum over the others where some are of that class.

    Args:
        unk_index: the class that does not count (labels are from 1), or None.
        sizeAverage: False for sums.
    """

    unk_index: int | None = None

    def __init__(self, unk_index: int | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.unk_index = unk_index
        self.crit = ClassNLLCriterion(None, sizeAverage)

    def compute(self, input: Tensor, target: Any) -> Tensor:
        if self.unk_index is None or not isinstance(input, Tensor) or input.ndim not in (1, 2):
            return self.crit(input, target)
        labels = target if isinstance(target, Tensor) else rl.tensor([target])
        counted = (labels.reshape((-1,)) != int(self.unk_index)).nonzero().reshape((-1,))
        if counted.numel() == labels.numel():
            return self.crit(input, target)
        if not counted.numel():
            return (input * 0).sum()
        rows, labels = input.index_select(0, counted), labels.index_select(0, counted)
        value = self.crit(rows, labels)
        return value * counted.numel() if self.crit.sizeAverage else value


@register("nn.SparseNLLCriterion")
class SparseNLLCriterion(Criterion):
    """The cross entropy of log-probabilities with sparse probabilities, {probabilities, classes}:
    per sample K numbers each, classes from 1.

    Args:
        K: how many classes a target names.
    """

    do_target_check = True
    MOST_OFF = 1e-3  # how much the probabilities of a target may miss 1

    def __init__(self, K: int) -> None:
        super().__init__()
        self.K = K
        self.do_target_check = True
        self.sizeAverage = True

    def compute(self, input: Tensor, target: Activation) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (1, 2):
            raise ValueError(
                f"{self}: expected log-probabilities of size C or NxC, got {nested.describe(input)}"
            )
        rows = input.reshape((-1, input.shape[-1]))
        chances, classes = (part.reshape((rows.shape[0], -1)) for part in nested.elements(target))
        off = (chances.sum(1) - 1).abs().amax().item()
        if self.do_target_check and off > self.MOST_OFF:
            raise ValueError(
                f"{self}: the probabilities of a target must add up to 1, but miss it by {off:g}; "
                "set do_target_check to False to allow that"
            )
        places = from_one(self, classes, rows.shape[1])
        total = -(rows.gather(1, places) * chances.to(rows.dtype)).sum()
        return total / rows.shape[0] if self.sizeAverage else total


def soft_plus(input: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    return rl.softplus(input, 1, 20)


@register("nn.SoftPlusLSECriterion")
class SoftPlusLSECriterion(Criterion):
    """The sum over samples of log(1 + the sum of exp(x)); there is no target.

    Args:
        sizeAverage: unused; kept for files.
    """

    threshold = 20

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = sizeAverage is None or sizeAverage
        self.threshold = 20

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        return soft_plus(self.sums(input)).sum()

    def sums(self, input: Tensor) -> Tensor:
        """The logarithms of the sums of exp(x)."""
        if not isinstance(input, Tensor) or input.ndim != 2:
            raise ValueError(f"{self}: expected a batch NxC, got {nested.describe(input)}")
        return rl.logsumexp(input, [1])


@register("nn.SoftPlusLSEMinusLSECriterion")
class SoftPlusLSEMinusLSECriterion(SoftPlusLSECriterion):
    """The sum over samples of log(1 + 1 / the sum of exp(x)); there is no target.

    Args:
        sizeAverage: unused; kept for files.
    """

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        sums = self.sums(input)
        return (soft_plus(sums) - sums).sum()


@register("nn.TrueNLLCriterion")
class TrueNLLCriterion(ClassNLLCriterion):
    """The negative log-probability of the right class (labels count from 1).

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the (weighted) mean.
        ignoreIndex: a label that does not count.
    """


@register("nn.SequentialCriterion")
class SequentialCriterion(Criterion):
    """A criterion of what a module makes of the input; the module's parameters are its own.

    Args:
        module: the module.
        criterion: the criterion.
    """

    def __init__(self, module: Any, criterion: Any) -> None:
        super().__init__()
        self.module = module
        self.criterion = criterion

    def children(self) -> list[Any]:
        return [self.module, self.criterion]

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        return self.module.parameters()

    def compute(self, input: Activation, target: Any) -> Tensor:
        return self.criterion(self.module(input), target)

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        self.output = self.criterion.forward(self.module.forward(input), target)
        return self.output

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        gradient = self.criterion.updateGradInput(self.module.output, target)
        self.gradInput = self.module.updateGradInput(input, gradient)
        return self.gradInput

    def accGradParameters(self, input: Activation, target: Any, scale: float = 1) -> None:
        self.module.accGradParameters(input, self.criterion.gradInput, scale)

    def backward(  # type: ignore[override]
        self, input: Activation, target: Any = None
    ) -> Activation:
        gradient = self.criterion.backward(self.module.output, target)
        self.gradInput = self.module.backward(input, gradient)
        return self.gradInput
