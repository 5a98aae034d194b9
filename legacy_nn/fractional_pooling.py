"""Max pooling with windows at random distances; Graham, "Fractional Max-Pooling", 2014."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register


class FractionalPooling(Module):
    """The base of both layers.

    `randomSamples` holds the numbers that place the windows: fresh ones for each forward, or
    after `fixPoolingRegions` those of the first.
    """

    parameter_names = ()
    buffer_names = ("indices", "randomSamples")
    axes = ""  # of the input's last dimensions
    sample_axes = ""  # the order of the random numbers of a plane
    newRandomPool = False

    def _set_sizes(self, pool: tuple, sizes: tuple) -> None:
        for axis, window, size in zip(self.sample_axes, pool, sizes, strict=True):
            self.__dict__[f"poolSize{axis}"] = window
            self.__dict__[f"{'out' if size >= 1 else 'ratio'}{axis}"] = size
            if not size > 0:
                raise ValueError(f"{self.torch_typename}: sizes must be positive, not {size}")

    def fixPoolingRegions(self, val: bool | None = None) -> Any:
        """Keeps the windows of the first forward (or, with False, no longer)."""
        self.newRandomPool = val is None or bool(val)
        return self

    def _output_size(self, input: Tensor) -> list[int]:
        sizes = []
        for axis, length in zip(self.axes, input.shape[-len(self.axes) :], strict=True):
            fixed = self.__dict__.get(f"out{axis}")
            sizes.append(int(fixed) if fixed else int(length * self.__dict__[f"ratio{axis}"]))
        return sizes

    def _draw(self, input: Tensor) -> None:
        dims = len(self.axes)
        batch = input.shape[0] if input.ndim == dims + 2 else 1
        shape = (batch, input.shape[-dims - 1], dims)
        known = self.__dict__.get("randomSamples")
        if known is None or tuple(known.shape) != shape or not self.newRandomPool:
            self.randomSamples = rl.empty(shape, dtype=input.dtype).uniform_()

    def compute(self, input: Tensor) -> Tensor:
        dims = len(self.axes)
        if not isinstance(input, Tensor) or input.ndim not in (dims + 1, dims + 2):
            form = "x".join(("C", *self.axes))
            raise ValueError(
                f"{self}: expected {form}, or N samples of it, got {nested.describe(input)}"
            )
        self._draw(input)
        return self.recompute(input)

    def recompute(self, input: Tensor, *parameters: Any) -> Tensor:
        output, indices = self._pool(input)
        self.indices = indices.detach() + 1
        return output

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _windows(self) -> list[int]:
        return [int(self.__dict__[f"poolSize{axis}"]) for axis in self.axes]

    def __str__(self) -> str:
        def text(name: str) -> list[str]:
            return [str(int(self.__dict__.get(name + axis) or 0)) for axis in self.sample_axes]

        return f"{self.torch_typename}({'x'.join(text('out'))}, {','.join(text('poolSize'))})"


@register("nn.SpatialFractionalMaxPooling")
class SpatialFractionalMaxPooling(FractionalPooling):
    """The largest elements of windows at random distances, over planes.

    Args:
        poolSizeW, poolSizeH: width and height of the windows.
        arg1, arg2: width and height of the output, or (below 1) their ratio to the input's.
    """

    axes, sample_axes = "HW", "WH"

    def __init__(self, poolSizeW: int, poolSizeH: int, arg1: float, arg2: float) -> None:
        super().__init__()
        self._set_sizes((poolSizeW, poolSizeH), (arg1, arg2))
        self.newRandomPool = False

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        size = self._output_size(input)
        return rl.fractional_max_pool2d(input, self._windows(), size, self.randomSamples)


@register("nn.VolumetricFractionalMaxPooling")
class VolumetricFractionalMaxPooling(FractionalPooling):
    """The same over volumes, of size planes x height x width x time.

    Args:
        poolSizeT, poolSizeW, poolSizeH: size of the windows.
        arg1, arg2, arg3: time, width and height of the output, or their ratio to the input's.
    """

    axes, sample_axes = "HWT", "TWH"

    def __init__(
        self,
        poolSizeT: int,
        poolSizeW: int,
        poolSizeH: int,
        arg1: float,
        arg2: float,
        arg3: float,
    ) -> None:
        super().__init__()
        self._set_sizes((poolSizeT, poolSizeW, poolSizeH), (arg1, arg2, arg3))
        self.newRandomPool = False

    def _pool(self, input: Tensor) -> tuple[Tensor, Tensor]:
        samples = self.randomSamples.flip(-1)  # the op has the first dimension first
        return rl.fractional_max_pool3d(input, self._windows(), self._output_size(input), samples)
