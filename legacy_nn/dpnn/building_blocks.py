"""Blocks of well-known image networks: Inception and SqueezeNet's Fire module."""

from __future__ import annotations

from typing import Any

from relume.legacy_nn import nested
from relume.legacy_nn.composite import DepthConcat, make
from relume.legacy_nn.container import Concat, Decorator, Sequential
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.registry import register


@register("nn.FireModule")
class FireModule(Decorator):
    """Few 1x1 filters, then 1x1 and 3x3 filters side by side (Iandola et al. 2016, SqueezeNet).

    Args:
        nInputPlane: planes of the input.
        s1x1: filters that squeeze.
        e1x1, e3x3: filters that expand.
        activation: name of a layer of nn without arguments, by default "ReLU".

    >>> from relume import legacy_nn as nn
    >>> nn.FireModule(96, 16, 64, 64)
    nn.FireModule inputPlanes: 96 -> Squeeze Planes: 16 -> Expand: 64(1x1) + 64(3x3), \
activation: ReLU
    """

    def __init__(
        self, nInputPlane: int, s1x1: int, e1x1: int, e3x3: int, activation: str | None = None
    ) -> None:
        activation = activation or "ReLU"
        squeeze = SpatialConvolution(nInputPlane, s1x1, 1, 1)
        expand = Concat(2)
        expand.add(SpatialConvolution(s1x1, e1x1, 1, 1))
        expand.add(SpatialConvolution(s1x1, e3x3, 3, 3, 1, 1, 1, 1))
        block = Sequential().add(squeeze).add(make(activation)).add(expand).add(make(activation))
        super().__init__(block)
        self.nInputPlane = nInputPlane
        self.s1x1 = s1x1
        self.e1x1 = e1x1
        self.e3x3 = e3x3
        self.activation = activation
        self.module = block
        self.squeeze = squeeze
        self.expand = expand

    def __str__(self) -> str:
        return (
            f"{self.torch_typename} inputPlanes: {self.squeeze.nInputPlane} -> "
            f"Squeeze Planes: {self.s1x1} -> "
            f"Expand: {self.e1x1}(1x1) + {self.e3x3}(3x3), activation: {self.activation}"
        )


def at(values: list, place: int, default: Any = None) -> Any:
    """An element of a list, or a default where the list has ended."""
    return values[place] if place < len(values) and values[place] is not None else default


@register("nn.Inception")
class Inception(Decorator):
    """Filters of several sizes side by side (Szegedy et al. 2014, "Going deeper").

    Each column reduces the planes with 1x1 filters first; a pooling column and one with 1x1
    filters alone follow.

    Args:
        config: a dict with these keys, or the same as named arguments:
            inputSize: planes of the input.
            outputSize: planes of each column of larger filters.
            reduceSize: planes after the 1x1 filters of each column; then those of the pooling
                column (None: no filters there), then those of the last column (None: no such
                column).
            reduceStride: strides of the 1x1 filters, by default 1.
            transfer: the activation, by default a ReLU.
            batchNorm: normalise after each convolution.
            padding: keep the size of the image, by default True.
            kernelSize, kernelStride: of each column of larger filters, by default 5, 3 and 1, 1.
            poolSize, poolStride: of the pooling column, by default 3 and 1.
            pool: the layer that pools, by default SpatialMaxPooling.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> block = nn.Inception(inputSize=3, outputSize=[4, 5], reduceSize=[2, 2, 6, 7])
    >>> block.forward(rl.zeros(1, 3, 8, 8, dtype=rl.float64)).shape
    (1, 22, 8, 8)
    """

    batchNorm = False
    padding = True

    def __init__(self, config: Any = None, **named: Any) -> None:
        settings = {**dict((config or {}).items()), **named}

        def listed(name: str, default: list) -> list:
            value = settings.get(name)
            return default if value is None else list(nested.elements(value))

        self.inputSize = settings["inputSize"]
        self.outputSize = listed("outputSize", [])
        self.reduceSize = listed("reduceSize", [])
        self.reduceStride = listed("reduceStride", [])
        self.transfer = settings.get("transfer") or make("ReLU")
        self.batchNorm = bool(settings.get("batchNorm"))
        self.padding = settings.get("padding") is not False
        self.kernelSize = listed("kernelSize", [5, 3])
        self.kernelStride = listed("kernelStride", [1, 1])
        self.poolSize = settings.get("poolSize") or 3
        self.poolStride = settings.get("poolStride") or 1
        self.pool = settings.get("pool") or make(
            "SpatialMaxPooling", self.poolSize, self.poolSize, self.poolStride, self.poolStride
        )
        super().__init__(self._columns())

    def _columns(self) -> DepthConcat:
        columns = DepthConcat(2)
        count = len(self.kernelSize)
        for place, (size, planes) in enumerate(zip(self.kernelSize, self.outputSize, strict=False)):
            column = Sequential()
            self._add_filters(column, self.inputSize, self.reduceSize[place], 1, place)
            self._add_large_filters(column, place, size, planes)
            columns.add(column)
        pooled = Sequential().add(self.pool)
        if at(self.reduceSize, count):
            self._add_filters(pooled, self.inputSize, self.reduceSize[count], 1, count)
        columns.add(pooled)
        if at(self.reduceSize, count + 1):
            last = Sequential()
            self._add_filters(last, self.inputSize, self.reduceSize[count + 1], 1, count + 1)
            columns.add(last)
        return columns

    def _add_filters(self, column: Any, inputs: int, planes: int, size: int, place: int) -> None:
        stride = at(self.reduceStride, place, 1)
        column.add(SpatialConvolution(inputs, planes, size, size, stride, stride))
        self._add_activation(column, planes)

    def _add_large_filters(self, column: Any, place: int, size: int, planes: int) -> None:
        stride = at(self.kernelStride, place, 1)
        margin = size // 2 if self.padding else 0
        inputs = self.reduceSize[place]
        column.add(SpatialConvolution(inputs, planes, size, size, stride, stride, margin, margin))
        self._add_activation(column, planes)

    def _add_activation(self, column: Any, planes: int) -> None:
        if self.batchNorm:
            column.add(make("SpatialBatchNormalization", planes))
        column.add(self.transfer.clone())
