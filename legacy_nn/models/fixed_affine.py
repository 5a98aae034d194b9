"""What frozen batch normalisations become: a factor and a shift per plane that are not learnt."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("inn.ConstAffine")
class ConstAffine(Module):
    """a * x + b with one a and one b per feature (N x C) or per plane (N x C x H x W).

    Args:
        nOutputPlane: how many.
        inplace: kept for the file; nothing is overwritten here.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.inn.ConstAffine(2)
    >>> _ = layer.b.fill_(1)
    >>> layer.forward(rl.zeros(1, 2, dtype=rl.float64)).tolist()
    [[1.0, 1.0]]
    """

    parameter_names = ()
    a: Tensor
    b: Tensor

    def __init__(self, nOutputPlane: int, inplace: bool = False) -> None:
        super().__init__()
        self.a, self.b = new_parameter(nOutputPlane), new_parameter(nOutputPlane)
        self.inplace = inplace
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.a.fill_(1)
            self.b.zero_()

    def compute(self, input: Tensor) -> Tensor:
        planes = self.a.numel()
        if not isinstance(input, Tensor) or input.ndim not in (2, 4) or input.shape[1] != planes:
            raise ValueError(
                f"{self}: expected Nx{planes} or Nx{planes}xHxW, got {nested.describe(input)}"
            )
        shape = (1, planes, *[1] * (input.ndim - 2))
        return input * self.a.reshape(shape) + self.b.reshape(shape)


@register("nn.SpatialConstDiagonal")
class SpatialConstDiagonal(ConstAffine):
    """`inn.ConstAffine` as DeepMask has it.

    Args:
        nOutputPlane, inplace: as there.
    """
