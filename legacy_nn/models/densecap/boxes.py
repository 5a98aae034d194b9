"""DenseCap's boxes: rows {x of the centre, y of the centre, width, height}.

A change of a box is {dx / width, dy / height, log of the growth in width, in height}.
"""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer


def check_boxes(layer: object, value: object) -> Tensor:
    """The boxes, when they are some."""
    if not isinstance(value, Tensor) or value.ndim == 0 or value.shape[-1] != 4:
        raise ValueError(f"{layer}: expected boxes of 4 numbers, got {nested.describe(value)}")
    return value


def moved(boxes: Tensor, changes: Tensor) -> Tensor:
    """Boxes after changes."""
    centre, size = boxes.narrow(-1, 0, 2), boxes.narrow(-1, 2, 2)
    shift, growth = changes.narrow(-1, 0, 2), changes.narrow(-1, 2, 2)
    return rl.cat([centre + shift * size, size * growth.exp()], -1)


def changes_between(boxes: Tensor, targets: Tensor) -> Tensor:
    """The changes that move boxes to others."""
    centre, size = boxes.narrow(-1, 0, 2), boxes.narrow(-1, 2, 2)
    new_centre, new_size = targets.narrow(-1, 0, 2), targets.narrow(-1, 2, 2)
    return rl.cat([(new_centre - centre) / size, (new_size / size).log()], -1)


def corners(boxes: Tensor) -> Tensor:
    """{left, top, right, bottom}: the first and the last pixels of boxes."""
    centre, half = boxes.narrow(-1, 0, 2), (boxes.narrow(-1, 2, 2) - 1) / 2
    return rl.cat([centre - half, centre + half], -1)


def from_corners(corners: Tensor) -> Tensor:
    """Boxes with these first and last pixels."""
    first, last = corners.narrow(-1, 0, 2), corners.narrow(-1, 2, 2)
    return rl.cat([(first + last) / 2, last - first + 1], -1)


def clipped(boxes: Tensor, height: float, width: float) -> tuple[Tensor, Tensor]:
    """Boxes cut at the borders of an image (pixels from 1), and which of them are left."""
    left, top, right, bottom = corners(boxes).unbind(-1)
    left, right = left.clamp(1, width - 1), right.clamp(2, width)
    top, bottom = top.clamp(1, height - 1), bottom.clamp(2, height)
    kept = from_corners(rl.stack([left, top, right, bottom], -1))
    return kept, (right > left) & (bottom > top)


def best_apart(boxes: Tensor, scores: Tensor, overlap: float, most: int | None = None) -> Tensor:
    """Places (from 0) of the boxes with the highest scores that overlap none before them.

    Args:
        boxes: N x 4.
        scores: N.
        overlap: how large a part of their union two boxes may share.
        most: how many boxes are wanted at most.

    >>> import relume as rl
    >>> from relume.legacy_nn.models.densecap.boxes import best_apart
    >>> boxes = rl.tensor([[5.0, 5, 4, 4], [5, 5, 4, 5], [20, 20, 4, 4]])
    >>> best_apart(boxes, rl.tensor([0.1, 0.9, 0.5]), 0.3).tolist()
    [1, 2]
    """
    first, last = corners(boxes).narrow(-1, 0, 2), corners(boxes).narrow(-1, 2, 2)
    areas = boxes[:, 2] * boxes[:, 3]
    waiting = scores.argsort(descending=True)
    chosen: list[int] = []
    while waiting.numel() and (most is None or len(chosen) < most):
        place = int(waiting[0].item())
        chosen.append(place)
        waiting = waiting[1:]
        begin = rl.maximum(first[waiting], first[place].unsqueeze(0))
        end = rl.minimum(last[waiting], last[place].unsqueeze(0))
        shared = (end - begin + 1).clamp(0).prod(1)
        waiting = waiting[shared / (areas[waiting] + areas[place] - shared) <= overlap]
    return rl.tensor(chosen, dtype=rl.int64)


@register("nn.ApplyBoxTransform")
class ApplyBoxTransform(TableLayer):
    """Boxes after changes: {boxes, changes}, both ... x 4.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> boxes, shift = rl.tensor([[5.0, 5.0, 2.0, 4.0]]), rl.tensor([[1.0, 0.5, 0.0, 0.0]])
    >>> nn.ApplyBoxTransform().forward([boxes, shift]).tolist()
    [[7.0, 7.0, 2.0, 4.0]]
    """

    def compute(self, input: Activation) -> Tensor:
        boxes, changes = (check_boxes(self, value) for value in self._elements(input, 2)[:2])
        return moved(boxes, changes)


@register("nn.InvertBoxTransform")
class InvertBoxTransform(TableLayer):
    """The changes that move boxes to others: {boxes, targets}, both ... x 4."""

    def compute(self, input: Activation) -> Tensor:
        boxes, targets = (check_boxes(self, value) for value in self._elements(input, 2)[:2])
        return changes_between(boxes, targets)


@register("nn.BoxIoU")
class BoxIoU(TableLayer):
    """How large a part of their union two boxes share, for all pairs: {N x A x 4, N x B x 4} to
    N x A x B."""

    def compute(self, input: Activation) -> Tensor:
        first, second = (check_boxes(self, value) for value in self._elements(input, 2)[:2])
        if first.ndim != 3 or second.ndim != 3:
            raise ValueError(
                f"{self}: expected boxes N x A x 4 and N x B x 4, got {nested.describe(input)}"
            )
        first, second = first.unsqueeze(2), second.unsqueeze(1)
        one, other = corners(first), corners(second)
        begin = rl.maximum(one.narrow(-1, 0, 2), other.narrow(-1, 0, 2))
        end = rl.minimum(one.narrow(-1, 2, 2), other.narrow(-1, 2, 2))
        shared = (end - begin).clamp(0).prod(-1)
        areas = first.narrow(-1, 2, 2).prod(-1) + second.narrow(-1, 2, 2).prod(-1)
        return shared / (areas - shared)


class Anchors(Module):
    """The base of layers that know the same boxes at every place of planes.

    Args:
        x0, y0: the centre of what the first element of a plane sees.
        sx, sy: the steps from element to element.
        anchors: widths and heights, 2 x k.
    """

    parameter_names = ()
    anchors: Tensor

    def __init__(self, x0: float, y0: float, sx: float, sy: float, anchors: Tensor) -> None:
        super().__init__()
        self.x0, self.y0, self.sx, self.sy = x0, y0, sx, sy
        self.anchors = anchors.clone()

    def _planes(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4:
            raise ValueError(f"{self}: expected N x C x H x W, got {nested.describe(input)}")
        return input

    def _anchors(self, input: Tensor) -> Tensor:
        """The boxes, N x k x H x W x 4."""
        samples, _, height, width = self._planes(input).shape
        sizes = self.anchors.to(input.dtype)
        count = sizes.shape[1]
        x = rl.arange(width, dtype=input.dtype) * self.sx + self.x0
        y = rl.arange(height, dtype=input.dtype) * self.sy + self.y0
        parts = [
            x.reshape((1, 1, width)),
            y.reshape((1, height, 1)),
            *(sizes[side].reshape((count, 1, 1)) for side in (0, 1)),
        ]
        shape = (count, height, width)
        boxes = rl.stack([part.expand(shape) for part in parts], -1)
        return boxes.unsqueeze(0).expand((samples, *shape, 4))


@register("nn.MakeAnchors")
class MakeAnchors(Anchors):
    """The boxes at every place of planes: N x C x H x W to N x 4k x H x W.

    Arguments are those of `Anchors`: x0, y0, sx, sy, anchors.
    """

    def compute(self, input: Tensor) -> Tensor:
        boxes = self._anchors(input).permute((0, 1, 4, 2, 3))
        return boxes.reshape((input.shape[0], -1, *input.shape[2:]))


@register("nn.MakeBoxes")
class MakeBoxes(Anchors):
    """The boxes at every place of planes, changed: N x 4k x H x W to N x kHW x 4.

    Arguments are those of `Anchors`: x0, y0, sx, sy, anchors.
    """

    def compute(self, input: Tensor) -> Tensor:
        anchors = self._anchors(input)
        samples, count, height, width, _ = anchors.shape
        if input.shape[1] != 4 * count:
            raise ValueError(f"{self}: expected {4 * count} planes, got {nested.describe(input)}")
        changes = input.reshape((samples, count, 4, height, width)).permute((0, 1, 3, 4, 2))
        return moved(anchors, changes).reshape((samples, -1, 4))


@register("nn.ReshapeBoxFeatures")
class ReshapeBoxFeatures(Module):
    """The planes of k boxes at every place as rows: N x kD x H x W to N x kHW x D.

    Args:
        k: how many boxes.
    """

    parameter_names = ()
    k: int

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def compute(self, input: Tensor) -> Tensor:
        count = int(self.k)
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[1] % count:
            raise ValueError(
                f"{self}: expected planes of {count} boxes, got {nested.describe(input)}"
            )
        samples, planes, height, width = input.shape
        parts = input.reshape((samples, count, planes // count, height, width))
        return parts.permute((0, 1, 3, 4, 2)).reshape((samples, -1, planes // count))


@register("nn.PosSlicer")
class PosSlicer(TableLayer):
    """The first rows: {features, others} to as many features as there are others, or to all of
    them when there are no others."""

    def compute(self, input: Activation) -> Tensor:
        features, others = self._elements(input, 2)[:2]
        if others.numel() == 0:
            return features
        if features.ndim == 0 or others.shape[0] > features.shape[0]:
            raise ValueError(f"{self}: too few features, got {nested.describe(input)}")
        return features.narrow(0, 0, others.shape[0])
