"""Layers over volumes: one sample is planes x time x height x width.

They are made of the operations over planes, time step by time step.
"""

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


def steps(input: Tensor) -> tuple[Tensor, tuple]:
    """(N, C, T, H, W) as a batch of planes (N * T, C, H, W), and what turns it back."""
    samples, planes, time = input.shape[:3]
    frames = input.transpose(1, 2).reshape((samples * time, planes, *input.shape[3:]))
    return frames, (samples, time)


def volumes(frames: Tensor, sizes: tuple) -> Tensor:
    """The opposite of `steps`."""
    return frames.reshape((*sizes, *frames.shape[1:])).transpose(1, 2)


def padded_in_time(input: Tensor, before: int, after: int, value: float = 0.0) -> Tensor:
    """More time steps at both ends."""
    if before == after == 0:
        return input
    return rl.pad(input, (0, 0, 0, 0, before, after), "constant", value)


class Volumetric(Module):
    """The base of layers over volumes, with or without a batch."""

    dT = dW = dH = 1
    padT = padW = padH = 0
    kT: int
    kW: int
    kH: int

    def _set_window(self, sizes: tuple, strides: tuple, pads: tuple) -> None:
        self.kT, self.kW, self.kH = sizes
        self.dT, self.dW, self.dH = strides
        self.padT, self.padW, self.padH = (pad or 0 for pad in pads)

    def compute(self, input: Any, *parameters: Any) -> Tensor:
        value = nested.elements(input)[0] if nested.is_table(input) else input
        check_volumes(self, value, getattr(self, "nInputPlane", None))
        if value.ndim == 5:
            return self.compute_batch(input, *parameters)
        batch = nested.map_tensors(lambda tensor: tensor.unsqueeze(0), input)
        return self.compute_batch(batch, *parameters).squeeze(0)

    def compute_batch(self, input: Any, *parameters: Any) -> Tensor:
        """The output for a batch of volumes."""
        raise NotImplementedError

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
        self._set_window((kT, kW, kH), (dT or 1, dW or 1, dH or 1), (padT, padW, padH))
        shape = self._weight_shape()
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.bias, self.gradBias = new_parameter(nOutputPlane), new_parameter(nOutputPlane)
        self.reset()

    def _weight_shape(self) -> tuple:
        return (self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW)

    def reset(self, stdv: float | None = None) -> None:
        fan_in = self.kT * self.kW * self.kH * self.nInputPlane
        draw_uniform(uniform_bound(stdv, fan_in), self.weight, self.bias)

    def _dilation(self) -> tuple[int, int, int]:
        return 1, 1, 1

    def compute_batch(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        weight = weight.reshape(tuple(int(n) for n in self._weight_shape()))
        dilation_t, dilation_w, dilation_h = self._dilation()
        pad_t, pad_w, pad_h = self._numbers("pad")
        step = int(self.dT)
        padded = padded_in_time(input, pad_t, pad_t)
        count = (padded.shape[2] - dilation_t * (int(self.kT) - 1) - 1) // step + 1
        if count < 1:
            raise ValueError(f"{self}: fewer time steps than the kernel: {nested.describe(input)}")
        output: Any = None
        for k in range(int(self.kT)):
            first = k * dilation_t
            part = padded.slice(2, first, first + (count - 1) * step + 1, step)
            frames, sizes = steps(part)
            result = rl.conv2d(
                frames, weight.select(2, k), bias if output is None else None,
                (int(self.dH), int(self.dW)), (pad_h, pad_w), (dilation_h, dilation_w),
            )  # fmt: skip
            output = result if output is None else output + result
        return volumes(output, sizes)

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

    def _dilation(self) -> tuple[int, int, int]:
        return self._numbers("dilation")

    def __str__(self) -> str:
        dilation = ",".join(str(n) for n in self._dilation())
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

    def compute_batch(self, input: Any, weight: Tensor, bias: Tensor | None) -> Tensor:
        adj_t, adj_w, adj_h = self._numbers("adj")
        pad_t, pad_w, pad_h = self._numbers("pad")
        if nested.is_table(input):
            input, target = nested.elements(input)[:2]
            adj_t = (target.shape[2] + 2 * pad_t - self.kT) % self.dT
            adj_h = (target.shape[3] + 2 * pad_h - self.kH) % self.dH
            adj_w = (target.shape[4] + 2 * pad_w - self.kW) % self.dW
        step, time = int(self.dT), input.shape[2]
        length = (time - 1) * step + int(self.kT) + adj_t  # before padding is cut off
        frames, sizes = steps(input)
        total: Any = None
        for k in range(int(self.kT)):
            result = rl.conv_transpose2d(
                frames, weight.select(2, k), None, (int(self.dH), int(self.dW)),
                (pad_h, pad_w), (adj_h, adj_w),
            )  # fmt: skip
            part = volumes(result, sizes)
            if total is None:
                shape = (*part.shape[:2], length, *part.shape[3:])
                total = rl.zeros(shape, dtype=part.dtype)
            places = rl.tensor([k + i * step for i in range(time)], dtype=rl.int64)
            total = rl.index_add(total, 2, places, part)
        output = total.narrow(2, pad_t, length - 2 * pad_t)
        return output if bias is None else output + bias.reshape((-1, 1, 1, 1))

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

    parameter_names = ()
    ceil_mode = False
    buffer_names = ("indices",)

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
        strides = (dT or kT, dW or kW, dH or kH)
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

    def _dilation(self) -> tuple[int, int, int]:
        return 1, 1, 1

    def compute_batch(self, input: Tensor) -> Tensor:
        dilation_t, dilation_w, dilation_h = self._dilation()
        pad_t, pad_w, pad_h = self._numbers("pad")
        frames, sizes = steps(input)
        pooled, _ = rl.max_pool2d_with_indices(
            frames, (int(self.kH), int(self.kW)), (int(self.dH), int(self.dW)), (pad_h, pad_w),
            (dilation_h, dilation_w), bool(self.ceil_mode),
        )  # fmt: skip
        time, step = input.shape[2], int(self.dT)
        reach = dilation_t * (int(self.kT) - 1) + 1
        room = time + 2 * pad_t - reach
        count = (-(-room // step) if self.ceil_mode else room // step) + 1
        if self.ceil_mode and (count - 1) * step >= time + pad_t:
            count -= 1  # a window must begin inside
        after = max(0, (count - 1) * step + reach - time - pad_t)
        padded = padded_in_time(volumes(pooled, sizes), pad_t, after, float("-inf"))
        parts = [
            padded.slice(2, k * dilation_t, k * dilation_t + (count - 1) * step + 1, step)
            for k in range(int(self.kT))
        ]
        return rl.max_with_indices(rl.stack(parts, 0), 0)[0]

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

    def _dilation(self) -> tuple[int, int, int]:
        return self._numbers("dilation")

    def __str__(self) -> str:
        return f"{super().__str__()[:-1]}, {','.join(str(n) for n in self._dilation())})"


@register("nn.VolumetricAveragePooling")
class VolumetricAveragePooling(Volumetric):
    """The mean of the elements under a window of a volume.

    Args:
        kT, kW, kH: size of the window.
        dT, dW, dH: steps; by default the size of the window.
    """

    parameter_names = ()

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
        self.dT, self.dW, self.dH = dT or kT, dW or kW, dH or kH

    def compute_batch(self, input: Tensor) -> Tensor:
        frames, sizes = steps(input)
        window, strides = (int(self.kH), int(self.kW)), (int(self.dH), int(self.dW))
        pooled = volumes(rl.avg_pool2d(frames, window, strides), sizes)
        return pooled.unfold(2, int(self.kT), int(self.dT)).mean(-1)

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
        left, right, top, bottom, front, back = (int(getattr(self, n)) for n in self.sides)
        frames = rl.pad(
            input.reshape((-1, *input.shape[-3:])), (left, right, top, bottom), "replicate"
        )
        places = [0] * front + list(range(input.shape[-3])) + [input.shape[-3] - 1] * back
        padded = frames.index_select(1, rl.tensor(places, dtype=rl.int64))
        return padded.reshape((*input.shape[:-3], *padded.shape[1:]))

    def __str__(self) -> str:
        sides = ", ".join(f"{name[1:]}={getattr(self, name)}" for name in self.sides)
        return f"{self.torch_typename}({sides})"
