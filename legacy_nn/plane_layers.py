"""Layers over planes that older networks use: connection tables, local contrast
normalisation, responses across planes, adaptive pooling, upsampling."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import default_dtype, long_storage, new_parameter


def check_planes(layer: Any, input: Tensor, planes: int | None = None) -> None:
    """One sample is planes x height x width; a batch has one dimension more."""
    is_right = isinstance(input, Tensor) and input.ndim in (3, 4)
    if not is_right or (planes is not None and input.shape[-3] != planes):
        expected = "CxHxW" if planes is None else f"{planes}xHxW"
        raise ValueError(
            f"{layer}: expected {expected}, or N samples of it, got {nested.describe(input)}"
        )


def as_planes(layer: Any, input: Any) -> Tensor:
    """An image CxHxW or a batch of images, as a batch."""
    if not isinstance(input, Tensor) or input.ndim not in (3, 4):
        raise ValueError(f"{layer}: expected images CxHxW or NxCxHxW, got {nested.describe(input)}")
    return input if input.ndim == 4 else input.unsqueeze(0)


class tables:
    """Connection tables for `SpatialConvolutionMap`: rows of (input plane, output plane)."""

    @staticmethod
    def full(inputs: int, outputs: int) -> Tensor:
        """Every input plane with every output plane."""
        rows = [[i + 1.0, o + 1.0] for o in range(outputs) for i in range(inputs)]
        return rl.tensor(rows, dtype=default_dtype())

    @staticmethod
    def oneToOne(planes: int) -> Tensor:
        """Every input plane with the output plane of its number."""
        return rl.tensor([[i + 1.0, i + 1.0] for i in range(planes)], dtype=default_dtype())

    @staticmethod
    def random(inputs: int, outputs: int, fan_in: int) -> Tensor:
        """Every output plane with `fan_in` input planes: the next ones of a random order of all,
        or of a new order when fewer are left.

        >>> from relume import legacy_nn as nn
        >>> nn.tables.random(4, 6, 2).shape
        (12, 2)
        """
        if not 1 <= fan_in <= inputs:
            raise ValueError(f"nn.tables.random: fan_in is from 1 to {inputs}, got {fan_in}")
        rows, order = [], rl.randperm(inputs).tolist()
        for output in range(outputs):
            rows += [[input + 1.0, output + 1.0] for input in order[:fan_in]]
            order = order[fan_in:]
            if len(order) < fan_in:
                order = rl.randperm(inputs).tolist()
        return rl.tensor(rows, dtype=default_dtype())


class MappedConvolution(Module):
    """The base of convolutions that connect only some pairs of planes.

    Args:
        connTable: rows of (input plane, output plane), counted from 1.
        kW, kH: width and height of the kernel.
        dW, dH: steps.
    """

    dW = dH = 1

    def __init__(
        self, connTable: Tensor, kW: int, kH: int, dW: int | None = None, dH: int | None = None
    ) -> None:
        super().__init__()
        self.kW, self.kH = kW, kH
        self.dW, self.dH = 1 if dW is None else dW, 1 if dH is None else dH
        self.connTable = connTable
        self.nInputPlane = int(connTable.select(1, 0).amax().item())
        self.nOutputPlane = int(connTable.select(1, 1).amax().item())
        connections = connTable.shape[0]
        self.weight = new_parameter(connections, kH, kW)
        self.bias = new_parameter(self.nOutputPlane)
        self.gradWeight = new_parameter(connections, kH, kW)
        self.gradBias = new_parameter(self.nOutputPlane)
        self.reset()

    def _pairs(self) -> list[tuple[int, int]]:
        return [(int(i) - 1, int(o) - 1) for i, o in self.connTable.tolist()]

    def reset(self, stdv: float | None = None) -> None:
        if stdv is not None:
            draw_uniform(stdv * math.sqrt(3), self.weight, self.bias)
            return
        counts = [0] * int(self.nOutputPlane)
        for _, output in self._pairs():
            counts[output] += 1
        area = self.kW * self.kH
        for k, (_, output) in enumerate(self._pairs()):
            kernel = self.weight.detach().select(0, k)
            draw_uniform(uniform_bound(None, area * counts[output]), kernel)
        for output, count in enumerate(counts):
            bias = self.bias.detach().narrow(0, output, 1)
            draw_uniform(uniform_bound(None, area * max(count, 1)), bias)

    def _planes_of(self, input: Tensor) -> int:
        """How many planes come in: as many as the table names, or more, which are not used."""
        check_planes(self, input)
        planes = input.shape[-3]
        if planes < self.nInputPlane:
            check_planes(self, input, int(self.nInputPlane))
        return planes

    def _dense(self, input: Tensor, weight: Tensor, output_first: bool) -> Tensor:
        """The kernels at their places among those of all pairs, zeros elsewhere."""
        inputs, outputs = self._planes_of(input), int(self.nOutputPlane)
        places = [o * inputs + i if output_first else i * outputs + o for i, o in self._pairs()]
        shape = (inputs * outputs, *weight.shape[1:])
        empty = rl.zeros(shape, dtype=weight.dtype)
        dense = rl.index_add(empty, 0, rl.tensor(places, dtype=rl.int64), weight)
        planes = (outputs, inputs) if output_first else (inputs, outputs)
        return dense.reshape((*planes, *weight.shape[1:]))


@register("nn.SpatialConvolutionMap")
class SpatialConvolutionMap(MappedConvolution):
    __doc__ = MappedConvolution.__doc__

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return rl.conv2d(input, self._dense(input, weight, True), bias, (self.dH, self.dW))


@register("nn.SpatialFullConvolutionMap")
class SpatialFullConvolutionMap(MappedConvolution):
    __doc__ = MappedConvolution.__doc__

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        kernels = self._dense(input, weight, False)
        return rl.conv_transpose2d(input, kernels, bias, (self.dH, self.dW), (0, 0), (0, 0))


@register("nn.SpatialSubSampling")
class SpatialSubSampling(Module):
    """The sum under a window, times a learned number per plane, plus another.

    Args:
        nInputPlane: planes.
        kW, kH: width and height of the window.
        dW, dH: steps, by default 1.
    """

    dW = dH = 1

    def __init__(
        self, nInputPlane: int, kW: int, kH: int, dW: int | None = None, dH: int | None = None
    ) -> None:
        super().__init__()
        self.nInputPlane = nInputPlane
        self.kW, self.kH = kW, kH
        self.dW, self.dH = 1 if dW is None else dW, 1 if dH is None else dH
        for name in ("weight", "bias", "gradWeight", "gradBias"):
            self.__dict__[name] = new_parameter(nInputPlane)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.kW * self.kH), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        check_planes(self, input, int(self.nInputPlane))
        planes = (int(self.nInputPlane), 1, 1)
        if weight.ndim > 1:  # the first layout: one constant per plane and place
            weight = weight.reshape((planes[0], -1)).select(1, 0)
        window, steps = (self.kH, self.kW), (self.dH, self.dW)
        sums = rl.avg_pool2d(input, window, steps, divisor_override=1)
        return sums * weight.reshape(planes) + bias.reshape(planes)


@register("nn.SpatialLPPooling")
class SpatialLPPooling(Sequential):
    """The p-norm under a window.

    Args:
        nInputPlane: planes.
        pnorm: p, by default 2.
        kW, kH: width and height of the window.
        dW, dH: steps; by default the size of the window.
    """

    def __init__(
        self,
        nInputPlane: int,
        pnorm: float | None = None,
        kW: int | None = None,
        kH: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
    ) -> None:
        super().__init__()
        pnorm, kW = pnorm or 2, kW or 2
        kH = kH or kW
        dW, dH = kW if dW is None else dW, kH if dH is None else dH
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        is_square = pnorm == 2
        self.add(make("Square") if is_square else make("Power", pnorm))
        self.add(make("SpatialAveragePooling", kW, kH, dW, dH))
        self.add(make("MulConstant", kW * kH))
        self.add(make("Sqrt") if is_square else make("Power", 1 / pnorm))

    def reset(self, stdv: float | None = None) -> None:
        pass

    def __str__(self) -> str:
        return super().__str__().replace(self.torch_typename, "nn.Sequential", 1)


@register("nn.SpatialCrossMapLRN")
class SpatialCrossMapLRN(Module):
    """Divides by (k + alpha / size * sum of squares of neighbouring planes) ** beta.

    Args:
        size: how many neighbours.
        alpha, beta, k: by default 0.0001, 0.75, 1.
    """

    parameter_names = ()
    alpha, beta, k = 1e-4, 0.75, 1.0

    def __init__(
        self,
        size: int,
        alpha: float | None = None,
        beta: float | None = None,
        k: float | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = 0.0001 if alpha is None else alpha
        self.beta = 0.75 if beta is None else beta
        self.k = 1 if k is None else k

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        size = int(self.size)
        # Torch7 has the smaller half of an even size before a plane, the op after it.
        planes = input.flip(-3) if size % 2 == 0 else input
        batch = planes if input.ndim == 4 else planes.unsqueeze(0)
        output = rl.local_response_norm(batch, size, self.alpha, self.beta, self.k)
        output = output.reshape(input.shape)
        return output.flip(-3) if size % 2 == 0 else output


@register("nn.SpatialMaxUnpooling")
class SpatialMaxUnpooling(Module):
    """Puts elements back to where a pooling layer took them from, zeros elsewhere.

    Args:
        poolingModule: a `SpatialMaxPooling` that has run.
    """

    parameter_names = ()

    def __init__(self, poolingModule: Any) -> None:
        super().__init__()
        self.pooling = poolingModule

    def compute(self, input: Tensor) -> Tensor:
        size = (int(self.pooling.iheight), int(self.pooling.iwidth))
        places = self.pooling.indices.to(rl.int64) - 1
        return rl.max_unpool2d(input, places.reshape(input.shape), 1, output_size=size)

    def __str__(self) -> str:
        return f"{self.torch_typename} associated to {self.pooling}"


# ---- to a given size ----


class AdaptivePooling(Module):
    """The base of poolings whose output has a given size.

    Args:
        W, H: width and height of the output.
    """

    parameter_names = ()

    def __init__(self, W: int, H: int) -> None:
        super().__init__()
        self.W, self.H = W, H


@register("nn.SpatialAdaptiveAveragePooling")
class SpatialAdaptiveAveragePooling(AdaptivePooling):
    __doc__ = AdaptivePooling.__doc__

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        return rl.adaptive_avg_pool2d(input, (int(self.H), int(self.W)))


@register("nn.SpatialAdaptiveMaxPooling")
class SpatialAdaptiveMaxPooling(AdaptivePooling):
    __doc__ = AdaptivePooling.__doc__
    buffer_names = ("indices",)

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        size = (int(self.H), int(self.W))
        output, flat = rl.adaptive_max_pool2d(input, size)
        height, width = input.shape[-2:]
        # Torch7 counts from the first element of each window.
        tops = rl.tensor([i * height // size[0] for i in range(size[0])]).unsqueeze(-1)
        lefts = rl.tensor([i * width // size[1] for i in range(size[1])])
        flat = flat.detach()
        self.indices = rl.stack([flat // width - tops + 1, flat % width - lefts + 1], 0)
        return output


def resampled(input: Tensor, sizes: list[int], mode: str) -> Tensor:
    """Planes or volumes of another size; corners stay corners."""
    return rl._C.ops["resample"](input, sizes, mode, True, float_positions=True)


@register("nn.SpatialUpSamplingBilinear")
class SpatialUpSamplingBilinear(Module):
    """Interpolates planes to a larger size; corners stay corners.

    Args:
        params: the factor, or a table {oheight=, owidth=}.
    """

    parameter_names = ()

    def __init__(self, params: Any) -> None:
        super().__init__()
        if isinstance(params, dict) or hasattr(params, "get"):
            self.owidth, self.oheight = params["owidth"], params["oheight"]
        else:
            self.scale_factor = params
        self.inputSize = long_storage([0] * 4)
        self.outputSize = long_storage([0] * 4)

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        factor = self.__dict__.get("scale_factor")
        height = int(input.shape[-2] * factor) if factor else int(self.oheight)
        width = int(input.shape[-1] * factor) if factor else int(self.owidth)
        return resampled(input, [height, width], "bilinear")

    def __str__(self) -> str:
        factor = self.__dict__.get("scale_factor")
        text = f"{factor:.0f}" if factor else f"{self.oheight:.0f}, {self.owidth:.0f}"
        return f"{self.torch_typename}({text})"


@register("nn.UpSampling")
class UpSampling(Module):
    """Enlarges planes or volumes.

    Args:
        params: the factor, or a table {odepth=, oheight=, owidth=}.
        mode: 'nearest' (repeat), 'linear', 'bilinear' or 'trilinear' (interpolate).
    """

    parameter_names = ()

    def __init__(self, params: Any, mode: str | None = None) -> None:
        super().__init__()
        if isinstance(params, dict) or hasattr(params, "get"):
            self.odepth = params.get("odepth") or 1
            self.oheight, self.owidth = params["oheight"], params["owidth"]
        else:
            self.scale_factor = params
        self.mode = "linear" if mode in ("linear", "bilinear", "trilinear") else mode or "nearest"
        self.inputSize = long_storage([0] * 5)
        self.outputSize = long_storage([0] * 5)

    def compute(self, input: Tensor) -> Tensor:
        dims = [d for d in (-3, -2, -1) if input.ndim + d >= 2]
        factor = self.__dict__.get("scale_factor")
        named = ("odepth", "oheight", "owidth")
        sizes = [
            int(input.shape[d] * factor) if factor else int(self.__dict__[named[d + 3]])
            for d in dims
        ]
        return resampled(input, sizes, self.mode)

    def __str__(self) -> str:
        factor = self.__dict__.get("scale_factor")
        size = f"{factor:.0f}x" if factor else f"{self.odepth}x{self.oheight}x{self.owidth}"
        return f"{self.torch_typename}({size}, {self.mode})"


# ---- local contrast ----


def neighbourhood(planes: int, kernel: Tensor) -> Sequential:
    """A network for the weighted mean over a neighbourhood of all planes, on every plane."""
    height, width = (
        (kernel.shape[0], kernel.shape[-1]) if kernel.ndim == 2 else (kernel.numel(),) * 2
    )
    net = Sequential()
    net.add(make("SpatialZeroPadding", width // 2, width // 2, height // 2, height // 2))
    with rl.no_grad():
        if kernel.ndim == 2:
            whole = make("SpatialConvolution", planes, 1, width, height)
            whole.weight.copy_(kernel.expand(tuple(whole.weight.shape)))
            whole.bias.zero_()
            net.add(whole)
        else:
            rows = make("SpatialConvolutionMap", tables.oneToOne(planes), width, 1)
            columns = make("SpatialConvolution", planes, 1, 1, height)
            rows.weight.copy_(kernel.reshape((1, 1, width)).expand(tuple(rows.weight.shape)))
            columns.weight.copy_(
                kernel.reshape((1, 1, height, 1)).expand(tuple(columns.weight.shape))
            )
            rows.bias.zero_()
            columns.bias.zero_()
            net.add(rows).add(columns)
    return net.add(make("Replicate", planes, 1, 3))


class ContrastLayer(Module):
    """The base of layers that compare an element with its neighbourhood.

    Args:
        nInputPlane: planes, by default 1.
        kernel: weights of the neighbourhood, a vector or a matrix; divided in place by their sum.
    """

    parameter_names = ()
    meanestimator: Any

    def _set_kernel(self, nInputPlane: int | None, kernel: Tensor | None) -> None:
        self.nInputPlane = nInputPlane or 1
        self.kernel = rl.ones((9, 9), dtype=default_dtype()) if kernel is None else kernel
        total = self.kernel.sum().item() * self.nInputPlane
        root = math.sqrt(total) if self.kernel.ndim == 1 else total
        self.kernel.div_(root)

    def _relative(self, estimator: Any, input: Tensor) -> Tensor:
        """What an estimator makes of the input, over what the mean makes of ones: the borders
        have fewer neighbours."""
        sample = tuple(input.shape[-3:])
        with rl.no_grad():
            ones = rl.ones(sample, dtype=input.dtype)
            coefficients = self.meanestimator(ones).reshape(sample)
        return estimator(input).reshape(input.shape) / coefficients


@register("nn.SpatialSubtractiveNormalization")
class SpatialSubtractiveNormalization(ContrastLayer):
    __doc__ = ContrastLayer.__doc__

    def __init__(self, nInputPlane: int | None = None, kernel: Tensor | None = None) -> None:
        super().__init__()
        self._set_kernel(nInputPlane, kernel)
        self.meanestimator = neighbourhood(self.nInputPlane, self.kernel)
        self.subtractor, self.divider = make("CSubTable"), make("CDivTable")
        self.coef = rl.zeros((1, 1, 1), dtype=default_dtype())

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input, int(self.nInputPlane))
        return input - self._relative(self.meanestimator, input)


@register("nn.SpatialDivisiveNormalization")
class SpatialDivisiveNormalization(ContrastLayer):
    __doc__ = f"""{ContrastLayer.__doc__.rstrip() if ContrastLayer.__doc__ else ""}
        threshold, thresval: deviations below the first become the second.
    """

    def __init__(
        self,
        nInputPlane: int | None = None,
        kernel: Tensor | None = None,
        threshold: float | None = None,
        thresval: float | None = None,
    ) -> None:
        super().__init__()
        self._set_kernel(nInputPlane, kernel)
        self.threshold = 1e-4 if threshold is None else threshold
        self.thresval = self.threshold if thresval is None else thresval
        self.meanestimator = neighbourhood(self.nInputPlane, self.kernel)
        self.stdestimator = Sequential().add(make("Square"))
        for module in neighbourhood(self.nInputPlane, self.kernel).modules:
            self.stdestimator.add(module)
        self.stdestimator.add(make("Sqrt"))
        self.normalizer, self.divider = make("CDivTable"), make("CDivTable")
        self.thresholder = make("Threshold", self.threshold, self.thresval)
        self.coef = rl.zeros((1, 1, 1), dtype=default_dtype())

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input, int(self.nInputPlane))
        return input / self.thresholder(self._relative(self.stdestimator, input))


@register("nn.SpatialContrastiveNormalization")
class SpatialContrastiveNormalization(ContrastLayer):
    """Subtractive, then divisive normalisation.

    Args:
        nInputPlane, kernel, threshold, thresval: as of the two.
    """

    def __init__(
        self,
        nInputPlane: int | None = None,
        kernel: Tensor | None = None,
        threshold: float | None = None,
        thresval: float | None = None,
    ) -> None:
        super().__init__()
        self.nInputPlane = nInputPlane or 1
        self.kernel = rl.ones((9, 9), dtype=default_dtype()) if kernel is None else kernel
        self.threshold = 1e-4 if threshold is None else threshold
        self.thresval = self.threshold if thresval is None else thresval
        subtract = SpatialSubtractiveNormalization(self.nInputPlane, self.kernel)
        divide = SpatialDivisiveNormalization(
            self.nInputPlane, self.kernel, self.threshold, self.thresval
        )
        self.normalizer = Sequential().add(subtract).add(divide)

    def compute(self, input: Tensor) -> Tensor:
        return self.normalizer(input)
