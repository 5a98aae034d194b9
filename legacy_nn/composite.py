"""Layers that are networks of other layers, and containers that change what a layer sees."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Branches, Concat, Decorator, Sequential
from relume.legacy_nn.distances import Normalize
from relume.legacy_nn.linear import Add, CMul, Linear
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.reductions import Max, Mean
from relume.legacy_nn.registry import lookup, register
from relume.legacy_nn.shape_layers import Replicate, View
from relume.legacy_nn.table_layers import Identity, JoinTable


def make(name: str, *arguments: Any) -> Any:
    """A layer of nn by its name."""
    cls: Any = lookup(f"nn.{name}")
    return cls(*arguments)


@register("nn.Maxout")
class Maxout(Sequential):
    """The largest of several linear functions, per output.

    Args:
        inputSize, outputSize: as in `Linear`.
        maxoutNumber: how many functions per output.
        preprocess: a layer between the functions and the maximum.
    """

    def __init__(
        self, inputSize: int, outputSize: int, maxoutNumber: int, preprocess: Any = None
    ) -> None:
        super().__init__()
        self.add(Linear(inputSize, outputSize * maxoutNumber))
        self.add(View(maxoutNumber, outputSize).setNumInputDims(1))
        if preprocess is not None:
            self.add(preprocess)
        self.add(Max(1, 2))

    def __str__(self) -> str:
        return super().__str__().replace(self.torch_typename, "nn.Sequential", 1)


@register("nn.CReLU")
class CReLU(Sequential):
    """ReLU of the input and of its negative, side by side.

    Args:
        nInputDims: dimensions of one sample.
        inplace: let the ReLU overwrite what it gets.
    """

    inplace = False

    def __init__(self, nInputDims: int, inplace: bool | None = None) -> None:
        super().__init__()
        self.nInputDims = nInputDims
        self.inplace = bool(inplace)
        both = make("ConcatTable").add(Identity()).add(make("MulConstant", -1))
        self.add(both).add(JoinTable(2)).add(make("ReLU", self.inplace))

    def _as_batch(self, input: Tensor) -> Tensor:
        count = int(self.nInputDims)
        if not isinstance(input, Tensor) or input.ndim not in (count, count + 1):
            raise ValueError(
                f"nn.CReLU: expected {count} dimensions, or {count + 1} for a batch, "
                f"got {nested.describe(input)}"
            )
        return input if input.ndim > count else input.unsqueeze(0)

    def compute(self, input: Tensor) -> Tensor:
        output = super().compute(self._as_batch(input))
        return output if input.ndim > self.nInputDims else output.squeeze(0)

    def updateOutput(self, input: Tensor) -> Tensor:
        self._input = self._as_batch(input)
        output = super().updateOutput(self._input)
        self.output = output if input.ndim > self.nInputDims else output.squeeze(0)
        return self.output

    def _backwards(self, method: str, input: Any, gradOutput: Any, *more: Any) -> Any:
        batch = gradOutput if input.ndim > self.nInputDims else gradOutput.unsqueeze(0)
        gradient = super()._backwards(method, self._input, batch, *more)
        return gradient.reshape(input.shape)

    def __str__(self) -> str:
        return "CReLU()"


@register("nn.LayerNormalization")
class LayerNormalization(Sequential):
    """Normalises every sample by the mean and the deviation of its elements.

    Args:
        nOutput: elements of a sample.
        bias: at the start, by default 0.
        eps: added to the variance, by default 1e-10.
        affine: False for no learned scale and shift.
    """

    def __init__(
        self,
        nOutput: int,
        bias: float | None = None,
        eps: float | None = None,
        affine: bool | None = None,
    ) -> None:
        super().__init__()
        mean = Sequential().add(Mean(1, 1)).add(Replicate(nOutput, 1, 1))
        self.add(make("ConcatTable").add(Identity()).add(mean)).add(make("CSubTable"))
        self.add(Normalize(2, eps or 1e-10)).add(make("MulConstant", math.sqrt(nOutput)))
        if affine is None or affine:
            scale, shift = CMul(nOutput), Add(nOutput, False)
            shift.scalar = False
            with rl.no_grad():
                scale.weight.fill_(1)
                shift.bias.fill_(bias or 0)
            self.add(scale).add(shift)

    def _check(self, input: Tensor) -> Tensor:
        size = int(self.find_modules("nn.Replicate")[0].nfeatures)
        if not isinstance(input, Tensor) or input.ndim not in (1, 2) or input.shape[-1] != size:
            raise ValueError(
                f"nn.LayerNormalization: expected a vector of size {size} or a batch Nx{size}, "
                f"got {nested.describe(input)}"
            )
        return input

    def compute(self, input: Tensor) -> Tensor:
        return super().compute(self._check(input))

    def updateOutput(self, input: Tensor) -> Tensor:
        return super().updateOutput(self._check(input))

    def __str__(self) -> str:
        return super().__str__().replace(self.torch_typename, "nn.Sequential", 1)


@register("nn.Bottle")
class Bottle(Decorator):
    """Lets a layer see inputs with more dimensions, by making one of the first ones.

    Args:
        module: the layer.
        nInputDim: how many dimensions its input has, with the batch; by default 2.
        nOutputDim: how many its output has, by default as many.
    """

    def __init__(self, module: Any, nInputDim: int | None = None, nOutputDim: int | None = None):
        super().__init__(module)
        self.nInputDim = nInputDim or 2
        self.nOutputDim = nOutputDim or self.nInputDim
        self.dimDelta = self.nInputDim - self.nOutputDim
        dtype = rl.float64
        self.inShape = rl.zeros((self.nInputDim,), dtype=dtype)
        self.outShape = rl.zeros((self.nOutputDim,), dtype=dtype)

    def _bottled(self, input: Tensor) -> Tensor:
        extra = input.ndim - int(self.nInputDim)
        return input.reshape((-1, *input.shape[extra + 1 :])) if extra > 0 else input

    def _unbottled(self, output: Tensor, input: Tensor) -> Tensor:
        extra = input.ndim - int(self.nInputDim)
        return (
            output.reshape((*input.shape[: extra + 1], *output.shape[1:])) if extra > 0 else output
        )

    def compute(self, input: Tensor) -> Tensor:
        return self._unbottled(super().compute(self._bottled(input)), input)

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = self._unbottled(super().updateOutput(self._bottled(input)), input)
        return self.output

    def _inner(self, gradOutput: Tensor) -> Tensor:
        return gradOutput.reshape(self.modules[0].output.shape)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        gradient = super().updateGradInput(self._bottled(input), self._inner(gradOutput))
        self.gradInput = gradient.reshape(input.shape)
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        super().accGradParameters(self._bottled(input), self._inner(gradOutput), scale)


SHARED_PARAMETERS = ("weight", "bias", "gradWeight", "gradBias")


@register("nn.MapTable")
class MapTable(Branches):
    """Applies one module to every element of a table, through clones that share parameters.

    Args:
        module: what to apply.
        shared: True or the names of the fields to share; False for independent clones.
    """

    def __init__(self, module: Any = None, shared: Any = None) -> None:
        super().__init__()
        self.sharedparams = list(SHARED_PARAMETERS)
        if isinstance(shared, (list, tuple)):
            self.sharedparams, shared = list(shared), True
        self.shared = True if shared is None else shared
        self.output = nested.table([])
        self.gradInput = nested.table([])
        if module is not None:
            self.add(module)

    def add(self, module: Any) -> Any:
        """Sets the module."""
        self.module = module
        self.modules = [module]
        return self

    def insert(self, module: Any, index: int | None = None) -> Any:
        return self.add(module)

    def resize(self, count: int) -> Any:
        """Makes as many clones as it takes for `count` elements."""
        names = nested.elements(self.sharedparams) if self.shared else ()
        while len(self.modules) < count:
            self.modules.append(self.module.clone(*names))
        return self

    def zeroGradParameters(self) -> None:
        if self.shared:
            self.module.zeroGradParameters()
        else:
            super().zeroGradParameters()

    def updateParameters(self, learningRate: float) -> None:
        if self.shared:
            self.module.updateParameters(learningRate)
        else:
            super().updateParameters(learningRate)

    def _inputs(self, input: Activation) -> list[Activation]:
        values = nested.elements(input)
        self.resize(len(values))
        del self.modules[max(1, len(values)) :]
        return values

    def _merge_gradients(self, input: Activation, gradients: list[Activation]) -> Activation:
        return nested.table(gradients)

    def __str__(self) -> str:
        from relume.legacy_nn.printing import TAB, indented

        inside = indented(self.module, TAB) if self.__dict__.get("module") else ""
        return f"{self.torch_typename} {{\n{TAB}{inside}\n}}"


@register("nn.DepthConcat")
class DepthConcat(Concat):
    """Joins planes of different sizes, with zeros around the smaller ones."""

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        return super().backward(input, gradOutput)  # Torch7's keeps the scale to itself, too

    def _sizes(self, outputs: list[Tensor]) -> list[int]:
        dim = self._dim(outputs[0])
        return [max(o.shape[d] for o in outputs) for d in range(outputs[0].ndim) if d != dim]

    def _margins(self, output: Tensor, sizes: list[int]) -> list[tuple[int, int, int]]:
        """Per dimension other than the joined one: which, zeros before, zeros after."""
        dims = [d for d in range(output.ndim) if d != self._dim(output)]
        margins = []
        for dim, size in zip(dims, sizes, strict=True):
            before = (size - output.shape[dim]) // 2
            margins.append((dim, before, size - output.shape[dim] - before))
        return margins

    def _merge(self, outputs: list[Activation]) -> Activation:
        sizes = self._sizes(outputs)
        return rl.cat([self._padded(output, sizes) for output in outputs], self._dim(outputs[0]))

    def _padded(self, output: Tensor, sizes: list[int]) -> Tensor:
        for dim, before, after in self._margins(output, sizes):
            parts = []
            for count in (before, after):
                shape = list(output.shape)
                shape[dim] = count
                parts.append(rl.zeros(tuple(shape), dtype=output.dtype))
            output = rl.cat([p for p in (parts[0], output, parts[1]) if p.numel()], dim)
        return output

    def _split(self, gradOutput: Activation) -> list[Activation]:
        outputs = [module.output for module in self.modules]
        sizes = self._sizes(outputs)
        gradients = []
        for output, gradient in zip(outputs, super()._split(gradOutput), strict=True):
            for dim, before, _ in self._margins(output, sizes):
                gradient = gradient.narrow(dim, before, output.shape[dim])
            gradients.append(gradient)
        return gradients
