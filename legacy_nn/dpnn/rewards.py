"""Criterions that reward stochastic layers, and a bonus for undecided probabilities."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Container
from relume.legacy_nn.criterion import Criterion, MSECriterion
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


class Reward(Criterion):
    """The base of criterions that give 1 for a right answer: the input is {answer, baseline}.

    backward tells the stochastic layers of a network their reward: `scale` times what was
    given minus the baseline, which is the reward to expect.

    Args:
        module: the network.
        scale: factor of the rewards, by default 1.
        criterion: what the baseline learns from, by default MSECriterion.
    """

    def __init__(self, module: Any, scale: float | None = None, criterion: Any = None) -> None:
        super().__init__()
        self.module = module
        self.scale = 1 if scale is None else scale
        self.criterion = criterion or MSECriterion()
        self.sizeAverage = True
        self.gradInput = nested.table([new_empty()])

    def is_right(self, answer: Tensor, target: Tensor) -> Tensor:
        """Which answers are right, true or false."""
        raise NotImplementedError

    def _reward(self, input: Activation, target: Tensor) -> Tensor:
        answer = nested.elements(input)[0].detach()
        return self.is_right(answer, target).to(answer.dtype) * self.scale

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        reward = self._reward(input, target)
        total = -reward.sum().item()
        self.output = total / reward.numel() if self.sizeAverage else total
        return self.output

    def compute(self, input: Activation, target: Any) -> Tensor:
        reward = self._reward(input, target)
        return -reward.sum() / (reward.numel() if self.sizeAverage else 1)

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        answer, baseline = nested.elements(input)[:2]
        reward = self._reward(input, target)
        advantage = reward - baseline.detach().reshape(reward.shape)
        if self.sizeAverage:
            advantage = advantage / reward.numel()
        self.module.reinforce(advantage)
        learned = self.criterion.backward(baseline, reward.reshape(baseline.shape))
        self.gradInput = nested.table([rl.zeros_like(answer.detach()), learned])
        return self.gradInput

    def clearState(self) -> Any:
        self._record = None
        return self


@register("nn.VRClassReward")
class VRClassReward(Reward):
    """Rewards 1 when the largest of the numbers is that of the target class (from 1)."""

    __doc__ += "\n".join((Reward.__doc__ or "").split("\n")[1:])

    def is_right(self, answer: Tensor, target: Tensor) -> Tensor:
        return answer.argmax(1) + 1 == target.detach().reshape((-1,)).to(rl.int64)


@register("nn.BinaryClassReward")
class BinaryClassReward(Reward):
    """Rewards 1 when an answer, above or below one half, is the target, 1 or 0."""

    __doc__ += "\n".join((Reward.__doc__ or "").split("\n")[1:])

    def is_right(self, answer: Tensor, target: Tensor) -> Tensor:
        return (answer.reshape((-1,)) > 0.5) == (target.detach().reshape((-1,)) > 0.5)


@register("nn.CategoricalEntropy")
class CategoricalEntropy(Container):
    """Gives back its input, rows of probabilities; backward makes their mean less decided, while
    the entropy of the mean is below a bound.

    Args:
        scale: factor of the gradient of the entropy, by default 1.
        minEntropy: the bound; None for none.
    """

    minEntropy: float | None = None

    def __init__(self, scale: float | None = None, minEntropy: float | None = None) -> None:
        super().__init__()
        self.scale = 1 if scale is None else scale
        if minEntropy is not None:
            self.minEntropy = minEntropy
        self.minusOne = rl.tensor([-float(self.scale)], dtype=self.output.dtype)
        self.sizeAverage = True
        # The mean p of the rows, then the sum of -p log(p).
        self._mul = make("MulConstant", 1)
        logarithm = make("Sequential").add(make("AddConstant", 1e-6)).add(make("Log"))
        both = make("ConcatTable").add(make("Identity")).add(logarithm)
        self.module = make("Sequential").add(make("Sum", 1)).add(self._mul).add(both)
        self.module.add(make("CMulTable")).add(make("Sum", 1)).add(make("MulConstant", -1))
        self.modules = [self.module]

    def updateOutput(self, input: Tensor) -> Tensor:
        self._mul.constant_scalar = 1 / input.detach().sum().item()
        self.entropy = self.module.updateOutput(input)[0].item()
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        if self.minEntropy is None or self.entropy < self.minEntropy:
            change = self.module.updateGradInput(input, self.minusOne)
            self.gradInput = gradOutput + (change / input.shape[0] if self.sizeAverage else change)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass
