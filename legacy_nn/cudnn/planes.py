"""Layers over planes and volumes that cudnn has and `nn` has not."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("cudnn.SpatialBias")
class SpatialBias(Module):
    """Adds one learned number to each plane.

    Args:
        nOutputPlane: how many planes.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.cudnn.SpatialBias(2).forward(rl.zeros(2, 3, 3, dtype=rl.float64)).shape
    (2, 3, 3)
    """

    parameter_names = ("bias",)

    def __init__(self, nOutputPlane: int) -> None:
        super().__init__()
        self.nOutputPlane = nOutputPlane
        self.bias, self.gradBias = new_parameter(nOutputPlane), new_parameter(nOutputPlane)

    def compute(self, input: Tensor, bias: Tensor) -> Tensor:
        planes = bias.numel()
        if not isinstance(input, Tensor) or input.ndim not in (3, 4) or input.shape[-3] != planes:
            raise ValueError(
                f"{self}: expected {planes}xHxW, or N samples of it, got {nested.describe(input)}"
            )
        return input + bias.reshape((planes, 1, 1))


# Rows: name, function of (input, dimension), documentation.
VOLUMETRIC_MAXIMA = [
    ("VolumetricSoftMax", rl.softmax, "SoftMax over the planes at every place of a volume."),
    ("VolumetricLogSoftMax", rl.log_softmax, "The logarithm of `VolumetricSoftMax`."),
]


def make_volumetric_maximum(name: str, function: Any, documentation: str) -> type:
    def compute(self: Any, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (4, 5):
            raise ValueError(
                f"{self}: expected CxTxHxW, or N samples of it, got {nested.describe(input)}"
            )
        return function(input, input.ndim - 4)

    def init(self: Any, fast: bool = False) -> None:
        Module.__init__(self)

    members = {
        "__init__": init,
        "compute": compute,
        "parameter_names": (),
        "__doc__": documentation,
        "__module__": __name__,
    }
    return register(f"cudnn.{name}")(type(name, (Module,), members))


for _row in VOLUMETRIC_MAXIMA:
    globals()[_row[0]] = make_volumetric_maximum(*_row)
