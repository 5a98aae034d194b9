"""Parts of OpenNMT's networks. Most wrap a graph that was built when the model was made."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.criterion import ClassNLLCriterion, ParallelCriterion
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

# What the first numbers of a vocabulary mean.
PAD, UNK, BOS, EOS = 1, 2, 3, 4


@register("onmt.Network")
class Network(Decorator):
    """Runs the network that it holds.

    Args:
        net: the network.
    """

    net: Any

    def __init__(self, net: Any) -> None:
        super().__init__(net)
        self.net = net

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        super()._load_fields(fields, version)
        if not self.__dict__.get("modules") and self.__dict__.get("net") is not None:
            self.modules = [self.net]

    def replace_children(self, function: Any) -> None:
        super().replace_children(function)
        if self.modules:
            self.net = self.modules[0]

    def __str__(self) -> str:
        return self.torch_typename


# Networks that differ in how they were built, not in how they run.
WRAPPERS = {
    "Attention": "The base of attentions.",
    "ContextGateAttention": "{state, context} to a gated mixture of both.",
    "FeaturesEmbedding": "The vectors of several features, joined or added.",
    "FeaturesGenerator": "Log-probabilities of words and of features.",
    "LayerNormalization": "Normalises every sample by its own mean and deviation.",
    "VDropout": "Dropout with one mask for all steps.",
    "RecurrentBatchNorm": "Batch normalisation in a recurrent network.",
}


def make_wrapper(name: str, documentation: str) -> type:
    members = {"__doc__": documentation, "__module__": __name__}
    return register(f"onmt.{name}")(type(name, (Network,), members))


for _name, _documentation in WRAPPERS.items():
    globals()[_name] = make_wrapper(_name, _documentation)


@register("onmt.Bridge")
class Bridge(Network):
    """Makes the first states of the decoder from the last ones of the encoder; without a network
    there are none."""

    def compute(self, input: Activation) -> Activation:
        return super().compute(input) if self.modules else None

    def updateOutput(self, input: Activation) -> Activation:
        self.output = super().updateOutput(input) if self.modules else None
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        if not self.modules:
            self.gradInput = nested.zeros_like(input)
            return self.gradInput
        return super().updateGradInput(input, gradOutput)

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        if self.modules:
            super().accGradParameters(input, gradOutput, scale)


@register("onmt.WordEmbedding")
class WordEmbedding(Network):
    """The vectors of words.

    Args:
        vocabSize: how many words.
        vecSize: length of a vector.
        fix: True for vectors that are not learnt.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.onmt.WordEmbedding(10, 3).forward(rl.tensor([2, 5])).shape
    (2, 3)
    """

    fix: Any = False

    def __init__(self, vocabSize: int, vecSize: int, fix: bool = False) -> None:
        super().__init__(make("LookupTable", vocabSize, vecSize, PAD))
        self.vocabSize = vocabSize
        self.fix = fix

    def parameters(self) -> tuple[list, list]:
        return ([], []) if self.fix else super().parameters()

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        if not self.fix:
            super().accGradParameters(input, gradOutput, scale)


@register("onmt.Generator")
class Generator(Network):
    """Log-probabilities of the next word (and its features): a table of one tensor each.

    Args:
        rnn_size: size of the state.
        sizes: of the vocabularies.
    """

    version: int | None = None  # the first files have none: their network gives one tensor

    def __init__(self, rnn_size: int, sizes: list[int]) -> None:
        heads = make("ConcatTable")
        for size in sizes:
            head = make("Sequential").add(make("Linear", rnn_size, size))
            heads.add(head.add(make("LogSoftMax")))
        super().__init__(heads)
        self.version = 2

    @staticmethod
    def _state(input: Activation) -> Tensor:
        return nested.elements(input)[0] if nested.is_table(input) else input

    def compute(self, input: Activation) -> Activation:
        return self._as_table(super().compute(self._state(input)))

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self._as_table(super().updateOutput(self._state(input)))
        return self.output

    @staticmethod
    def _as_table(output: Activation) -> Activation:
        return output if nested.is_table(output) else nested.table([output])

    def _own_gradient(self, gradOutput: Activation) -> Activation:
        gives_table = nested.is_table(self.modules[0].output)
        return gradOutput if gives_table else nested.elements(gradOutput)[0]

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        gradient = self._own_gradient(gradOutput)
        self.gradInput = super().updateGradInput(self._state(input), gradient)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        gradient = self._own_gradient(gradOutput)
        super().accGradParameters(self._state(input), gradient, scale)


@register("onmt.MaskedSoftmax")
class MaskedSoftmax(Network):
    """Softmax over the words of sentences that are padded on the left; padding gets nothing.

    Args:
        sourceSizes: lengths of the sentences.
        sourceLength: with padding.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.onmt.MaskedSoftmax([1, 2], 2).forward(rl.zeros(2, 2)).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """

    def __init__(self, sourceSizes: Any, sourceLength: int) -> None:
        Module.__init__(self)
        self.modules = []
        self.sourceSizes = sourceSizes
        self.sourceLength = sourceLength

    def compute(self, input: Tensor) -> Tensor:
        if self.modules:  # a file has its graph
            return super().compute(input)
        return rl.softmax(input.masked_fill(self._padding(input), -math.inf), 1)

    def _padding(self, input: Tensor) -> Tensor:
        sizes = self.sourceSizes
        sizes = sizes.tolist() if isinstance(sizes, Tensor) else nested.elements(sizes)
        length = int(self.sourceLength)
        if input.shape[1] != length or input.shape[0] % len(sizes):
            raise ValueError(
                f"{self}: expected {len(sizes)} x {length}, got {nested.describe(input)}"
            )
        sentences = [size for size in sizes for _ in range(input.shape[0] // len(sizes))]
        places = rl.arange(length).unsqueeze(0)
        first = rl.tensor([length - int(size) for size in sentences]).unsqueeze(1)
        return places < first

    def updateOutput(self, input: Tensor) -> Tensor:
        if self.modules:
            return super().updateOutput(input)
        return Module.updateOutput(self, input)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self.modules:
            return super().updateGradInput(input, gradOutput)
        return Module.updateGradInput(self, input, gradOutput)

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """There are no parameters."""


@register("onmt.PositionEmbedding")
class PositionEmbedding(LookupTable):
    """The vectors of the places of words; those of padding and of far places are one more.

    Later versions take {vectors (batch x steps x size), lengths of the sentences}, which are padded
    on the left; there places count from 2, and 1 is padding.

    Args:
        dimension: along which places are counted, from 1 (or from the end, negative).
        nIndex: how many places.
        nOutput: length of a vector.
    """

    dimension: int
    max_pos: int

    def __init__(self, dimension: int, nIndex: int, nOutput: int) -> None:
        super().__init__(nIndex + 1, nOutput)
        self.dimension = dimension
        self.max_pos = nIndex
        self.nOutput = nOutput

    def compute(self, input: Activation, weight: Tensor) -> Tensor:
        if nested.is_table(input):
            return super().compute(self._places(*nested.elements(input)[:2]), weight)
        dimension = int(self.dimension)
        axis = dimension - 1 if dimension > 0 else input.ndim + dimension
        shape = [1] * input.ndim
        shape[axis] = -1
        places = (rl.arange(input.shape[axis]) + 1).clamp(max=int(self.max_pos) + 1)
        places = places.reshape(tuple(shape)).expand(input.shape)
        return super().compute(rl.where(input == PAD, int(self.max_pos) + 1, places), weight)

    def _places(self, vectors: Tensor, lengths: Any) -> Tensor:
        if not isinstance(lengths, Tensor):
            lengths = rl.tensor([int(length) for length in nested.elements(lengths)])
        steps = vectors.shape[1]
        padding = (steps - lengths.to(rl.int64)).unsqueeze(1)
        places = rl.arange(steps).unsqueeze(0) + 2 - padding
        return places.clamp(PAD, int(self.max_pos) + 1)

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        self.gradInput = nested.zeros_like(input)
        return self.gradInput


@register("onmt.JoinReplicateTable")
class JoinReplicateTable(Module):
    """Joins tensors along one dimension, after those of size 1 along another are repeated.

    Args:
        dimensionReplicate, dimensionJoin: counted from 1, or from the end when negative.
        nInputDims: dimensions of one sample; inputs with one more are batches.
    """

    parameter_names = ()
    nInputDims: int | None = None
    dimensionReplicate: int
    dimensionJoin: int

    def __init__(
        self, dimensionReplicate: int, dimensionJoin: int, nInputDims: int | None = None
    ) -> None:
        super().__init__()
        self.dimensionReplicate = dimensionReplicate
        self.dimensionJoin = dimensionJoin
        if nInputDims is not None:
            self.nInputDims = nInputDims

    def _axis(self, dimension: int, first: Tensor) -> int:
        if dimension < 0:
            return first.ndim + dimension
        is_batch = self.nInputDims is not None and first.ndim == self.nInputDims + 1
        return dimension - 1 + is_batch

    def compute(self, input: Activation) -> Tensor:
        parts = nested.elements(input)
        repeated = self._axis(int(self.dimensionReplicate), parts[0])
        joined = self._axis(int(self.dimensionJoin), parts[0])
        size = max(part.shape[repeated] for part in parts)
        shapes = [list(part.shape) for part in parts]
        for shape in shapes:
            shape[repeated] = size
        parts = [part.expand(tuple(shape)) for part, shape in zip(parts, shapes, strict=True)]
        return rl.cat(parts, joined)


@register("onmt.ParallelClassNLLCriterion")
class ParallelClassNLLCriterion(ParallelCriterion):
    """The summed negative log-probabilities of words and features; padding does not count.

    Args:
        outputSizes: of the vocabularies.
    """

    def __init__(self, outputSizes: list[int]) -> None:
        super().__init__(False)
        for size in outputSizes:
            weights = rl.ones(size, dtype=rl.float64)
            weights[PAD - 1] = 0
            self.add(ClassNLLCriterion(weights, False))
        self.mainCriterion = self.criterions[0]
