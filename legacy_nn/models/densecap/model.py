"""The whole network of DenseCap."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.densecap.boxes import best_apart
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

SCORES, BOXES, CAPTIONS = 0, 3, 4  # places in what the network gives


@register("DenseCapModel")
class DenseCapModel(Holder):
    """Regions of an image, 1 x 3 x H x W, with captions (Johnson, Karpathy and Fei-Fei 2016).

    Forward gives {scores N x 1, boxes of the first guess, their changes, boxes N x 4, captions
    N x words, nothing, nothing}; boxes are {x of the centre, y of the centre, width, height}.
    It runs in evaluation; relume does not train it.

    Attributes:
        net: the network.
        nets: its parts, such as localization_layer and language_model.
        opt: a table; final_nms_thresh says how large a part of their union two regions may share.
    """

    nets: Any
    opt: Any

    def setTestArgs(self, args: Any = None) -> None:
        """Sets `rpn_nms_thresh`, `final_nms_thresh` and `num_proposals`, from a table."""
        args = args or {}
        self.nets["localization_layer"].setTestArgs(
            {
                "nms_thresh": args.get("rpn_nms_thresh", 0.7),
                "max_proposals": args.get("num_proposals", 1000),
            }
        )
        self.opt["final_nms_thresh"] = args.get("final_nms_thresh", 0.3)

    def _prepare(self, input: Tensor) -> None:
        is_image = isinstance(input, Tensor) and input.ndim == 4
        if not is_image or tuple(input.shape[:2]) != (1, 3):
            raise ValueError(
                f"{self.torch_typename}: expected one image 1 x 3 x H x W, "
                f"got {nested.describe(input)}"
            )
        self.nets["localization_layer"].setImageSize(input.shape[2], input.shape[3])

    def compute(self, input: Tensor) -> Activation:
        self._prepare(input)
        return self._apart(super().compute(input))

    def updateOutput(self, input: Tensor) -> Activation:
        self._prepare(input)
        self.output = self._apart(super().updateOutput(input))
        return self.output

    def _apart(self, found: Activation) -> Activation:
        """Without regions that overlap better ones."""
        values = nested.elements(found)
        overlap = self.opt.get("final_nms_thresh") or 0
        if self.train or overlap <= 0:
            return found
        places = best_apart(values[BOXES].detach(), values[SCORES].detach()[:, 0], float(overlap))
        kept = (SCORES, BOXES, CAPTIONS)
        return nested.table(
            [value[places] if place in kept else value for place, value in enumerate(values)]
        )

    def forward_test(self, input: Tensor) -> tuple[Tensor, Tensor, list[str]]:
        """Boxes, scores and captions (as texts) of an image."""
        self.evaluate()
        with rl.no_grad():
            found = nested.elements(self.forward(input))
        texts = self.nets["language_model"].decodeSequence(found[CAPTIONS])
        return found[BOXES], found[SCORES], texts
