"""Layers over volumes: one sample is planes x time x height x width."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


def check_volumes(layer: Any, input: Tensor, planes: int | None = None) -> None:
    """Says what was expected when an input is no volume."""
    is_right = isinstance(input, Tensor) and input.ndim in (4, 5)
    if not is_right or (planes is not None and input.shape[-4] != planes):
        expected = f"{'C' if planes is None else planes}xTxHxW"
        raise ValueError(
            f"{layer}: expected {expected}, or N samples of it, got {nested.describe(input)}"
        )


class Volumetric(Module):
    """The base of layers over volumes, with or without a batch."""

    dT = dW = dH = 1
    padT = padW = padH = 0
    groups = 1
    kT: int
    kW: int
    kH: int

    def _set_window(self, sizes: tuple, strides: tuple, pads: tuple) -> None:
        self.kT, self.kW, self.kH = sizes
        self.dT, self.dW, self.dH = strides
        self.padT, self.padW, self.padH = (pad or 0 for pad in pads)

    def _sizes(self, kind: str) -> tuple[int, int, int]:
        """Settings in the order of the dimensions: time, height, width."""
        time, width, height = self._numbers(kind)
        return time, height, width

    def _numbers(self, kind: str) -> tuple[int, int, int]:
        return tuple(int(getattr(self, f"{kind}{axis}")) for axis in "TWH")  # type: ignore

    def _window_text(self) -> str:
        text = "x".join(str(n) for n in self._numbers("k"))
        strides, pads = self._numbers("d"), self._numbers("pad")
        if strides != (1, 1, 1) or any(pads):
            text += ", " + ",".join(str(n) for n in strides)
        if any(pads):
            text += ", " + ",".join(str(n) for n in pads)
        return text


@register("nn.VolumetricConvolution")
class VolumetricConvolution(Volumetric):
    """Convolution over volumes.

    Args:
        nInputPlane, nOutputPlane: planes of input and output.
        kT, kW, kH: size of the kernel.
        dT, dW, dH: steps.
        padT, padW, padH: zeros at each side; padW and padH are padT by default.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
        padT = padT or 0
        padW = padT if padW is None else padW
        padH = padT if padH is None else padH
        self._set_window(
            (kT, kW, kH),
            (1 if dT is None else dT, 1 if dW is None else dW, 1 if dH is None else dH),
            (padT, padW, padH),
        )
        shape = self._weight_shape()
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.bias, self.gradBias = new_parameter(nOutputPlane), new_parameter(nOutputPlane)
        self.reset()

    def _weight_shape(self) -> tuple:
        planes = int(self.nInputPlane) // int(self.groups)
        return (self.nOutputPlane, planes, self.kT, self.kH, self.kW)

    def reset(self, stdv: float | None = None) -> None:
        fan_in = self.kT * self.kW * self.kH * self.nInputPlane
        draw_uniform(uniform_bound(stdv, fan_in), self.weight, self.bias)

    dilationT = dilationW = dilationH = 1

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        check_volumes(self, input, int(self.nInputPlane))
        weight = weight.reshape(tuple(int(n) for n in self._weight_shape()))
        steps, pads, gaps = (self._sizes(kind) for kind in ("d", "pad", "dilation"))
        return rl.conv3d(input, weight, bias, steps, pads, gaps, int(self.groups))

    def __str__(self) -> str:
        planes = f"{self.nInputPlane} -> {self.nOutputPlane}"
        return f"{self.torch_typename}({planes}, {self._window_text()})"


@register("nn.VolumetricDilatedConvolution")
class VolumetricDilatedConvolution(VolumetricConvolution):
    """Convolution over volumes with gaps in the kernel.

    Args:
        nInputPlane, ..., padH: as in `VolumetricConvolution`.
        dilationT, dilationW, dilationH: distance of the kernel's elements.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        dilationT: int | None = None,
        dilationW: int | None = None,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
        self.dilationT = dilationT or 1
        self.dilationW = dilationW or 1
        self.dilationH = dilationH or 1

    def __str__(self) -> str:
        dilation = ",".join(str(n) for n in self._numbers("dilation"))
        return f"{super().__str__()[:-1]}, {dilation})"


@register("nn.VolumetricFullConvolution")
class VolumetricFullConvolution(VolumetricConvolution):
    """The transpose of a convolution over volumes.

    Args:
        nInputPlane, ..., padH: as in `VolumetricConvolution`.
        adjT, adjW, adjH: extra elements of the output.

    The input may be a table {input, target}: the output then has the target's size.
    """

    adjT = adjW = adjH = 0

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        adjT: int | None = None,
        adjW: int | None = None,
        adjH: int | None = None,
    ) -> None:
        super().__init__(
            nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW or 0, padH or 0
        )
        self.adjT, self.adjW, self.adjH = adjT or 0, adjW or 0, adjH or 0
        self.ones, self.finput, self.fgradInput = new_empty(), new_empty(), new_empty()

    def _weight_shape(self) -> tuple:
        return (self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW)

    def compute(self, input: Any, weight: Tensor, bias: Tensor | None) -> Tensor:
        extra = self._sizes("adj")
        if nested.is_table(input):
            input, target = nested.elements(input)[:2]
            check_volumes(self, target)
            extra = tuple(
                (size + 2 * pad - kernel) % step
                for size, pad, kernel, step in zip(
                    target.shape[-3:],
                    self._sizes("pad"),
                    self._sizes("k"),
                    self._sizes("d"),
                    strict=True,
                )
            )
        check_volumes(self, input, int(self.nInputPlane))
        return rl.conv_transpose3d(input, weight, bias, self._sizes("d"), self._sizes("pad"), extra)

    def __str__(self) -> str:
        text = super().__str__()
        adj = self._numbers("adj")
        return f"{text[:-1]}, {','.join(str(n) for n in adj)})" if any(adj) else text


@register("nn.VolumetricMaxPooling")
class VolumetricMaxPooling(Volumetric):
    """The largest element under a window of a volume.

    Args:
        kT, kW, kH: size of the window.
        dT, dW, dH: steps; by default the size of the window.
        padT, padW, padH: added at each side, never chosen.
    """

    torch_version = 2
    parameter_names = ()
    ceil_mode = False
    buffer_names = ("indices",)
    dilationT = dilationW = dilationH = 1

    def __init__(
        self,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        strides = (kT if dT is None else dT, kW if dW is None else dW, kH if dH is None else dH)
        self._set_window((kT, kW, kH), strides, (padT, padW, padH))
        self.ceil_mode = False
        self.indices = rl.empty((0,), dtype=rl.int64)

    def ceil(self) -> Any:
        """Windows that stick out at the end count."""
        self.ceil_mode = True
        return self

    def floor(self) -> Any:
        """Windows that stick out at the end do not count (the default)."""
        self.ceil_mode = False
        return self

    def compute(self, input: Tensor) -> Tensor:
        check_volumes(self, input)
        output, indices = rl.max_pool3d_with_indices(
            input,
            self._sizes("k"),
            self._sizes("d"),
            self._sizes("pad"),
            self._sizes("dilation"),
            bool(self.ceil_mode),
        )
        self.itime, self.iheight, self.iwidth = input.shape[-3:]  # for a layer that undoes it
        self.indices = indices.detach() + 1
        return output

    def __str__(self) -> str:
        text = "x".join(str(n) for n in self._numbers("k"))
        text += ", " + ",".join(str(n) for n in self._numbers("d"))
        pads = self._numbers("pad")
        return (
            f"{self.torch_typename}({text}{', ' + ','.join(map(str, pads)) if any(pads) else ''})"
        )


@register("nn.VolumetricDilatedMaxPooling")
class VolumetricDilatedMaxPooling(VolumetricMaxPooling):
    """The largest element under a window with gaps.

    Args:
        kT, ..., padH: as in `VolumetricMaxPooling`.
        dilationT, dilationW, dilationH: distance of the window's elements.
    """

    def __init__(
        self,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        dilationT: int | None = None,
        dilationW: int | None = None,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(kT, kW, kH, dT, dW, dH, padT, padW, padH)
        self.dilationT = dilationT or 1
        self.dilationW = dilationW or 1
        self.dilationH = dilationH or 1

    def __str__(self) -> str:
        return f"{super().__str__()[:-1]}, {','.join(str(n) for n in self._numbers('dilation'))})"


@register("nn.VolumetricMaxUnpooling")
class VolumetricMaxUnpooling(Module):
    """Puts elements back to where a pooling layer took them from, zeros elsewhere.

    Args:
        poolingModule: a `VolumetricMaxPooling` that has run.
    """

    parameter_names = ()

    def __init__(self, poolingModule: Any) -> None:
        super().__init__()
        self.pooling = poolingModule

    def compute(self, input: Tensor) -> Tensor:
        check_volumes(self, input)
        size = [int(getattr(self.pooling, name)) for name in ("itime", "iheight", "iwidth")]
        places = self.pooling.indices.to(rl.int64) - 1
        return rl.max_unpool3d(input, places.reshape(input.shape), 1, output_size=size)

    def __str__(self) -> str:
        return f"{self.torch_typename} associated to {self.pooling}"


@register("nn.VolumetricAveragePooling")
class VolumetricAveragePooling(Volumetric):
    """The mean of the elements under a window of a volume.

    Args:
        kT, kW, kH: size of the window.
        dT, dW, dH: steps; by default the size of the window.
    """

    parameter_names = ()
    # What only cudnn's class has beside padT, padW, padH.
    ceil_mode = False
    count_include_pad = True

    def __init__(
        self,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
    ) -> None:
        super().__init__()
        self.kT, self.kW, self.kH = kT, kW, kH
        self.dT, self.dW, self.dH = (
            kT if dT is None else dT,
            kW if dW is None else dW,
            kH if dH is None else dH,
        )

    def compute(self, input: Tensor) -> Tensor:
        check_volumes(self, input)
        return rl.avg_pool3d(
            input,
            self._sizes("k"),
            self._sizes("d"),
            self._sizes("pad"),
            bool(self.ceil_mode),
            bool(self.count_include_pad),
        )

    def __str__(self) -> str:
        text = "x".join(str(n) for n in self._numbers("k"))
        return f"{self.torch_typename}({text}, {','.join(str(n) for n in self._numbers('d'))})"


@register("nn.VolumetricReplicationPadding")
class VolumetricReplicationPadding(Module):
    """The outermost elements of volumes again around them.

    Args:
        pleft, pright, ptop, pbottom, pfront, pback: how many; all as pleft by default.
    """

    parameter_names = ()
    sides = ("pleft", "pright", "ptop", "pbottom", "pfront", "pback")

    def __init__(self, pleft: int, *others: int) -> None:
        super().__init__()
        given = [pleft, *others] + [None] * (len(self.sides) - 1 - len(others))
        for name, count in zip(self.sides, given, strict=True):
            self.__dict__[name] = pleft if count is None else count

    def compute(self, input: Tensor) -> Tensor:
        check_volumes(self, input)
        return rl.pad(input, [int(getattr(self, name)) for name in self.sides], "replicate")

    def __str__(self) -> str:
        sides = ", ".join(f"{name[1:]}={getattr(self, name)}" for name in self.sides)
        return f"{self.torch_typename}({sides})"
