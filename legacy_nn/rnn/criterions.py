"""Criterions of sequences: one criterion applied to every step."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.sequencer import Steps


@register("nn.AbstractSequencerCriterion")
class StepwiseCriterion(Criterion):
    """The base of criterions that apply a copy of a criterion to every step."""

    __slots__ = ("_steps",)
    _steps: tuple[Any, Any, Steps, list] | None  # of the last forward
    sizeAverage = False

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._steps = None
        return self

    def __init__(self, criterion: Any) -> None:
        super().__init__()
        self.criterion = criterion
        self.clones = Table()
        self.gradInput = Table()

    def children(self) -> list[Any]:
        return [self.criterion]

    def getStepCriterion(self, step: int) -> Any:
        """The copy of the criterion for a step (from 1)."""
        clone = self.clones.get(step)
        if clone is None:
            clone = self.clones[step] = self.criterion.clone()
        return clone

    def setZeroMask(self, zeroMask: Any) -> Any:
        """Tells the criterion of every step which samples count as zeros.

        Args:
            zeroMask: time x batch, 1 for samples of zeros; False for none.
        """
        if zeroMask is False:
            for clone in self.clones.values():
                clone.setZeroMask(False)
        else:
            for step, row in enumerate(zeroMask, 1):
                self.getStepCriterion(step).setZeroMask(row)
        return self

    def _targets(self, target: Any, count: int) -> list:
        """The target of every step."""
        raise NotImplementedError

    def _prepare(self, input: Activation, target: Any) -> tuple[Steps, list]:
        steps = Steps(input)
        return steps, self._targets(target, len(steps.elements))

    def _prepared(self, input: Activation, target: Any) -> tuple[Steps, list]:
        known = self._steps
        if known is not None and known[0] is input and known[1] is target and known[2].is_of(input):
            return known[2], known[3]
        return self._prepare(input, target)

    def _divisor(self, steps: Steps) -> int:
        return len(steps.elements) if self.sizeAverage else 1

    def compute(self, input: Activation, target: Any) -> Tensor:
        steps, targets = self._prepare(input, target)
        pairs = zip(steps.elements, targets, strict=True)
        values = [self.criterion(element, goal) for element, goal in pairs]
        return rl.stack(values).sum() / self._divisor(steps)

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        steps, targets = self._prepare(input, target)
        self._steps = (input, target, steps, targets)
        pairs = enumerate(zip(steps.elements, targets, strict=True), 1)
        total = sum(self.getStepCriterion(step).forward(*pair) for step, pair in pairs)
        self.output = total / self._divisor(steps)
        return self.output

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        steps, targets = self._prepared(input, target)
        divisor = self._divisor(steps)
        pairs = enumerate(zip(steps.elements, targets, strict=True), 1)
        found = [self.getStepCriterion(step).backward(*pair) for step, pair in pairs]
        if divisor != 1:
            found = [nested.map_tensors(lambda tensor: tensor / divisor, value) for value in found]
        self.gradInput = steps.joined(found)
        return self.gradInput

    def clearState(self) -> Any:
        self._steps = None
        for clone in (self.criterion, *self.clones.values()):
            clone.clearState()
        self.gradInput = Table()
        return self


@register("nn.SequencerCriterion")
class SequencerCriterion(StepwiseCriterion):
    """The sum of a criterion over the steps of a sequence, each with a target of its own.

    Args:
        criterion: of one step.
        sizeAverage: True for the mean over steps.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> c = nn.SequencerCriterion(nn.AbsCriterion())
    >>> c.forward(rl.tensor([[1.0], [2.0]]), rl.tensor([[0.0], [0.0]]))
    3.0
    """

    def __init__(self, criterion: Any, sizeAverage: bool | None = None) -> None:
        super().__init__(criterion)
        self.sizeAverage = bool(sizeAverage)

    def _targets(self, target: Any, count: int) -> list:
        is_sequence = isinstance(target, Tensor) or nested.is_table(target)
        targets = Steps(target).elements if is_sequence else []
        if len(targets) != count:
            raise ValueError(
                f"{self.torch_typename}: the target must have an element for each of the {count} "
                f"steps, it is {nested.describe(target)}"
            )
        return targets


@register("nn.RepeaterCriterion")
class RepeaterCriterion(StepwiseCriterion):
    """The sum of a criterion over the steps of a sequence, all with the same target.

    Args:
        criterion: of one step.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> c = nn.RepeaterCriterion(nn.AbsCriterion())
    >>> c.forward([rl.tensor([1.0]), rl.tensor([3.0])], rl.tensor([2.0]))
    2.0
    """

    def _targets(self, target: Any, count: int) -> list:
        return [target] * count
