"""Linear layers of sparse inputs, and one that computes some of its outputs only."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import ParallelTable, Sequential
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.errors import names_errors
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import MM, Identity
from relume.legacy_nn.types import new_parameter

SMALL_BIAS = 1e-6  # initial biases are this much smaller than the weights


def sum_by_sample(values: Tensor, samples: list[int], count: int) -> Tensor:
    """Adds up the rows that belong to one sample: rows of a (count x ...) tensor."""
    places = rl.tensor(samples, dtype=rl.int64)
    zeros = rl.zeros((count, *values.shape[1:]), dtype=values.dtype)
    return zeros.index_add(0, places, values)


@register("nn.SparseLinear")
class SparseLinear(Module):
    """y = weight x + bias, for vectors given as rows {index from 1, value}.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        doGradInput: compute the gradient of the input, rows {index, gradient} of all indices.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.SparseLinear(1000, 2)
    >>> one = rl.tensor([[3, 0.5], [700, 1.5]], dtype=rl.float64)
    >>> layer.forward(one).shape, layer.forward([one, one]).shape
    ((2,), (2, 2))
    """

    weight_dimensions = (2,)
    weightDecay: Any = 0  # a field that hides the method, as in Torch7
    doGradInput: bool | None = False

    def __init__(self, inputSize: int, outputSize: int, doGradInput: bool | None = None) -> None:
        super().__init__()
        self.gradInput = nested.table([])
        self.weightDecay = 0
        self.doGradInput = bool(doGradInput)
        self.weight = new_parameter(outputSize, inputSize)
        self.bias = new_parameter(outputSize)
        self.gradWeight = new_parameter(outputSize, inputSize)
        self.gradBias = new_parameter(outputSize)
        self.sparseUpdate = 0
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[1]), self.weight, self.bias)
        with rl.no_grad():
            self.bias.mul_(SMALL_BIAS)

    def _samples(self, input: Activation) -> list[Tensor]:
        if isinstance(input, Tensor) and input.ndim == 2:
            samples = [input]
        elif isinstance(input, Tensor) and input.ndim == 3:
            samples = list(rl.unbind(input, 0))
        else:
            samples = nested.elements(input)
        for sample in samples:
            if not isinstance(sample, Tensor) or sample.ndim != 2 or sample.shape[1] != 2:
                raise ValueError(
                    f"{self}: expected rows {{index, value}} of size Nx2, or a table of such "
                    f"tensors, got {nested.describe(input)}"
                )
        return samples

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        samples = self._samples(input)
        rows = rl.cat(samples, 0)
        columns = from_one(self, rows.detach().select(1, 0).to(rl.int64), weight.shape[1])
        parts = weight.transpose(0, 1).index_select(0, columns) * rows.select(1, 1).unsqueeze(1)
        owners = [i for i, sample in enumerate(samples) for _ in range(sample.shape[0])]
        output = sum_by_sample(parts, owners, len(samples)) + bias
        is_single = isinstance(input, Tensor) and input.ndim == 2
        return output.reshape((-1,)) if is_single else output

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        self._set_grad_input(input, [gradOutput])
        return self.gradInput

    @names_errors
    def backward(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> Activation:
        self.accGradParameters(input, gradOutput, scale)
        return self.updateGradInput(input, gradOutput)

    def accGradParameters(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> None:
        self._accumulate(self._differentiate(input, gradOutput, False, True), scale)
        if self.weightDecay:
            self.gradWeight.add_(self.weight.detach(), alpha=self.weightDecay)

    def _set_grad_input(self, input: Activation, gradients: list) -> None:
        """Torch7 gives the gradients of the whole vectors, not only of what the input names."""
        if not self.doGradInput:
            self.gradInput = nested.table([])
            return
        rows = rl.matmul(gradients[0].reshape((-1, self.weight.shape[0])), self.weight.detach())
        numbers = rl.arange(1, rows.shape[1] + 1).to(rows.dtype)
        full = [rl.stack([numbers, row], 1) for row in rl.unbind(rows, 0)]
        if not isinstance(input, Tensor):
            self.gradInput = nested.table(full)
        else:
            self.gradInput = full[0] if input.ndim == 2 else rl.stack(full, 0)


@register("nn.IndexLinear")
class IndexLinear(Module):
    """y = weight^T x + bias, for sparse vectors given as {indices, values}.

    The input is {indices, values} of one sample, {{indices, ...}, {values, ...}} of several, or
    {all indices, all values, counts}. Gradients of the weight are kept per index, in `running`,
    until `updateParameters` uses them.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        doGradInput: compute the gradient of the input.
        keysOffset: the number of the first index, by default 1.
        weight, bias: use these instead of fresh ones.
        normalize: divide every input by the largest size seen of it, and learn an offset;
            the weight then has four more columns: largest, 1 / largest, factor of the learning
            rate, offset.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.IndexLinear(1000, 2)
    >>> layer.forward([rl.tensor([3, 700]), rl.tensor([0.5, 1.5], dtype=rl.float64)]).shape
    (2,)
    """

    normalize = 0
    offset = -1
    weightDecay: Any = 0  # a field that hides the method, as in Torch7
    doGradInput: bool | None = False

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        doGradInput: bool | None = None,
        keysOffset: int | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        normalize: bool | None = None,
    ) -> None:
        super().__init__()
        self.normalize = 4 if normalize else 0
        self.offset = -1 if keysOffset is None else -keysOffset
        self.weightDecay = 0
        self.doGradInput = bool(doGradInput)
        self.inputSize = inputSize
        self.outputSize = outputSize
        size = outputSize + self.normalize
        self.weight = new_parameter(inputSize, size) if weight is None else weight
        self.bias = new_parameter(outputSize) if bias is None else bias
        self.gradWeight = new_parameter(0)
        self.gradBias = new_parameter(outputSize)
        for name in ("sizesCache", "cumSumSizesCache"):
            vars(self)[name] = nested.table([])  # which Torch7 works with
        for name in ("gradWeightBuffer", "normalizedValues", "valuesBuffer"):
            vars(self)[name] = new_parameter(0)
        self._forget()

    def _forget(self) -> None:
        running = nested.table([])
        running["counter"] = 1
        for name in ("keys", "cumSumSizes", "gradWeight"):
            running[name] = nested.table([])
        self.running = running

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[0]), self.weight, self.bias)
        with rl.no_grad():
            self.bias.mul_(SMALL_BIAS)
            if self.normalize:
                self.weight.narrow(1, 0, self.normalize).zero_()

    def reshapeInput(self, input: Activation) -> tuple[Tensor, Tensor, list[int]]:
        """All indices (from 0), all values, and how many belong to each sample."""
        parts = nested.elements(input)
        keys, values = parts[0], parts[1]
        if len(parts) == 3:
            counts = [int(n) for n in parts[2].tolist()]
        elif isinstance(keys, Tensor):
            counts = [keys.numel()]
        else:
            counts = [part.numel() for part in nested.elements(keys)]
            keys = rl.cat(nested.elements(keys), 0)
            values = rl.cat(nested.elements(values), 0)
        columns = keys.detach().to(rl.int64) + (int(self.offset) + 1)
        return from_one(self, columns, self.weight.shape[0]), values, counts

    def _owners(self, counts: list[int]) -> list[int]:
        return [i for i, count in enumerate(counts) for _ in range(count)]

    def _normalized(self, columns: Tensor, values: Tensor, rows: Tensor) -> Tensor:
        """The values over the largest ones seen, which training takes note of, plus offsets."""
        if self.train:
            self._note_sizes(columns, values.detach())
        statistics = self.weight.detach().index_select(0, columns)
        return (values * statistics.select(1, 1)).clamp(-1, 1) + rows.select(1, 3)

    def _note_sizes(self, columns: Tensor, values: Tensor) -> None:
        statistics = self.weight.detach()
        for column, size in zip(columns.tolist(), values.abs().tolist(), strict=True):
            if size > statistics[column, 0].item():
                statistics[column, 0] = size
                statistics[column, 1] = 1 / size
            statistics[column, 2] = 1

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        columns, values, counts = self.reshapeInput(input)
        rows = weight.index_select(0, columns)
        if self.normalize:
            values = self._normalized(columns, values, rows)
            rows = rows.narrow(1, self.normalize, bias.shape[0])
        output = sum_by_sample(rows * values.unsqueeze(1), self._owners(counts), len(counts)) + bias
        return output.reshape((-1,)) if self._is_single(input) else output

    def _is_single(self, input: Activation) -> bool:
        parts = nested.elements(input)
        return len(parts) == 2 and isinstance(parts[0], Tensor)

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        if not self.doGradInput:
            self.gradInput = nested.table([])
            return self.gradInput
        weight = self.weight.detach().narrow(1, self.normalize, self.outputSize)
        rows = rl.matmul(gradOutput.reshape((-1, self.outputSize)), weight.transpose(0, 1))
        numbers = rl.arange(-self.offset, self.inputSize - self.offset)
        keys = [numbers.clone() for _ in range(rows.shape[0])]
        if len(nested.elements(input)) == 3:
            sizes = rl.full((rows.shape[0],), int(self.inputSize), dtype=rl.int64)
            self.gradInput = nested.table([rl.cat(keys, 0), rows.reshape((-1,)), sizes])
        elif self._is_single(input):
            self.gradInput = nested.table([keys[0], rows[0]])
        else:
            self.gradInput = nested.table([nested.table(keys), nested.table(list(rows.unbind(0)))])
        return self.gradInput

    def accGradParameters(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> None:
        columns, values, counts = self.reshapeInput(input)
        gradients = gradOutput.detach().reshape((-1, self.outputSize))
        owners = rl.tensor(self._owners(counts), dtype=rl.int64)
        own = gradients.index_select(0, owners) * scale
        if self.normalize:
            statistics = self.weight.detach().index_select(0, columns)
            scaled = (values.detach() * statistics.select(1, 1)).clamp(-1, 1)
            scaled = scaled + statistics.select(1, 3)
            by_key = rl.cat([own, own * scaled.unsqueeze(1)], 1)
        else:
            by_key = own * values.detach().unsqueeze(1)
        self.gradBias.add_(gradients.sum(0), alpha=scale)
        running, counter = self.running, int(self.running["counter"])
        ends = rl.tensor(counts, dtype=rl.int64).cumsum(0)
        running["keys"][counter] = columns - int(self.offset)
        running["cumSumSizes"][counter] = ends
        running["gradWeight"][counter] = by_key
        running["counter"] = counter + 1

    @names_errors
    def backward(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> Activation:
        self.accGradParameters(input, gradOutput, scale)
        return self.updateGradInput(input, gradOutput)

    def parameters(self) -> tuple[list, list]:
        return [self.weight, self.bias], [self.running, self.gradBias]

    def getParameters(self) -> Any:
        raise TypeError(
            f"{self}: getParameters is not possible: the gradients of the weight are kept per "
            "index; use updateParameters"
        )

    def zeroGradParameters(self) -> None:
        self.gradBias.zero_()

    def updateParameters(self, learningRate: float) -> None:
        with rl.no_grad():
            if self.weightDecay:
                self.bias.mul_(1 - learningRate * self.weightDecay)
            self.bias.add_(self.gradBias, alpha=-learningRate)
            for turn in range(1, int(self.running["counter"])):
                columns = self.running["keys"][turn] + int(self.offset)
                self._update_rows(columns, self.running["gradWeight"][turn], learningRate)
        self._forget()

    def _update_rows(self, columns: Tensor, gradients: Tensor, rate: float) -> None:
        """One step per index, in order: an index may come more than once."""
        weight, first, size = self.weight.detach(), int(self.normalize), int(self.outputSize)
        if not first and not self.weightDecay:
            weight.index_add_(0, columns, gradients, alpha=-rate)
            return
        for column, gradient in zip(columns.tolist(), gradients.unbind(0), strict=True):
            row = weight[column]
            values = row.narrow(0, first, size)
            step = rate * row[2].item() if first else rate
            if first:
                slope = (values * gradient.narrow(0, 0, size)).sum().item()
                decay = self.weightDecay * row[3].item()
                row[3] = row[3].item() - step * (slope + decay)
            if self.weightDecay:
                values.mul_(1 - step * self.weightDecay)
            values.add_(gradient.narrow(0, gradient.shape[0] - size, size), alpha=-step)

    def __getattr__(self, name: str) -> Any:
        if name == "running":  # old files do not have it
            self._forget()
            return self.__dict__[name]
        return super().__getattr__(name)


@register("nn.PartialLinear")
class PartialLinear(Module):
    """A linear layer that computes only the outputs in its partition.

    Args:
        inputsize: length of the input vectors.
        outputsize: length of the output vectors with all outputs.
        bias: False for none.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer, x = nn.PartialLinear(3, 1000), rl.ones(5, 3, dtype=rl.float64)
    >>> layer.setPartition(rl.tensor([2, 400]))
    >>> layer.forward(x).shape
    (5, 2)
    """

    def __init__(self, inputsize: int, outputsize: int, bias: bool | None = None) -> None:
        super().__init__()
        rows = LookupTable(outputsize, inputsize)
        table = ParallelTable().add(Identity()).add(rows)
        self.network = Sequential().add(table).add(MM(False, True))
        if bias is None or bias:
            self.bias = new_parameter(1, outputsize)
            self.gradBias = new_parameter(1, outputsize)
        self.inputsize = inputsize
        self.outputsize = outputsize
        self.allcolumns = rl.arange(1, outputsize + 1).to(self.weight.dtype)
        self.resetPartition()

    @property
    def weight(self) -> Any:
        return self.network.modules[0].modules[1].weight

    def _gradient(self, name: str) -> Tensor:
        if name == "weight":
            return self.network.modules[0].modules[1]._gradient(name)
        return super()._gradient(name)

    def children(self) -> list[Any]:
        return [self.network]

    def reset(self, stdv: float | None = None) -> None:
        self.network.modules[0].modules[1].reset(stdv)

    def setPartition(self, indices: Tensor) -> None:
        """Sets which outputs to compute, numbers from 1."""
        from_one(self, indices.to(rl.int64), int(self.outputsize))
        self.partition = indices.to(self.allcolumns.dtype)

    def resetPartition(self) -> None:
        """Computes all outputs again."""
        self.partition = self.allcolumns

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if not isinstance(input, Tensor) or input.shape[-1] != weight.shape[1]:
            raise ValueError(
                f"{self}: expected a batch Nx{weight.shape[1]}, got {nested.describe(input)}"
            )
        columns = self.partition.to(rl.int64) - 1
        output = rl.linear(input, weight.index_select(0, columns), None)
        if bias is None:
            return output
        return output + bias.index_select(1, columns).reshape((-1,))

    def __str__(self) -> str:
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({self.inputsize} -> {self.outputsize}){without}"
