"""Package nnx: probabilities of many classes as paths in a tree (Morin and Bengio 2005)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter, sizes_of


@register("nn.SoftMaxTree")
class SoftMaxTree(Module):
    """The log-probability of a leaf of a tree, in which every node chooses among its children:
    {x, leaf}. The output has one number per sample.

    Args:
        inputSize: length of the input vectors.
        hierarchy: {node: its children}; nodes are positive numbers.
        rootId: the root, by default 1.
        accUpdate: gradients go straight to the parameters, through `accUpdateGradParameters`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> tree = nn.SoftMaxTree(2, {1: [2, 3], 2: [4, 5, 6]}, 1)
    >>> leaves = rl.tensor([3, 4, 5, 6])
    >>> output = tree.forward([rl.ones(4, 2, dtype=rl.float64), leaves])
    >>> round(output.exp().sum().item(), 12)      # they are all there are
    1.0
    """

    accUpdate: bool | None = None
    uncast_names = ("parentChildren", "childParent", "childIds", "parentIds")

    def __init__(
        self,
        inputSize: int,
        hierarchy: Any,
        rootId: int | None = None,
        accUpdate: bool | None = None,
        static: bool | None = None,
        verbose: bool | None = None,
    ) -> None:
        super().__init__()
        families = {int(parent): sizes_of(children) for parent, children in hierarchy.items()}
        self.rootId = 1 if rootId is None else rootId
        self.inputSize = inputSize
        if accUpdate is not None:
            self.accUpdate = accUpdate
        self._set_tree(families)
        self.weight = new_parameter(self.nChildNode, inputSize)
        self.gradWeight = new_parameter(self.nChildNode, inputSize)
        self.bias = new_parameter(self.nChildNode)
        self.gradBias = new_parameter(self.nChildNode)
        self._gradInput, self._gradTarget = new_empty(), new_empty()
        self.gradInput = nested.table([self._gradInput, self._gradTarget])
        self.reset()

    def _set_tree(self, families: dict[int, list[int]]) -> None:
        children = [child for family in families.values() for child in family]
        nodes = [*families, *children]
        if not children or min(nodes) < 1:
            raise ValueError("nn.SoftMaxTree: nodes must be positive numbers")
        self.nChildNode, self.nParentNode = len(children), len(families)
        self.minNodeId, self.maxNodeId = min(nodes), max(nodes)
        self.maxParentId, self.maxChildId = max(families), max(children)
        self.maxFamily = max(len(family) for family in families.values())
        self.childIds = rl.tensor(children, dtype=rl.int32)
        self.parentIds = rl.tensor(list(families), dtype=rl.int32)
        # Of every parent: its first row (from 1) and how many; of every child: parent, place.
        self.parentChildren = rl.full((self.maxParentId, 2), -1, dtype=rl.int32)
        self.childParent = rl.full((self.maxChildId, 2), -1, dtype=rl.int32)
        start = 1
        for parent, family in families.items():
            self.parentChildren[parent - 1] = rl.tensor([start, len(family)], dtype=rl.int32)
            for place, child in enumerate(family, 1):
                self.childParent[child - 1] = rl.tensor([parent, place], dtype=rl.int32)
            start += len(family)

    def reset(self, stdv: float | None = None) -> None:
        bound = uniform_bound(stdv, self.nChildNode * self.inputSize)
        draw_uniform(bound, self.weight, self.bias)

    def path(self, leaf: int) -> list[tuple[int, int]]:
        """From a leaf to the root: (parent, place of the child among its children, from 1)."""
        steps: list[tuple[int, int]] = []
        node, known = leaf, self.childParent.shape[0]
        while node != int(self.rootId):
            parent, place = self.childParent[node - 1].tolist() if 1 <= node <= known else (-1, -1)
            if parent < 0 or len(steps) > known:
                raise IndexError(f"{self}: {leaf} is not below the root, {self.rootId}")
            steps.append((int(parent), int(place)))
            node = int(parent)
        return steps

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        rows, target = nested.elements(input)[:2]
        if rows.ndim != 2 or rows.shape[1] != weight.shape[1]:
            raise ValueError(
                f"{self}: expected {{Nx{weight.shape[1]}, leaves}}, got {nested.describe(input)}"
            )
        uses: dict[int, tuple[list, list]] = {}  # parent: samples, places
        for sample, leaf in enumerate(target.detach().reshape((-1,)).tolist()):
            for parent, place in self.path(int(leaf)):
                samples, places = uses.setdefault(parent, ([], []))
                samples.append(sample)
                places.append([place - 1])
        output = rl.zeros((rows.shape[0],), dtype=rows.dtype)
        for parent, (samples, places) in uses.items():
            start, count = (int(n) for n in self.parentChildren[parent - 1].tolist())
            chosen = rl.tensor(samples, dtype=rl.int64)
            scores = rl.linear(
                rows.index_select(0, chosen),
                weight.narrow(0, start - 1, count),
                bias.narrow(0, start - 1, count),
            )
            own = rl.log_softmax(scores, 1).gather(1, rl.tensor(places, dtype=rl.int64))
            output = output.index_add(0, chosen, own.squeeze(1))
        return output

    def getNodeParameters(self, parentId: int) -> tuple[list[Tensor], list[Tensor]]:
        """Weight and bias of the children of a node, and their gradients."""
        start, count = (int(n) for n in self.parentChildren[parentId - 1].tolist())

        def part(tensor: Tensor) -> Tensor:
            return tensor.detach().narrow(0, start - 1, count)

        parameters, gradients = self.parameters()
        return [part(p) for p in parameters], [part(g) for g in gradients]


@register("nn.SoftMaxForest")
class SoftMaxForest(Decorator):
    """A mixture of trees, which another network weighs by the same input: {x, leaf}.

    Args:
        inputSize: length of the input vectors.
        trees: the hierarchies, as in `SoftMaxTree`.
        rootIds: the root of every tree.
        gaterSize: sizes of the hidden layers of the network that weighs, by default none.
        gaterAct: what stands behind each of them, by default Tanh.
        accUpdate: as in `SoftMaxTree`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> forest = nn.SoftMaxForest(2, [{1: [2, 3]}, {9: [3, 2]}], [1, 9], [4])
    >>> x, leaves = rl.ones(2, 2, dtype=rl.float64), rl.tensor([2, 3])
    >>> forest.forward([x, leaves]).shape
    (2,)
    """

    def __init__(
        self,
        inputSize: int,
        trees: Any,
        rootIds: Any,
        gaterSize: Any = None,
        gaterAct: Any = None,
        accUpdate: bool | None = None,
    ) -> None:
        super().__init__(None)
        pairs = zip(nested.elements(trees), nested.elements(rootIds), strict=True)
        made = [SoftMaxTree(inputSize, tree, root, accUpdate) for tree, root in pairs]
        self.smts = nested.table(made)
        self.experts = make("ConcatTable")
        self.experts.modules = list(made)
        self.gater = make("Sequential").add(make("SelectTable", 1))
        size, between = inputSize, gaterAct or make("Tanh")
        for hidden in nested.elements(gaterSize or []):
            self.gater.add(make("Linear", size, hidden)).add(between.clone())
            size = hidden
        self.gater.add(make("Linear", size, len(made))).add(make("SoftMax"))
        self.trunk = make("ConcatTable").add(self.gater).add(self.experts)
        self.mixture = make("MixtureTable")
        self.module = self.modules[0] = make("Sequential").add(self.trunk).add(self.mixture)

    def __str__(self) -> str:
        return self.torch_typename


@register("nn.TreeNLLCriterion")
class TreeNLLCriterion(Criterion):
    """Minus the mean of log-probabilities, as SoftMaxTree gives them; the target does not count."""

    def compute(self, input: Tensor, target: Any) -> Tensor:
        return -input.mean()
