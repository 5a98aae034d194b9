"""From one order of dimensions to another: nn.Convert."""

from __future__ import annotations

import math
from typing import Any

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Container
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import dtype_of


def count_dims(shape: str) -> int:
    """How many dimensions a shape names; -1 when it ends in `*`, any number."""
    return -1 if "*" in shape else len(shape)


def batch_dim(shape: str) -> int:
    """Where b stands, from 1."""
    return shape.index("b") + 1


def with_batch(shape: str) -> str:
    """A shape with the batch first, unless it says where the batch is."""
    return shape if "b" in shape else f"b{shape}"


@register("nn.Convert")
class Convert(Container):
    """Reorders, flattens or adds dimensions, and converts to the type of the module.

    A shape is a string with a letter per dimension: b the batch, f features, t time or target,
    c planes, h height, w width; `b*` is any shape. Without
    a b, the batch comes first.

    Args:
        inputShape: what comes in, by default `b*`.
        outputShape: what goes out: the letters of `inputShape` in another order, or `bf`
            (features flattened, or one feature), `b` (one number per sample) or `bt`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Convert("bchw", "bf").forward(rl.ones(2, 3, 4, 5)).shape
    (2, 60)
    >>> nn.Convert("bchw", "bhwc").forward(rl.ones(2, 3, 4, 5)).shape
    (2, 4, 5, 3)
    """

    transposition: bool | None = None

    def __init__(self, inputShape: str | None = None, outputShape: str | None = None) -> None:
        super().__init__()
        if outputShape is None:
            inputShape, outputShape = None, inputShape
        self.inputShape = with_batch(inputShape or "b*")
        self.outputShape = with_batch(outputShape or "b*")
        self.inputBatchDim = batch_dim(self.inputShape)
        self.outputBatchDim = batch_dim(self.outputShape)
        self.nInputDim = count_dims(self.inputShape)
        self.nOutputDim = count_dims(self.outputShape)
        if sorted(self.inputShape) == sorted(self.outputShape):
            self.transposition = True
        elif self.outputShape not in ("bf", "b", "bt"):
            raise ValueError(
                f"nn.Convert: no conversion from {inputShape} to {outputShape} is known: the "
                "output must be bf, b, bt or the letters of the input in another order"
            )

    def _typed(self, input: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{self}: expected a tensor, got {nested.describe(input)}")
        return input.to(dtype_of(self._type))

    def compute(self, input: Tensor) -> Tensor:
        value = self._typed(input)
        count = int(self.nInputDim)
        if count > 0 and input.ndim == count - 1:
            batch = value.unsqueeze(int(self.inputBatchDim) - 1)
            return self._converted(batch).squeeze(int(self.outputBatchDim) - 1)
        if 0 < count != input.ndim:
            raise ValueError(
                f"{self}: expected {count} dimensions ({self.inputShape}), "
                f"got {nested.describe(input)}"
            )
        return self._converted(value)

    def _converted(self, batch: Tensor) -> Tensor:
        source, target = self.inputShape, self.outputShape
        if source == target:
            return batch
        if self.transposition:
            return batch.permute(tuple(source.index(letter) for letter in target)).contiguous()
        if target == "b":
            return self._one_per_sample(batch)
        first = batch.transpose(0, int(self.inputBatchDim) - 1)
        return first.reshape((first.shape[0], math.prod(first.shape[1:])))

    def _one_per_sample(self, batch: Tensor) -> Tensor:
        other = 2 - int(self.inputBatchDim)  # the dimension of bt, tb, bf or fb that is not b
        if batch.ndim != 2 or ("f" in self.inputShape and batch.shape[other] > 1):
            raise ValueError(
                f"{self}: {self.inputShape} to b takes one number per sample, "
                f"got {nested.describe(batch)}"
            )
        return batch.select(other, 0)

    # Torch7 builds a converter from layers, in `modules`; here it is one computation.

    def updateOutput(self, input: Tensor) -> Tensor:
        return super(Container, self).updateOutput(self._typed(input))

    def _differentiate(self, input, gradOutput, of_input: bool, of_parameters: bool) -> list:
        # The gradient stays in the type of the module.
        return super()._differentiate(self._typed(input), gradOutput, of_input, of_parameters)

    def __str__(self) -> str:
        return self.torch_typename
