"""Images in several sizes on one sheet (torch/demos: the detectors of faces and persons)."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.image_scaling import scaled
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

STEP, FIELD = 4, 32  # of the networks of both demos


def no_backward(layer: Any, input: Activation) -> NotImplementedError:
    return NotImplementedError(
        f"{layer.torch_typename} has no backward, as in Torch7; "
        f"the input was {nested.describe(input)}"
    )


@register("nn.PyramidPacker")
class PyramidPacker(Module):
    """An image C x H x W in several sizes, side by side and below each other on one sheet.

    Args:
        network: what will see the sheet, or None.
        scales: the factors of the size.

    Attributes:
        coordinates: of the last forward: rows {left, top, right, bottom, width, height}, from 1.
    """

    parameter_names = ()
    scales: Any
    coordinates: Tensor

    def __init__(self, network: Any = None, scales: Any = None) -> None:
        super().__init__()
        self.scales = nested.table(list(nested.elements(scales or [1])))
        self.step_width = self.step_height = STEP
        self.dim_width = self.dim_height = self.dimz = 1

    def _layout(self, height: int, width: int) -> list[list[int]]:
        rows: list[list[int]] = []
        for place, scale in enumerate(nested.elements(self.scales), 1):
            left = top = 1
            if rows and place % 2 == 0:  # below the one before
                left, top = rows[-1][0], (rows[-1][3] - 1) // STEP * STEP + STEP + 1
            elif rows:  # beside it
                left, top = (rows[-1][2] - 1) // STEP * STEP + STEP + 1, rows[-1][1]
            size = (math.floor(width * scale), math.floor(height * scale))
            rows.append([left, top, left + size[0] - 1, top + size[1] - 1, *size])
        return rows

    def updateOutput(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 3:
            raise ValueError(f"{self}: expected C x H x W, got {nested.describe(input)}")
        planes, height, width = input.shape
        rows = self._layout(height, width)
        self.dimz, self.dim_height, self.dim_width = planes, height, width
        self.max_width, self.max_height = (max(row[side] for row in rows) for side in (2, 3))
        self.coordinates = rl.tensor(rows, dtype=rl.float64)
        sheet = rl.zeros((planes, self.max_height, self.max_width), dtype=input.dtype)
        for left, top, right, bottom, columns, lines in rows:
            sheet[:, top - 1 : bottom, left - 1 : right] = scaled(input.detach(), lines, columns)
        self.output = sheet
        return sheet

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        raise no_backward(self, input)


@register("nn.PyramidUnPacker")
class PyramidUnPacker(Module):
    """Takes the sizes apart again: {what a network gave for a sheet, coordinates of the
    `PyramidPacker`} to a table.

    Args:
        network: the network, or None.
    """

    parameter_names = ()

    def __init__(self, network: Any = None) -> None:
        super().__init__()
        self.step_width = self.step_height = STEP
        self.ker_width = self.ker_height = FIELD

    def forward(self, input: Activation, coordinates: Any = None, **named: Any) -> Activation:
        """As in Torch7, takes both, or a table of both."""
        both = input if coordinates is None else nested.table([input, coordinates])
        return super().forward(both, **named)

    def updateOutput(self, input: Activation) -> Activation:
        sheet, coordinates = nested.elements(input)[:2]
        parts = []
        for left, top, _, _, columns, lines in coordinates.tolist():
            part = sheet.detach()
            for dim, start, size in ((2, left, columns), (1, top, lines)):
                count = int((size - FIELD) // STEP) + 1
                part = part.narrow(dim, int((start - 1) // STEP), count)
            parts.append(part)
        self.output = nested.table(parts)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        raise no_backward(self, input)
