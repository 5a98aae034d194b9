"""Batch normalisation, and normalising over a vector."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("nn.BatchNormalization")
class BatchNormalization(Module):
    """Normalises every feature with the mean and the variance of the batch (in training) or
    with running ones (in evaluation).

    Args:
        nOutput: number of features.
        eps: added to the variance, by default 1e-5.
        momentum: weight of a new batch in the running values, by default 0.1.
        affine: False for no learned scale and shift.

    >>> from relume import legacy_nn as nn
    >>> nn.BatchNormalization(4)
    nn.BatchNormalization (2D) (4)
    """

    torch_version = 2
    follows_compute = True
    nDim = 2
    eps = 1e-5
    momentum = 0.1
    affine = True
    buffer_names = ("save_mean", "save_std", "_input", "_gradOutput")

    def __init__(
        self,
        nOutput: int,
        eps: float | None = None,
        momentum: float | None = None,
        affine: bool | None = None,
    ) -> None:
        super().__init__()
        self.affine = True if affine is None else affine
        self.eps = 1e-5 if eps is None else eps
        self.momentum = 0.1 if momentum is None else momentum
        self.train = True
        self.running_mean = new_parameter(nOutput)
        self.running_var = new_parameter(nOutput).fill_(1)
        if self.affine:
            self.weight = new_parameter(nOutput)
            self.bias = new_parameter(nOutput)
            self.gradWeight = new_parameter(nOutput)
            self.gradBias = new_parameter(nOutput)
            self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            if self.weight is not None:
                self.weight.uniform_()
            if self.bias is not None:
                self.bias.zero_()
            self.running_mean.zero_()
            self.running_var.fill_(1)

    def compute(self, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return self._normalize(input, weight, bias, self.running_mean, self.running_var)

    def recompute(self, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        mean, variance = self.running_mean, self.running_var
        if self._uses_batch(input):
            mean, variance = mean.clone(), variance.clone()
        return self._normalize(input, weight, bias, mean, variance)

    def _uses_batch(self, input: Tensor) -> bool:
        # One number per feature has no variance.
        return bool(self.train) and input.numel() > self.running_mean.numel()

    def _normalize(self, input, weight, bias, mean, variance) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{self}: expected a tensor, got {nested.describe(input)}")
        if not self.train and input.ndim == self.nDim - 1:
            input = input.unsqueeze(0)
        if input.ndim != self.nDim or input.shape[1] != self.running_mean.shape[0]:
            raise ValueError(
                f"{self}: expected {self.nDim} dimensions with {self.running_mean.shape[0]} "
                f"features in the second, got {nested.describe(input)}"
            )
        uses_batch = self._uses_batch(input)
        output, save_mean, save_std = rl.batch_norm(
            input, weight, bias, mean, variance, uses_batch, self.momentum, self.eps
        )
        if uses_batch:
            self.save_mean, self.save_std = save_mean.detach(), save_std.detach()
        return output

    def _set_grad_input(self, input: Tensor, gradients: list) -> None:
        super()._set_grad_input(input, gradients)
        if input.ndim == self.nDim - 1:  # forward added a dimension for the batch
            self.gradInput = self.gradInput.unsqueeze(0)

    def __str__(self) -> str:
        return f"{self.torch_typename} ({self.nDim}D) ({self.running_mean.numel()})"


@register("nn.SpatialBatchNormalization")
class SpatialBatchNormalization(BatchNormalization):
    """Batch normalisation of planes: one feature per plane."""

    torch_version = 2
    nDim = 4


@register("nn.VolumetricBatchNormalization")
class VolumetricBatchNormalization(BatchNormalization):
    """Batch normalisation of volumes: one feature per volume."""

    nDim = 5


def vector_dim(input: Tensor) -> int:
    """The dimension that SoftMax works along: the planes, with or without a batch.

    >>> import relume as rl
    >>> from relume.legacy_nn.normalization import vector_dim
    >>> [vector_dim(rl.zeros(*[2] * n)) for n in (1, 2, 3, 4)]
    [0, 1, 0, 1]
    """
    if input.ndim not in (1, 2, 3, 4):
        raise ValueError(f"expected 1 to 4 dimensions, got {nested.describe(input)}")
    return 1 - input.ndim % 2


# What a field `mode` of cudnn says of layers that normalise each sample as a whole.
WHOLE_SAMPLES = "CUDNN_SOFTMAX_MODE_INSTANCE"

# Rows: name, function of (input, dimension), documentation.
SOFT_MAXIMA = [
    ("SoftMax", lambda x, dim: rl.softmax(x, dim), "exp(x) over its sum along the features."),
    ("LogSoftMax", lambda x, dim: rl.log_softmax(x, dim), "The logarithm of SoftMax."),
    ("SoftMin", lambda x, dim: rl.softmax(-x, dim), "SoftMax of -x."),
]


def make_soft_maximum(name: str, function: Any, documentation: str) -> type:
    def compute(self: Any, input: Tensor) -> Tensor:
        dim = vector_dim(input)
        if self.mode == WHOLE_SAMPLES and input.ndim > 2:
            return function(input.flatten(dim), dim).reshape(input.shape)
        return function(input, dim)

    members = {
        "compute": compute,
        "mode": None,
        "parameter_names": (),
        "__doc__": f"{documentation}\n\n    Features are the first dimension of 1-D and 3-D "
        "inputs, the second of 2-D and 4-D.\n    With the `mode` of cudnn's layers, all that a "
        "3-D or 4-D input has of a sample sums to one.",
        "__module__": __name__,
    }
    return register(f"nn.{name}")(type(name, (Module,), members))


for _row in SOFT_MAXIMA:
    globals()[_row[0]] = make_soft_maximum(*_row)


@register("nn.SpatialSoftMax")
class SpatialSoftMax(Module):
    """SoftMax over the planes at every place."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        return rl.softmax(input, vector_dim(input))


@register("nn.SpatialLogSoftMax")
class SpatialLogSoftMax(Module):
    """LogSoftMax over the planes at every place."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        return rl.log_softmax(input, vector_dim(input))
