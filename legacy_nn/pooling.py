"""Pooling, padding and upsampling of planes, and pooling over sequences."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import long_storage


class PlanePooling(Module):
    """The base of pooling layers over planes."""

    parameter_names = ()
    dW = dH = 1
    padW = padH = 0
    ceil_mode = False

    kW: int
    kH: int

    def _set_geometry(self, kW, kH, dW, dH, padW, padH) -> None:
        self.kW = kW
        self.kH = kH
        self.dW = dW
        self.dH = dH
        self.padW = padW or 0
        self.padH = padH or 0

    def ceil(self) -> Any:
        """Windows that stick out at the end count."""
        self.ceil_mode = True
        return self

    def floor(self) -> Any:
        """Windows that stick out at the end do not count (the default)."""
        self.ceil_mode = False
        return self

    def _check_input(self, input: Tensor) -> None:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected CxHxW, or NxCxHxW for a batch, got {nested.describe(input)}"
            )
        height, width = input.shape[-2] + 2 * self.padH, input.shape[-1] + 2 * self.padW
        if height < self.kH or width < self.kW:
            raise ValueError(
                f"{self}: the input is smaller than the kernel: {nested.describe(input)}"
            )

    def __str__(self) -> str:
        text = f"{self.torch_typename}({self.kW}x{self.kH}, {self.dW},{self.dH}"
        if self.padW != 0 or self.padH != 0:
            text += f", {self.padW},{self.padH}"
        return text + ")"


class IndexedPooling(PlanePooling):
    """The base of max pooling: `indices` says, from 1, where each maximum was."""

    buffer_names = ("indices",)

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def compute(self, input: Tensor) -> Tensor:
        self._check_input(input)
        output, indices = self._pool(input)
        self.iheight, self.iwidth = input.shape[-2:]  # for a layer that undoes it
        self.indices = indices.detach() + 1
        return output


@register("nn.SpatialMaxPooling")
class SpatialMaxPooling(IndexedPooling):
    """The largest element under a window.

    Args:
        kW, kH: width and height of the window.
        dW, dH: steps; by default the size of the window.
        padW, padH: added at each side, never chosen.
    """

    def __init__(
        self,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(kW, kH, kW if dW is None else dW, kH if dH is None else dH, padW, padH)
        self.ceil_mode = False
        self.indices = rl.empty((0,), dtype=rl.int64)

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        return rl.max_pool2d_with_indices(
            input,
            (self.kH, self.kW),
            (self.dH, self.dW),
            (self.padH, self.padW),
            (1, 1),
            self.ceil_mode,
        )


@register("nn.SpatialDilatedMaxPooling")
class SpatialDilatedMaxPooling(SpatialMaxPooling):
    """The largest element under a window with gaps.

    Args:
        kW, kH, dW, dH, padW, padH: as in `SpatialMaxPooling`.
        dilationW, dilationH: distance of the window's elements.
    """

    dilationW = dilationH = 1

    def __init__(
        self,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        dilationW: int | None = None,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(kW, kH, dW, dH, padW, padH)
        self.dilationW = dilationW or 1
        self.dilationH = dilationH or 1

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        return rl.max_pool2d_with_indices(
            input,
            (self.kH, self.kW),
            (self.dH, self.dW),
            (self.padH, self.padW),
            (self.dilationH, self.dilationW),
            self.ceil_mode,
        )

    def __str__(self) -> str:
        text = f"{self.torch_typename}({self.kW}x{self.kH}, {self.dW},{self.dH}"
        if self.padW != 0 or self.padH != 0:
            text += f", {self.padW},{self.padH}"
        return f"{text}, {self.dilationW},{self.dilationH})"


@register("nn.SpatialAveragePooling")
class SpatialAveragePooling(PlanePooling):
    """The mean (or, with `divide` off, the sum) of the elements under a window.

    Args:
        kW, kH: width and height of the window.
        dW, dH: steps, by default 1.
        padW, padH: zeros added at each side.
    """

    divide = True
    count_include_pad = True

    def __init__(
        self,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(kW, kH, 1 if dW is None else dW, 1 if dH is None else dH, padW, padH)
        self.ceil_mode = False
        self.count_include_pad = True
        self.divide = True

    def setCountIncludePad(self) -> Any:
        """Padding counts in the mean (the default)."""
        self.count_include_pad = True
        return self

    def setCountExcludePad(self) -> Any:
        """Padding does not count in the mean."""
        self.count_include_pad = False
        return self

    def compute(self, input: Tensor) -> Tensor:
        self._check_input(input)
        output = rl.avg_pool2d(
            input,
            (self.kH, self.kW),
            (self.dH, self.dW),
            (self.padH, self.padW),
            self.ceil_mode,
            self.count_include_pad,
        )
        return output if self.divide else output * (self.kW * self.kH)


# ---- padding: rows of (name, mode of `pad`, does a batch need 4 dimensions) ----


class PlanePadding(Module):
    """The base of layers that add rows and columns around planes.

    Args:
        pad_l, pad_r, pad_t, pad_b: left, right, top, bottom; all as pad_l by default.
            Negative numbers crop, where the mode allows it.
    """

    parameter_names = ()
    mode = "constant"

    def __init__(
        self,
        pad_l: int,
        pad_r: int | None = None,
        pad_t: int | None = None,
        pad_b: int | None = None,
    ) -> None:
        super().__init__()
        self.pad_l = pad_l
        self.pad_r = pad_l if pad_r is None else pad_r
        self.pad_t = pad_l if pad_t is None else pad_t
        self.pad_b = pad_l if pad_b is None else pad_b

    def compute(self, input: Tensor) -> Tensor:
        height = input.shape[-2] + self.pad_t + self.pad_b if input.ndim in (3, 4) else 0
        if height < 1 or input.shape[-1] + self.pad_l + self.pad_r < 1:
            raise ValueError(f"{self}: does not fit {nested.describe(input)}")
        sides = (self.pad_l, self.pad_r, self.pad_t, self.pad_b)
        if self.mode == "constant":
            # Crop first: `pad` itself only adds.
            rows = input.shape[-2] + min(self.pad_t, 0) + min(self.pad_b, 0)
            columns = input.shape[-1] + min(self.pad_l, 0) + min(self.pad_r, 0)
            input = input.narrow(-2, max(-self.pad_t, 0), rows)
            input = input.narrow(-1, max(-self.pad_l, 0), columns)
            sides = tuple(max(side, 0) for side in sides)  # type: ignore[assignment]
        return rl.pad(input, sides, self.mode)

    def __str__(self) -> str:
        return (
            f"{self.torch_typename}(l={self.pad_l}, r={self.pad_r}, t={self.pad_t}, b={self.pad_b})"
        )


@register("nn.SpatialZeroPadding")
class SpatialZeroPadding(PlanePadding):
    """Zeros around planes; negative numbers crop."""


@register("nn.SpatialReflectionPadding")
class SpatialReflectionPadding(PlanePadding):
    """Mirror images around planes."""

    mode = "reflect"


@register("nn.SpatialReplicationPadding")
class SpatialReplicationPadding(PlanePadding):
    """The outermost rows and columns again around planes."""

    mode = "replicate"


# ---- upsampling ----


@register("nn.SpatialUpSamplingNearest")
class SpatialUpSamplingNearest(Module):
    """Every element becomes a square of itself.

    Args:
        scale: width of the square.
    """

    parameter_names = ()

    def __init__(self, scale: int) -> None:
        super().__init__()
        self.scale_factor = scale
        self.inputSize = long_storage([0] * 4)
        self.outputSize = long_storage([0] * 4)

    def compute(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected CxHxW, or NxCxHxW for a batch, got {nested.describe(input)}"
            )
        return rl.upsample_nearest2d(input, self.scale_factor)


# ---- over sequences ----


@register("nn.TemporalMaxPooling")
class TemporalMaxPooling(Module):
    """The largest element of each feature under a window of frames.

    Args:
        kW: frames under the window.
        dW: step; by default kW.
    """

    parameter_names = ()
    buffer_names = ("indices",)

    def __init__(self, kW: int, dW: int | None = None) -> None:
        super().__init__()
        self.kW = kW
        self.dW = kW if dW is None else dW

    def compute(self, input: Tensor) -> Tensor:
        if input.ndim not in (2, 3) or input.shape[-2] < self.kW:
            raise ValueError(
                f"{self}: expected at least {self.kW} frames (TxF, or NxTxF for a batch), "
                f"got {nested.describe(input)}"
            )
        # Frames are the rows of an image.
        image = input if input.ndim == 3 else input.unsqueeze(0)
        output, places = rl.max_pool2d_with_indices(image, (self.kW, 1), (self.dW, 1))
        starts = rl.arange(output.shape[-2]).unsqueeze(-1) * self.dW
        self.indices = (places // input.shape[-1] - starts).reshape(
            (*input.shape[:-2], *output.shape[-2:])
        )
        return output if input.ndim == 3 else output.squeeze(0)


@register("nn.TemporalDynamicKMaxPooling")
class TemporalDynamicKMaxPooling(Module):
    """The k largest elements of each feature, in the order of their frames.

    Args:
        minK: the smallest k.
        factor: k is this part of the frames (rounded up) where that is more; by default 0.

    Kalchbrenner et al., "A convolutional neural network for modelling sentences", 2014.
    """

    parameter_names = ()
    buffer_names = ("indices",)
    factor = 0.0

    def __init__(self, minK: int, factor: float | None = None) -> None:
        super().__init__()
        self.minK = minK
        self.factor = factor or 0

    def compute(self, input: Tensor) -> Tensor:
        is_sequence = isinstance(input, Tensor) and input.ndim in (2, 3)
        frames = input.shape[-2] if is_sequence else 0
        k = max(int(self.minK), math.ceil(self.factor * frames))
        if not is_sequence or frames < k:
            raise ValueError(
                f"{self}: expected at least {k} frames (TxF, or NxTxF for a batch), "
                f"got {nested.describe(input)}"
            )
        places = rl.topk(input.detach(), k, -2)[1].sort(-2)[0]
        self.indices = places + 1
        return input.gather(-2, places)


@register("nn.FeatureLPPooling")
class FeatureLPPooling(Module):
    """The p-norm of neighbouring features.

    Args:
        width: features under the window.
        stride: its step.
        power: p.
        batch_mode: True if the first dimension is the batch; features are the next one.
    """

    parameter_names = ()
    batch_mode = False

    def __init__(self, width: int, stride: int, power: float, batch_mode: bool | None = None):
        super().__init__()
        self.width, self.stride, self.power = width, stride, power
        self.batch_mode = bool(batch_mode)
        if width < 1 or stride < 1 or power < 1:
            raise ValueError("nn.FeatureLPPooling: width, stride and power must be at least 1")

    def compute(self, input: Tensor) -> Tensor:
        dim = 1 if self.batch_mode else 0
        if not isinstance(input, Tensor) or input.ndim <= dim or input.shape[dim] < self.width:
            raise ValueError(
                f"{self}: expected at least {self.width} features in dimension {dim + 1}, "
                f"got {nested.describe(input)}"
            )
        batch = input.shape[0] if self.batch_mode else 1
        rows = (input**self.power).reshape((batch, 1, input.shape[dim], -1))
        window, step = (int(self.width), 1), (int(self.stride), 1)
        sums = rl.avg_pool2d(rows, window, step, divisor_override=1)
        shape = (*input.shape[:dim], sums.shape[2], *input.shape[dim + 1 :])
        empty = sums == 0  # where the root has no gradient, 0 stands for it
        roots = rl.where(empty, 0, rl.where(empty, 1, sums) ** (1 / self.power))
        return roots.reshape(shape)

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.width}, {self.stride}, {self.power})"
