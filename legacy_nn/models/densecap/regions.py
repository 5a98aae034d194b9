"""The layer of DenseCap that finds regions of an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.densecap.boxes import BoxIoU, best_apart, clipped, corners
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("nn.BoxSampler")
class BoxSampler(Module):
    """Draws boxes that fit to targets, and boxes that do not: {boxes 1 x A x 4, targets
    1 x B x 4} to {numbers of fitting boxes, numbers of their targets, numbers of other boxes},
    counted from 1.

    Attributes:
        low_thresh, high_thresh: boxes that share less with every target do not fit, those that
            share more with one do, and so does the best box of every target.
        batch_size: how many boxes to draw; at most half of them fit.
        x_min, x_max, y_min, y_max: boxes that reach outside are not drawn.
    """

    parameter_names = ()
    low_thresh, high_thresh, batch_size = 0.3, 0.7, 256
    x_min: float | None = None
    x_max: float | None = None
    y_min: float | None = None
    y_max: float | None = None

    def __init__(self, options: Any = None) -> None:
        super().__init__()
        options = options or {}
        for name in ("low_thresh", "high_thresh", "batch_size"):
            self.__dict__[name] = options.get(name, getattr(type(self), name))
        self.box_iou = BoxIoU()

    def setBounds(self, bounds: Any) -> None:
        """Says where boxes may be: a table with x_min, x_max, y_min and y_max."""
        for name in ("x_min", "x_max", "y_min", "y_max"):
            self.__dict__[name] = bounds.get(name)

    def _is_outside(self, boxes: Tensor) -> Tensor:
        bounds = (self.x_min, self.y_min, self.x_max, self.y_max)
        if any(bound is None for bound in bounds):
            return rl.zeros((boxes.shape[0],), dtype=rl.bool)
        left, top, right, bottom = corners(boxes).unbind(-1)
        x_min, y_min, x_max, y_max = bounds
        return (left < x_min) | (top < y_min) | (right > x_max) | (bottom > y_max)

    def updateOutput(self, input: Activation) -> Activation:
        boxes, targets = (value.detach() for value in nested.elements(input)[:2])
        if boxes.shape[0] != 1 or targets.shape[0] != 1 or 0 in (boxes.shape[1], targets.shape[1]):
            raise ValueError(
                f"{self}: expected boxes 1 x A x 4 and targets 1 x B x 4, "
                f"got {nested.describe(input)}"
            )
        shares = self.box_iou([boxes, targets])[0]
        best, target_of = shares.max(1)
        is_outside = self._is_outside(boxes[0])
        fits = (best > self.high_thresh) & ~is_outside
        fails = (best < self.low_thresh) & ~is_outside
        best_boxes = shares.argmax(0)
        fits[best_boxes], fails[best_boxes] = True, False
        if not fails.any().item():
            fails = ~fits
        size = int(self.batch_size)
        fitting = fits.nonzero().flatten()
        fitting = fitting[rl.randperm(len(fitting))[: size // 2]]
        others, count = fails.nonzero().flatten(), size - len(fitting)
        too_few = len(others) < count
        drawn = rl.randint(0, len(others), (count,)) if too_few else rl.randperm(len(others))
        chosen = [fitting, target_of[fitting], others[drawn[:count]]]
        self.output = nested.table([numbers + 1 for numbers in chosen])
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = nested.zeros_like(input)
        return self.gradInput


@register("nn.BoxSamplerHelper")
class BoxSamplerHelper(Module):
    """Draws with a `BoxSampler`, from boxes and what belongs to them: {{boxes, ...}, {targets,
    ...}}, all 1 x A x D or 1 x B x D, to three tables of rows: of fitting boxes, of their targets,
    of other boxes.

    Args:
        options: of the sampler, or a table with `box_sampler`.
    """

    parameter_names = ()
    box_sampler: Any

    def __init__(self, options: Any = None) -> None:
        super().__init__()
        given = (options or {}).get("box_sampler")
        self.box_sampler = BoxSampler(options) if given is None else given

    def setBounds(self, bounds: Any) -> None:
        """Says where boxes may be: a table with x_min, x_max, y_min and y_max."""
        self.box_sampler.setBounds(bounds)

    def compute(self, input: Activation) -> Activation:
        them = [nested.elements(part)[0] for part in nested.elements(input)[:2]]
        drawn = self.box_sampler.updateOutput(them)
        return self._rows(input, drawn)

    def recompute(self, input: Activation) -> Activation:
        return self._rows(input, self.box_sampler.output)

    def _rows(self, input: Activation, drawn: Activation) -> Activation:
        own, targets = (nested.elements(part) for part in nested.elements(input)[:2])
        parts = zip((own, targets, own), nested.elements(drawn), strict=True)
        return nested.table(
            [nested.table([value[0][numbers - 1] for value in values]) for values, numbers in parts]
        )


@register("nn.LocalizationLayer")
class LocalizationLayer(Holder):
    """Finds regions of one image: features 1 x C x H x W to {features of the regions, regions
    (boxes N x 4), nothing, nothing}. Before every forward, `setImageSize(height, width)` says how
    large the image is.

    It runs in evaluation; relume does not train it.

    Attributes:
        nets: `rpn`, which gives {boxes, anchors, changes, scores}, and `roi_pooling`.
        test_clip_boxes: cut boxes at the borders of the image.
        test_nms_thresh: how large a part of their union two regions may share.
        test_max_proposals: how many regions at most, -1 for any number.
    """

    nets: Any
    image_height: float | None = None
    image_width: float | None = None
    test_clip_boxes: bool = True
    test_nms_thresh = 0.7
    test_max_proposals = 300

    @property
    def held(self) -> Any:
        return self.nets["rpn"]

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        self.nets["rpn"] = function(self.held)

    def setImageSize(self, image_height: float, image_width: float) -> None:
        """Says how large the image is."""
        self.image_height, self.image_width = image_height, image_width

    def setTestArgs(self, args: Any = None) -> None:
        """Sets `clip_boxes`, `nms_thresh` and `max_proposals`, from a table."""
        args = args or {}
        self.test_clip_boxes = args.get("clip_boxes", True)
        self.test_nms_thresh = args.get("nms_thresh", 0.7)
        self.test_max_proposals = args.get("max_proposals", 300)

    def compute(self, input: Tensor) -> Activation:
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[0] != 1:
            raise ValueError(
                f"{self.torch_typename}: expected features 1 x C x H x W of one image, "
                f"got {nested.describe(input)}"
            )
        if self.train:
            raise NotImplementedError(
                f"{self.torch_typename}: relume does not train this layer; call evaluate() first; "
                f"the input was {nested.describe(input)}"
            )
        if self.image_height is None or self.image_width is None:
            raise ValueError(
                f"{self.torch_typename}: call setImageSize(height, width) of the image first; "
                f"the input was {nested.describe(input)}"
            )
        boxes = self._regions(*(value[0] for value in nested.elements(self.held(input))))
        pooling = self.nets["roi_pooling"].setImageSize(self.image_height, self.image_width)
        nothing = new_empty(input.torch_typename)
        return nested.table([pooling([input[0], boxes]), boxes, nothing, nothing])

    def _regions(self, boxes: Tensor, anchors: Tensor, changes: Tensor, scores: Tensor) -> Tensor:
        assert self.image_height is not None and self.image_width is not None
        if self.test_clip_boxes:
            boxes, is_left = clipped(boxes, self.image_height, self.image_width)
            boxes, scores = boxes[is_left], scores[is_left]
        most = int(self.test_max_proposals)
        likelihoods = rl.softmax(scores, 1)[:, 0]
        overlap = float(self.test_nms_thresh)
        return boxes[best_apart(boxes, likelihoods, overlap, None if most < 0 else most)]

    def updateOutput(self, input: Tensor) -> Activation:
        with rl.no_grad():
            self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Activation) -> Activation:
        raise NotImplementedError(
            f"{self.torch_typename}: relume does not train this layer; "
            f"the input was {nested.describe(input)}"
        )

    def backward(self, input: Tensor, gradOutput: Activation, scale: float = 1) -> Activation:
        return self.updateGradInput(input, gradOutput)
