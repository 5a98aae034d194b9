"""Instance normalisation, as the style transfer projects had it."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("nn.InstanceNormalization")
class InstanceNormalization(Module):
    """Normalises every plane of every sample by its own mean and variance.

    Args:
        nOutput: number of planes.
        eps: added to the variance, by default 1e-5.
        momentum: kept in files of texture_nets; of no consequence.
        affine: False for no learned scale and shift.

    From Ulyanov, Vedaldi, Lempitsky: Instance Normalization (2016).

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> y = nn.InstanceNormalization(2).forward(rl.randn(3, 2, 8, 8, dtype=rl.float64))
    >>> bool(y.mean((2, 3)).abs().amax() < 1e-9)
    True
    """

    eps = 1e-5
    disabled = False  # some projects switch it off by this field

    nOutput: int

    def __init__(
        self,
        nOutput: int,
        eps: float | None = None,
        momentum: float | None = None,
        affine: bool | None = None,
    ) -> None:
        super().__init__()
        self.nOutput = nOutput
        self.eps = 1e-5 if eps is None else eps
        self.prev_N = -1
        if affine is None or affine:
            self.weight = new_parameter(nOutput)
            self.bias = new_parameter(nOutput)
            self.gradWeight, self.gradBias = new_parameter(nOutput), new_parameter(nOutput)
            self.reset()

    def reset(self, stdv: float | None = None) -> None:
        if self.weight is not None:
            with rl.no_grad():
                self.weight.uniform_()
                self.bias.zero_()

    def compute(self, input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        if self.disabled:
            return input
        planes = int(self.nOutput)
        if not isinstance(input, Tensor) or input.ndim not in (3, 4) or input.shape[-3] != planes:
            raise ValueError(
                f"{self}: expected {planes}xHxW, or N samples of it, got {nested.describe(input)}"
            )
        batch = input if input.ndim == 4 else input.unsqueeze(0)
        output = rl.instance_norm(batch, None, None, weight, bias, True, 0.0, self.eps)
        return output if input.ndim == 4 else output.squeeze(0)
