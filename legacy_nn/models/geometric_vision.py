"""Package gvnn (ankurhanda/gvnn): points, cameras and rotations (Handa et al. 2016).

Grids of points are B x H x W x 3, of pixels B x H x W x 2 (x first); pixels count from 1.
"""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

SMALL = 1e-8  # squared angles for which a series is better


@register("nn.ReverseXYOrder")
class ReverseXYOrder(Module):
    """Pairs (x, y) as (y, x), B x H x W x 2."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[3] != 2:
            raise ValueError(f"{self}: expected B x H x W x 2, got {nested.describe(input)}")
        return input.flip(3)


@register("nn.TransformationRotationSO3")
class TransformationRotationSO3(Module):
    """Rotation matrices, B x 3 x 3, about axes and by their lengths as angles, B x 3.

    >>> import math, relume as rl
    >>> from relume import legacy_nn as nn
    >>> quarter = rl.tensor([[0.0, 0.0, math.pi / 2]])
    >>> nn.TransformationRotationSO3().forward(quarter).round()[0, 1].tolist()
    [1.0, 0.0, 0.0]
    """

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 2 or input.shape[1] != 3:
            raise ValueError(f"{self}: expected axes B x 3, got {nested.describe(input)}")
        x, y, z = input.unbind(1)
        zero = rl.zeros_like(x)
        rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
        cross = rl.stack([rl.stack(row, 1) for row in rows], 1)
        squares = input.square().sum(1).reshape((-1, 1, 1))
        is_small = squares < SMALL
        angle = rl.where(is_small, 1, squares).sqrt()
        sine = rl.where(is_small, 1 - squares / 6, angle.sin() / angle)
        cosine = rl.where(is_small, 0.5 - squares / 24, (1 - angle.cos()) / angle.square())
        return rl.eye(3, dtype=input.dtype) + cross * sine + cross @ cross * cosine


class Camera(Module):
    """The base of layers that know a camera.

    Args:
        height, width: of the image.
        fx, fy: the focal lengths, in pixels.
        u0, v0: the pixel in the middle.
    """

    parameter_names = ()
    baseGrid: Tensor

    def __init__(self, height: int, width: int, fx: float, fy: float, u0: float, v0: float) -> None:
        super().__init__()
        if height < 2 or width < 2:
            raise ValueError(
                f"{self.torch_typename}: height and width must be at least 2, got {height} and "
                f"{width}"
            )
        self.height, self.width = height, width
        self.fx, self.fy, self.u0, self.v0 = fx, fy, u0, v0

    def _size(self) -> tuple[int, int]:
        return int(self.height), int(self.width)

    def _rays(self, like: Tensor) -> Tensor:
        """Where every pixel looks to, H x W x 3, at a distance of 1."""
        height, width = self._size()
        shape = (height, width)
        x = (rl.arange(width, dtype=like.dtype) + (1 - self.u0)) / self.fx
        y = (rl.arange(height, dtype=like.dtype) + (1 - self.v0)) / self.fy
        parts = (x.reshape((1, width)), y.reshape((height, 1)), rl.ones((1, 1), dtype=like.dtype))
        return rl.stack([part.expand(shape) for part in parts], 2)

    def _depths(self, value: object) -> Tensor:
        size = self._size()
        if not isinstance(value, Tensor) or value.ndim < 3 or tuple(value.shape[-2:]) != size:
            raise ValueError(
                f"{self}: expected depths B x {size[0]} x {size[1]}, got {nested.describe(value)}"
            )
        return value.reshape((-1, *size, 1))


@register("nn.Transform3DPoints_depth")
class Transform3DPoints_depth(Camera):
    """The points that pixels show, for depths B x H x W.

    Arguments are those of `Camera`: height, width, fx, fy, u0, v0.
    """

    def compute(self, input: Tensor) -> Tensor:
        depths = self._depths(input)
        return self._rays(depths) * depths


@register("nn.Transform3DPoints_R")
class Transform3DPoints_R(Camera):
    """Where pixels look to after rotations, B x 3 x 3 (or 3 x 3).

    Arguments are those of `Camera`: height, width, fx, fy, u0, v0.
    """

    def compute(self, input: Tensor) -> Tensor:
        is_right = isinstance(input, Tensor) and input.ndim in (2, 3)
        if not is_right or tuple(input.shape[-2:]) != (3, 3):
            raise ValueError(f"{self}: expected rotations B x 3 x 3, got {nested.describe(input)}")
        rotations = input.reshape((-1, 1, 3, 3))
        points = self._rays(input) @ rotations.transpose(2, 3)
        return points if input.ndim == 3 else points.squeeze(0)


@register("nn.Transform3DPoints_Rt")
class Transform3DPoints_Rt(Camera):
    """The points that pixels show, rotated and shifted: {matrices B x 3 x 4, depths
    B x H x W}.

    Arguments are those of `Camera`: height, width, fx, fy, u0, v0.
    """

    def compute(self, input: Activation) -> Tensor:
        matrices, depths = nested.elements(input)[:2]
        if matrices.ndim != 3 or tuple(matrices.shape[1:]) != (3, 4):
            raise ValueError(f"{self}: expected matrices B x 3 x 4, got {nested.describe(input)}")
        points = self._rays(matrices) * self._depths(depths)
        if points.shape[0] != matrices.shape[0]:
            raise ValueError(f"{self}: expected as many depths, got {nested.describe(input)}")
        rotation, shift = matrices[:, :, :3], matrices[:, :, 3]
        moved = points @ rotation.transpose(1, 2).unsqueeze(1)
        return moved + shift.reshape((-1, 1, 1, 3))


@register("nn.PinHoleCameraProjectionBHWD")
class PinHoleCameraProjectionBHWD(Camera):
    """The pixels that show points, B x H x W x 3: pairs (x, y) from -1 to 1.

    Arguments are those of `Camera`: height, width, fx, fy, u0, v0.

    Attributes:
        fx, fy, u0, v0: on the scale from -1 to 1.
    """

    epsilon = 1e-12

    def __init__(self, height: int, width: int, fx: float, fy: float, u0: float, v0: float) -> None:
        super().__init__(height, width, fx, fy, u0, v0)
        self.u0, self.v0 = 2 * (u0 - 1) / (width - 1) - 1, 2 * (v0 - 1) / (height - 1) - 1
        self.fx, self.fy = 2 * fx / (width - 1), 2 * fy / (height - 1)

    def compute(self, input: Tensor) -> Tensor:
        size = (*self._size(), 3)
        if not isinstance(input, Tensor) or input.ndim != 4 or tuple(input.shape[1:]) != size:
            raise ValueError(
                f"{self}: expected points B x {size[0]} x {size[1]} x 3, "
                f"got {nested.describe(input)}"
            )
        x, y, z = input.unbind(3)
        z = z + float(self.epsilon)
        return rl.stack([x / z * self.fx + self.u0, y / z * self.fy + self.v0], 3)
