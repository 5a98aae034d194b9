"""Package fbnn (facebook/fbnn): layers of sparse vectors, given as rows {index from 1, value}."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.packages.fbnn import WeightedLookupTable
from relume.legacy_nn.registry import register
from relume.legacy_nn.sparse_layers import SMALL_BIAS, sum_by_sample
from relume.legacy_nn.sparse_layers import SparseLinear as OrdinarySparseLinear
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_parameter


def check_rows(layer: Module, input: Any, *dimensions: int) -> Tensor:
    """A tensor of rows {index, value} with as many dimensions as one of `dimensions`."""
    if not isinstance(input, Tensor) or input.ndim not in dimensions or input.shape[-1] != 2:
        sizes = " or ".join("x".join([*"BN"[2 - d + 1 :], "2"]) for d in dimensions)
        raise ValueError(
            f"{layer}: expected rows {{index, value}} of size {sizes}, got {nested.describe(input)}"
        )
    return input


@register("fbnn.SparseLinear")
class SparseLinear(OrdinarySparseLinear):
    """y = weight x + bias, for vectors given as rows {index from 1, value}, or as a table
    {indices, values} with one row per sample.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        useSparseUpdate, skipUpdateGradInput: unused; kept for files.
    """

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        useSparseUpdate: bool | None = None,
        skipUpdateGradInput: bool | None = None,
    ) -> None:
        super().__init__(inputSize, outputSize)
        self.useSparseUpdate = bool(useSparseUpdate)
        self.numBackward = 0

    def _samples(self, input: Activation) -> list[Tensor]:
        if not nested.is_table(input):
            return super()._samples(input)
        parts = nested.elements(input)
        if len(parts) != 2 or any(not isinstance(part, Tensor) for part in parts):
            raise ValueError(f"{self}: expected {{indices, values}}, got {nested.describe(input)}")
        indices, values = (part if part.ndim == 2 else part.unsqueeze(0) for part in parts)
        if indices.ndim != 2 or indices.shape != values.shape:
            raise ValueError(
                f"{self}: indices and values must have one size, got {nested.describe(input)}"
            )
        rows = rl.stack([indices.to(values.dtype), values], 2)
        return list(rl.unbind(rows, 0))


@register("fbnn.SegSparseLinear")
class SegSparseLinear(TableLayer):
    """y = weight x + bias of sparse vectors: {samples, indices, values}, one entry per value, all
    counted from 1. The table may say `batch_size`, for samples without entries at the end. The
    weight is inputs x outputs; the input gets no gradient.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        useSparseGrad: unused; kept for files.
        learningRateMul: factor of the learning rate, by default 1.

    >>> import relume as rl
    >>> from relume.legacy_nn import fbnn
    >>> layer = fbnn.SegSparseLinear(10, 3)
    >>> entries = [rl.tensor([1, 1, 2]), rl.tensor([4, 9, 4]), rl.ones(3, dtype=rl.float64)]
    >>> layer.forward(entries).shape
    (2, 3)
    """

    parameter_names: tuple[str, ...] = ("weight", "bias")
    learningRateMul: float = 1

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        useSparseGrad: bool | None = None,
        learningRateMul: float | None = None,
    ) -> None:
        super().__init__()
        self.weight = new_parameter(outputSize, inputSize)
        self.bias = new_parameter(outputSize)
        self.gradBias = new_parameter(outputSize)
        self.useSparseGrad = bool(useSparseGrad)
        self.learningRateMul = 1 if learningRateMul is None else learningRateMul
        draw_uniform(uniform_bound(None, inputSize), self.weight, self.bias)
        with rl.no_grad():
            self.bias.mul_(SMALL_BIAS)
        self.weight = self.weight.transpose(0, 1).contiguous()
        self.gradWeight = new_parameter(inputSize, outputSize)

    def setLearningRateMul(self, learningRateMul: float) -> None:
        """Sets the factor of the learning rate."""
        self.learningRateMul = learningRateMul

    def setUseSparseGrad(self, useSparseGrad: bool) -> None:
        """Does nothing that matters here."""
        self.useSparseGrad = useSparseGrad

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        samples, indices, values = self._elements(input, 3)[:3]
        if not samples.numel() == indices.numel() == values.numel():
            raise ValueError(
                f"{self}: expected {{samples, indices, values}} of one length, "
                f"got {nested.describe(input)}"
            )
        count = self._kept or (int(samples.amax().item()) if samples.numel() else 0)
        owners = from_one(self, samples, count).tolist()
        rows = weight.index_select(0, from_one(self, indices, weight.shape[0]))
        parts = rows * values.detach().to(weight.dtype).unsqueeze(1)
        return sum_by_sample(parts, owners, count) + bias

    def updateOutput(self, input: Activation) -> Tensor:
        given = input.get("batch_size") if isinstance(input, (dict, Table)) else None
        self._kept = None if given is None else int(given)
        return super().updateOutput(input)

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        self.gradInput = nested.table([])
        return self.gradInput

    def updateParameters(self, learningRate: float) -> None:
        """Takes a gradient step, after which the gradients are zero."""
        super().updateParameters(learningRate * self.learningRateMul)
        self.zeroGradParameters()

    def __str__(self) -> str:
        inputs, outputs = self.weight.shape
        return f"{self.torch_typename}({inputs} -> {outputs})"


def to_dense(rows: Tensor, size: int) -> Tensor:
    """Rows {index, value} as a vector."""
    places = from_one("rows {index, value}", rows.select(1, 0), size)
    return rl.zeros((size,), dtype=rows.dtype).index_add(0, places, rows.select(1, 1))


def to_sparse(vector: Tensor, threshold: float) -> Tensor:
    """The elements of a vector above a threshold in size, as rows {index, value}."""
    places = (vector.detach().abs() > threshold).nonzero().reshape((-1,))
    indices = (places + 1).to(vector.dtype)
    return rl.stack([indices, vector.index_select(0, places)], 1)


@register("nn.SparseConverter")
class SparseConverter(Module):
    """Vectors as rows {index, value}, or the other way round.

    Args:
        fconv: what happens to the input: "StoD" (sparse to dense), "DtoS", or None for nothing.
        bconv: what happens to the gradient of the output.
        dim: length of the vectors.
        thresh: larger elements are kept, by default 0.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SparseConverter("DtoS", "StoD", 3).forward(rl.tensor([0.0, 5.0, 0.0])).tolist()
    [[2.0, 5.0]]
    """

    parameter_names = ()

    def __init__(
        self,
        fconv: str | None = None,
        bconv: str | None = None,
        dim: int | None = None,
        thresh: float | None = None,
    ) -> None:
        super().__init__()
        for name in (fconv, bconv):
            if name not in (None, "StoD", "DtoS"):
                raise ValueError(f'{self.torch_typename}: no conversion {name!r}; "StoD" or "DtoS"')
        if fconv is not None and fconv == bconv:
            raise ValueError(f"{self.torch_typename}: fconv and bconv must not be the same")
        self.dim, self.fconv, self.bconv = dim, fconv, bconv
        self.thresh = 0 if thresh is None else thresh

    def _convert(self, name: str | None, value: Tensor) -> Tensor:
        if name is None:
            return value
        if name == "StoD":
            return to_dense(check_rows(self, value, 2), int(self.dim or 0))
        if not isinstance(value, Tensor) or value.ndim != 1:
            raise ValueError(f"{self}: expected a vector, got {nested.describe(value)}")
        return to_sparse(value, float(self.thresh))

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = self._convert(self.fconv, input)
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = self._convert(self.bconv, gradOutput)
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """There are no parameters."""


@register("nn.SparseSum")
class SparseSum(Module):
    """The sum of sparse vectors of one batch, as rows {index, value} in the order of indices."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        check_rows(self, input, 3)
        if input.shape[0] == 1:
            return input.select(0, 0)
        rows = input.reshape((-1, 2))
        indices = rows.detach().select(1, 0)
        known = sorted(set(indices.tolist()))
        owners = [known.index(index) for index in indices.tolist()]
        sums = sum_by_sample(rows.select(1, 1), owners, len(known))
        return rl.stack([rl.tensor(known, dtype=rows.dtype), sums], 1)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        """Torch7 gives every vector the gradient of the sum, whatever its indices are."""
        self.gradInput = gradOutput.unsqueeze(0).expand((input.shape[0], *gradOutput.shape)).clone()
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """There are no parameters."""


@register("nn.SparseThreshold")
class SparseThreshold(Module):
    """A threshold for the values of sparse vectors.

    Args:
        th, v: as in `nn.Threshold`.
    """

    parameter_names = ()
    module: Any

    def __init__(self, th: float | None = None, v: float | None = None) -> None:
        super().__init__()
        self.module = make("Threshold", *(n for n in (th, v) if n is not None))

    def compute(self, input: Tensor) -> Tensor:
        check_rows(self, input, 2, 3)
        last = input.ndim - 1
        values = self.module(input.select(last, 1))
        return rl.stack([input.select(last, 0), values], last)


@register("nn.SparseLookupTable")
class SparseLookupTable(Module):
    """Sparse vectors that indices name, times weights: rows {index, weight} to N x K x 2. Which
    elements are not zero is fixed; `accUpdateGradParameters` is how they learn.

    Args:
        indices: per vector the K indices of its elements.
        sparseGrad: unused; kept for files.
    """

    parameter_names = ("weight",)

    def __init__(self, indices: Tensor, sparseGrad: bool | None = None) -> None:
        super().__init__()
        self.nEntities, self.nIndices = indices.shape
        self.sparseGrad = True
        self.weight = new_parameter(*indices.shape, 2)
        self.weight.select(2, 0).copy_(indices)
        self.gradWeight = new_parameter(*indices.shape, 2)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            drawn = new_parameter(int(self.nEntities), int(self.nIndices))
            self.weight.select(2, 1).copy_(drawn.normal_(0, 1 if stdv is None else stdv))

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        rows = check_rows(self, input, 2).detach()
        chosen = weight.index_select(0, from_one(self, rows.select(1, 0), weight.shape[0]))
        values = chosen.select(2, 1) * rows.select(1, 1).to(weight.dtype).unsqueeze(1)
        return rl.stack([chosen.detach().select(2, 0), values], 2)


@register("nn.SparseKmax")
class SparseKmax(Module):
    """A dense embedding of rows {index, weight}, a linear function of it, and the K largest of its
    outputs that are candidates: N x K x 2, in the order of indices.

    Args:
        vocabSize: rows of the embedding.
        nDenseDim: length of its vectors.
        nSparseDim: outputs of the linear function.
        k: how many are kept.
        nCandidates: the first so many are candidates.
    """

    parameter_names = ()
    uncast_names = ("candidates",)
    weights: Tensor
    counts: Tensor
    candidates: Tensor

    def __init__(
        self, vocabSize: int, nDenseDim: int, nSparseDim: int, k: int, nCandidates: int
    ) -> None:
        super().__init__()
        self.nDenseDim, self.nSparseDim = nDenseDim, nSparseDim
        self.K, self.nCandidates = k, nCandidates
        self.denseEmbedding = WeightedLookupTable(vocabSize, nDenseDim)
        self.weights = new_parameter(nSparseDim, nDenseDim)
        self.counts = new_parameter(vocabSize, nCandidates)
        first = rl.arange(1, nCandidates + 1).to(rl.int16)
        self.candidates = first.unsqueeze(0).expand((vocabSize, nCandidates)).clone()
        draw_uniform(uniform_bound(None, nDenseDim), self.weights)

    def children(self) -> list[Any]:
        return [self.denseEmbedding]

    def reset(self, stdv: float | None = None) -> None:
        self.denseEmbedding.reset(stdv)
        self.counts.zero_()
        draw_uniform(uniform_bound(stdv, self.weights.shape[1]), self.weights)

    def updateOutput(self, input: Tensor) -> Tensor:
        rows = check_rows(self, input, 2)
        entities = from_one(self, rows.select(1, 0), self.candidates.shape[0])
        dense = self.denseEmbedding.forward(rows)
        results = []
        for entity, vector in zip(entities.tolist(), dense.detach(), strict=True):
            places = self.candidates[entity].to(rl.int64) - 1
            scores = rl.matmul(self.weights.index_select(0, places), vector)
            best = scores.topk(int(self.K), 0)[1]
            self.counts[entity].index_put_([best], rl.ones_like(scores[: int(self.K)]), True)
            best = best.index_select(0, places.index_select(0, best).sort(0)[1])
            indices = (places.index_select(0, best) + 1).to(scores.dtype)
            results.append(rl.stack([indices, scores.index_select(0, best)], 1))
        self.output = rl.stack(results, 0)
        return self.output

    def updateCandidateSets(self, nCandidates: int) -> None:
        """Keeps the candidates that were used most.

        Args:
            nCandidates: how many.
        """
        best = self.counts.topk(nCandidates, 1)[1]
        self.candidates = self.candidates.gather(1, best)
        self.nCandidates = nCandidates
        self.counts = rl.zeros((self.counts.shape[0], nCandidates), dtype=self.counts.dtype)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        raise NotImplementedError(f"{self} learns through accUpdateGradParameters alone")

    def accUpdateGradParameters(self, input: Tensor, gradOutput: Tensor, lr: float) -> None:
        """Takes a gradient step; gradients count where the output has elements."""
        dense, gradients = self.denseEmbedding.output.detach(), []
        with rl.no_grad():
            for sample, given in enumerate(gradOutput):
                known = dict(zip(given[:, 0].tolist(), given[:, 1].tolist(), strict=True))
                indices = [int(index) for index in self.output[sample][:, 0].tolist()]
                values = rl.tensor([known.get(index, 0.0) for index in indices], dtype=dense.dtype)
                gradients.append((indices, values))
            through = [
                rl.matmul(values, self.weights.index_select(0, rl.tensor(indices) - 1))
                for indices, values in gradients
            ]
            for (indices, values), vector in zip(gradients, dense, strict=True):
                change = values.unsqueeze(1) * vector
                places = rl.tensor(indices) - 1
                self.weights = self.weights.index_add(0, places, change, alpha=-lr)
            self.denseEmbedding.accUpdateGradParameters(input, rl.stack(through, 0), lr)
