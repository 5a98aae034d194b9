"""What DenseCap is trained with."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import Criterion, CrossEntropyCriterion
from relume.legacy_nn.models.densecap.boxes import InvertBoxTransform, changes_between, check_boxes
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

LARGEST_CHANGE = 10  # boxes that are to change more do not count


@register("nn.BoxRegressionCriterion")
class BoxRegressionCriterion(Criterion):
    """How far changes of boxes, {boxes, changes}, are from those that lead to the target boxes.

    Args:
        w: factor of the value, by default 1.
    """

    w = 1.0

    def __init__(self, w: float | None = None) -> None:
        super().__init__()
        self.w = 1.0 if w is None else w
        self.invert_transform = InvertBoxTransform()
        self.smooth_l1 = make("SmoothL1Criterion")

    def compute(self, input: Activation, target: Tensor) -> Tensor:
        boxes, changes = (check_boxes(self, value) for value in nested.elements(input)[:2])
        if not boxes.shape == changes.shape == check_boxes(self, target).shape:
            raise ValueError(
                f"{self}: expected as many boxes, changes and targets, got "
                f"{nested.describe(input)} and {nested.describe(target)}"
            )
        wanted = changes_between(boxes, target)
        is_far = (wanted.detach().abs() > LARGEST_CHANGE).any(-1, keepdim=True)
        changes, wanted = (value.masked_fill(is_far, 0) for value in (changes, wanted))
        return self.smooth_l1(changes, wanted) * float(self.w)


@register("nn.LogisticCriterion")
class LogisticCriterion(Criterion):
    """The mean of the cross entropies of every score, N x C, with whether it is the one of the
    label: labels from 1, and 0 for none of the classes."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        is_right = isinstance(input, Tensor) and input.ndim == 2 and isinstance(target, Tensor)
        if not is_right or target.numel() != input.shape[0]:
            raise ValueError(
                f"{self}: expected scores N x C and N labels, got {nested.describe(input)} and "
                f"{nested.describe(target)}"
            )
        labels = from_one(self, target.reshape((-1,)) + 1, input.shape[1] + 1)
        is_label = labels.unsqueeze(1) == rl.arange(1, input.shape[1] + 1).unsqueeze(0)
        return (rl.softplus(input) - input * is_label.to(input.dtype)).mean()


@register("nn.OurCrossEntropyCriterion")
class OurCrossEntropyCriterion(CrossEntropyCriterion):
    """`CrossEntropyCriterion` of scores N x classes, also of one sample or one class."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return self.nll(self.lsm(input), target)


@register("nn.RegularizeLayer")
class RegularizeLayer(Module):
    """Gives back its input, and adds to the gradient that of w / 2 times its squared norm.

    Args:
        weight: w.
        gradMul: factor of what comes back, by default 1.

    Attributes:
        loss: the value of the last forward.
    """

    parameter_names = ()
    w: float
    gradMul = 1.0

    def __init__(self, weight: float, gradMul: float | None = None) -> None:
        super().__init__()
        self.w = weight
        self.gradMul = 1.0 if gradMul is None else gradMul

    def updateOutput(self, input: Tensor) -> Tensor:
        self.loss = 0.5 * self.w * input.detach().square().sum().item()
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = input * float(self.w) + gradOutput * float(self.gradMul)
        return self.gradInput
