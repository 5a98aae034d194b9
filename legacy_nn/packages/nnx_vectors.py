"""Package nnx: layers of vectors."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


@register("nn.SaturatedLU")
class SaturatedLU(Module):
    """The input between two thresholds, a constant on either side of them.

    Args:
        th, v: the lower threshold, and what elements below it become; both -1 by default.
        th2, v2: the upper threshold, and what elements above it become; both 1 by default.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SaturatedLU(-1, 0).forward(rl.tensor([-2.0, 0.5, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    parameter_names = ()

    def __init__(
        self,
        th: float | None = None,
        v: float | None = None,
        th2: float | None = None,
        v2: float | None = None,
    ) -> None:
        super().__init__()
        self.threshold = -1.0 if th is None else th
        self.val = -1.0 if v is None else v
        self.threshold2 = 1.0 if th2 is None else th2
        self.val2 = 1.0 if v2 is None else v2

    def compute(self, input: Tensor) -> Tensor:
        raised = rl.where(input < float(self.threshold), float(self.val), input)
        return rl.where(raised > float(self.threshold2), float(self.val2), raised)


@register("nn.Balance")
class Balance(Module):
    """In training, makes every class as probable as any other over the last batches; the
    gradient takes the probabilities of classes as constants.

    Args:
        nBatch: over how many batches, by default 10.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Balance().forward(rl.tensor([[0.9, 0.1], [0.9, 0.1]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    parameter_names = ()
    train = True

    def __init__(self, nBatch: int | None = None) -> None:
        super().__init__()
        self.nBatch = nBatch or 10
        self.inputCache = new_empty()
        self.prob, self.sum = new_empty(), new_empty()
        self.batchSize = 0
        self.startIdx = 1
        self.train = True

    def compute(self, input: Tensor) -> Tensor:
        self._check(input)
        if self.train:
            self._remember(input.detach())
        return self.recompute(input)

    def recompute(self, input: Tensor) -> Tensor:
        if not self.train:
            return input.clone()
        total = self.inputCache.sum(0, keepdim=True)
        self.prob = total / total.sum()
        balanced = input.detach() / self.prob
        self.sum = balanced.sum(1, keepdim=True)
        return input / (self.prob * self.sum)

    def _check(self, input: Tensor) -> None:
        if not isinstance(input, Tensor) or input.ndim != 2:
            raise ValueError(f"{self}: expected a batch NxC, got {nested.describe(input)}")

    def _remember(self, batch: Tensor) -> None:
        """Puts a batch in the place of the oldest one."""
        samples, classes = batch.shape
        rows = samples * int(self.nBatch)
        if self.batchSize != samples or self.inputCache.shape != (rows, classes):
            self.inputCache = rl.zeros((rows, classes), dtype=batch.dtype)
            self.batchSize, self.startIdx = samples, 1
        self.inputCache.narrow(0, int(self.startIdx) - 1, samples).copy_(batch)
        self.startIdx += samples
        if self.startIdx > rows:
            self.startIdx = 1


@register("nnx.QDRiemaNNLinear")
class QDRiemaNNLinear(Linear):
    """A linear layer whose gradients are those of a Riemannian metric, estimated from the batches
    (Marceau-Caron and Ollivier 2016, "Practical Riemannian neural networks").

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        gamma: weight of a new batch in the metric, by default 0.01.
        qdFlag: False for the diagonal of the metric alone.
    """

    MOST = 1e25  # determinants are kept between matReg and this

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        gamma: float | None = None,
        qdFlag: bool | None = None,
    ) -> None:
        super().__init__(inputSize, outputSize)
        self.qdFlag = qdFlag is None or qdFlag
        self.gamma = 0.01 if gamma is None else gamma
        self.matReg = 1e-12
        self.initMetric = True
        self.Mii = new_parameter(outputSize, inputSize)
        self.M00 = new_parameter(outputSize)
        if self.qdFlag:
            self.M0i = new_parameter(outputSize, inputSize)

    def reset(self, stdv: float | None = None) -> None:
        self.initMetric = True
        with rl.no_grad():
            self.weight.normal_(0, 1 / math.sqrt(self.weight.shape[1]))
            if self.bias is not None:
                self.bias.zero_()

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        if not isinstance(input, Tensor) or input.ndim != 2 or self.bias is None:
            raise ValueError(f"{self}: expected a batch NxC, got {nested.describe(input)}")
        super().accGradParameters(input, gradOutput)
        self._measure(input.detach(), gradOutput.detach().square().transpose(0, 1))
        with rl.no_grad():
            if self.qdFlag:
                self._reduce()
            else:
                self.Mii, self.M00 = self.Mii + self.matReg, self.M00 + self.matReg
                self.gradWeight.div_(self.Mii)
                self.gradBias.div_(self.M00)

    def _measure(self, input: Tensor, squares: Tensor) -> None:
        """Takes a batch into the metric.

        Args:
            input: the batch.
            squares: of the gradient of the output, outputs x samples.
        """
        fresh = {"Mii": rl.matmul(squares, input.square()), "M00": squares.sum(1)}
        if self.qdFlag:
            fresh["M0i"] = rl.matmul(squares, input)
        for name, value in fresh.items():
            old = self.__dict__[name]
            is_first = self.initMetric
            self.__dict__[name] = value if is_first else (1 - self.gamma) * old + self.gamma * value
        self.initMetric = False

    def _reduce(self) -> None:
        """Turns the gradients by the inverse of the quasi-diagonal metric."""
        diagonal, cross, corner = self.Mii, self.M0i, self.M00.unsqueeze(1)
        determinant = (diagonal * corner - cross.square()).clamp(float(self.matReg), self.MOST)
        turned = self.gradWeight * corner - cross * self.gradBias.unsqueeze(1)
        self.gradWeight.copy_(turned / determinant)
        rest = self.gradBias - (cross * self.gradWeight).sum(1)
        self.gradBias.copy_(rest / (self.M00 + self.matReg))
