"""LSTMs whose states are planes (viorik/ConvLSTM; Shi et al. 2015)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.lstm import LSTM
from relume.legacy_nn.rnn.stateful import State


@register("nn.SpatialConvolutionNoBias")
class SpatialConvolutionNoBias(SpatialConvolution):
    """`SpatialConvolution` without a bias.

    Args:
        nInputPlane, nOutputPlane: numbers of planes.
        kW, kH: width and height of the kernel.
        dW, dH: steps.
        padW, padH: zeros added at each side.
    """

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, *more: Any) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, *more)
        self.noBias()


@register("nn.ConvLSTM")
class ConvLSTM(LSTM):
    """An LSTM of planes, without peepholes: one step per forward, C x H x W or a batch.

    Args:
        inputSize, outputSize: planes of the input and of the states.
        rho: how many steps gradients go back at most.
        kc, km: width and height of the kernels over the input and over the output before.
        stride: of both; states fit with 1 alone.
        batchSize: how many samples; here the input says so.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ConvLSTM(1, 2, 5, 3, 3).forward(rl.ones(4, 1, 6, 6, dtype=rl.float64)).shape
    (4, 2, 6, 6)
    """

    kc: int
    km: int
    stride = 1
    batchSize: int | None = None

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        rho: int | None = None,
        kc: int = 3,
        km: int = 3,
        stride: int | None = None,
        batchSize: int | None = None,
    ) -> None:
        self.kc, self.km, self.padc, self.padm = kc, km, kc // 2, km // 2
        self.stride, self.batchSize = stride or 1, batchSize
        super().__init__(inputSize, outputSize, rho or 10, False)

    def _sources(self) -> list[Any]:
        inputs, outputs, step = int(self.inputSize or 0), int(self.outputSize), self.stride
        kernels = ((inputs, self.kc, self.padc), (outputs, self.km, self.padm))
        first, second = (
            (planes, outputs, size, size, step, step, pad, pad) for planes, size, pad in kernels
        )
        return [SpatialConvolution(*first), SpatialConvolutionNoBias(*second)]

    def _zeros(self, input: Activation, state: State) -> Activation:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected planes CxHxW or a batch of them, got {nested.describe(input)}"
            )
        shape = list(input.shape)
        shape[-3] = int(self.outputSize)
        return rl.zeros(tuple(shape), dtype=input.dtype)

    def initBias(self, forgetBias: float | None = None, otherBias: float | None = None) -> None:
        """Sets the biases of the forget gate (by default 1) and of the others (0)."""
        others = (self.inputGate, self.outputGate, self.hiddenLayer)
        with rl.no_grad():
            for gate in others:
                gate.get(2).get(1).bias.fill_(otherBias or 0)
            self.forgetGate.get(2).get(1).bias.fill_(1 if forgetBias is None else forgetBias)
