"""Networks that draw textures (DmitryUlyanov/texture_nets)."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.style_transfer import Leftover
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register


@register("nn.NoiseFill")
class NoiseFill(Module):
    """Fills the last planes with noise, uniform between 0 and `mult`. The gradient passes through.

    Args:
        num_noise_channels: how many planes.

    Attributes:
        mult: size of the noise.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.NoiseFill(1).forward(rl.full((1, 2, 1, 1), 7.0))[0, 0].item()
    7.0
    """

    parameter_names = ()
    num_noise_channels: int
    mult = 1.0

    def __init__(self, num_noise_channels: int) -> None:
        super().__init__()
        self.num_noise_channels = num_noise_channels
        self.mult = 1.0

    def compute(self, input: Tensor) -> Tensor:
        planes = int(self.num_noise_channels)
        if not isinstance(input, Tensor) or input.ndim < 2 or input.shape[1] < planes:
            raise ValueError(
                f"{self}: expected N x C x ... with at least {planes} planes, "
                f"got {nested.describe(input)}"
            )
        kept = input.narrow(1, 0, input.shape[1] - planes)
        shape = (input.shape[0], planes, *input.shape[2:])
        noise = rl.empty(shape, dtype=input.dtype).uniform_() * float(self.mult)
        return rl.cat([kept, noise], 1)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        return gradOutput


@register("nn.GenNoise")
class GenNoise(Module):
    """Planes of normal noise, as large as its input.

    Args:
        num_planes: how many planes.
    """

    parameter_names = ()
    num_planes: int
    mult = 1.0

    def __init__(self, num_planes: int) -> None:
        super().__init__()
        self.num_planes = num_planes
        self.mult = 1.0

    def compute(self, input: Tensor) -> Tensor:
        shape = (input.shape[0], int(self.num_planes), *input.shape[2:])
        noise = rl.empty(shape, dtype=input.dtype).normal_()
        return noise * float(self.mult) + input.sum() * 0


@register("nn.SpatialCircularPadding")
class SpatialCircularPadding(Module):
    """Planes that go on at the other side: cd|abcd|ab.

    Args:
        pad_l, pad_r, pad_t, pad_b: how much at each side; by default as much as at the left.

    The gradient counts the corners of the padding for nothing, as there.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.SpatialCircularPadding(1, 2, 0, 0)
    >>> layer.forward(rl.tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]]]
    """

    parameter_names = ()
    pad_l = pad_r = pad_t = pad_b = 0

    def __init__(
        self,
        pad_l: int,
        pad_r: int | None = None,
        pad_t: int | None = None,
        pad_b: int | None = None,
    ) -> None:
        super().__init__()
        pads = [pad_l if pad is None else pad for pad in (pad_l, pad_r, pad_t, pad_b)]
        if min(pads) < 0:
            raise ValueError(f"nn.SpatialCircularPadding: padding must not be negative, got {pads}")
        self.pad_l, self.pad_r, self.pad_t, self.pad_b = pads

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4:
            raise ValueError(f"{self}: expected NxCxHxW, got {nested.describe(input)}")
        padded = self._padded(input, -2, int(self.pad_t), int(self.pad_b))
        return self._padded(padded, -1, int(self.pad_l), int(self.pad_r))

    def _padded(self, planes: Tensor, dim: int, before: int, after: int) -> Tensor:
        size = planes.shape[dim]
        if max(before, after) > size:
            raise ValueError(
                f"{self}: the padding is larger than the input, got {nested.describe(planes)}"
            )
        head, tail = planes.narrow(dim, size - before, before), planes.narrow(dim, 0, after)
        return rl.cat([head, planes, tail], dim)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        height, width = input.shape[-2:]
        top, left = int(self.pad_t), int(self.pad_l)
        bottom, right = int(self.pad_b), int(self.pad_r)
        rows = gradOutput.narrow(-1, left, width)
        columns = gradOutput.narrow(-2, top, height)
        gradient = rows.narrow(-2, top, height).clone()
        gradient.narrow(-2, height - top, top).add_(rows.narrow(-2, 0, top))
        gradient.narrow(-2, 0, bottom).add_(rows.narrow(-2, top + height, bottom))
        gradient.narrow(-1, width - left, left).add_(columns.narrow(-1, 0, left))
        gradient.narrow(-1, 0, right).add_(columns.narrow(-1, left + width, right))
        self.gradInput = gradient
        return gradient

    def __str__(self) -> str:
        left, right, top, bottom = self.pad_l, self.pad_r, self.pad_t, self.pad_b
        return f"{self.torch_typename}(l={left:g},r={right:g},t={top:g},b={bottom:g})"


@register("nn.DummyGradOutput")
class DummyGradOutput(Leftover):
    """Gives back its input; the gradient is zero."""

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput
