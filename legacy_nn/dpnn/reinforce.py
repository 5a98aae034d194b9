"""Layers that draw their output at random and learn from rewards (Williams 1992, REINFORCE)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty

EPS = 1e-8  # keeps quotients finite


class Draw(rl.autograd.Function):
    """A sample on the tape: its gradient is not that of what follows, but the reward times the
    slope of the sample's log-likelihood."""

    @staticmethod
    def forward(ctx: Any, layer: Any, sample: Tensor, *inputs: Tensor) -> Tensor:
        ctx.layer = layer
        ctx.sample = sample
        ctx.inputs = [tensor.detach() for tensor in inputs]
        return sample.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return (None, None, *ctx.layer.reward_gradients(ctx.sample, *ctx.inputs))


@register("nn.Reinforce")
class Reinforce(Module):
    """The base of layers that draw their output from a distribution the input describes.

    `reinforce(reward)` says how good the output was, one number per sample; backward then gives
    minus the reward times the slope of the log-likelihood, whatever `gradOutput` is.

    Args:
        stochastic: draw in evaluation mode too.
    """

    parameter_names = ()
    stochastic: bool | None = None
    reward: Any = None

    def __init__(self, stochastic: bool | None = None) -> None:
        super().__init__()
        if stochastic is not None:
            self.stochastic = stochastic

    def draw(self, *inputs: Any, **named: Any) -> Tensor:
        """A sample."""
        raise NotImplementedError

    def without_drawing(self, *inputs: Any, **named: Any) -> Tensor:
        """The output in evaluation mode."""
        return inputs[0]

    def slopes(self, sample: Tensor, *inputs: Any, **named: Any) -> list[Tensor]:
        """The derivative of the sample's log-likelihood with respect to each input."""
        raise NotImplementedError

    def reinforce(self, reward: Any) -> None:
        """Takes the rewards for the last output, one per sample."""
        self.reward = reward

    def rewardAs(self, input: Tensor) -> Tensor:
        """The rewards in a shape that multiplies with the input."""
        if self.reward is None:
            raise RuntimeError(f"{self}: backward needs a reward: call reinforce(reward) first")
        reward = self.reward.detach().to(input.dtype)
        if reward.numel() != input.shape[0]:
            raise ValueError(
                f"{self}: expected {input.shape[0]} rewards, got {nested.describe(self.reward)}"
            )
        return reward.reshape((input.shape[0],) + (1,) * (input.ndim - 1))

    def reward_gradients(self, sample: Tensor, *inputs: Tensor) -> list[Tensor]:
        """What backward gives for each input."""
        return [slope * -self.rewardAs(slope) for slope in self.slopes(sample, *inputs)]

    def _inputs(self, input: Activation) -> list[Tensor]:
        return [input] if isinstance(input, Tensor) else nested.elements(input)

    def compute(self, input: Activation) -> Tensor:
        inputs = self._inputs(input)
        if not (self.train or self.stochastic):
            return self.without_drawing(*inputs).detach().clone()
        sample = self.draw(*[tensor.detach() for tensor in inputs])
        return Draw.apply(self, sample, *inputs)

    def updateGradInput(self, input: Activation, gradOutput: Any) -> Activation:
        inputs = [tensor.detach() for tensor in self._inputs(input)]
        gradients = self.reward_gradients(self.output, *inputs)
        self.gradInput = gradients[0] if isinstance(input, Tensor) else nested.table(gradients)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass


@register("nn.ReinforceBernoulli")
class ReinforceBernoulli(Reinforce):
    """Ones with the probabilities in the input, else zeros.

    Args:
        stochastic: draw in evaluation mode too.
    """

    def draw(self, probabilities: Tensor) -> Tensor:
        uniform = rl.empty(tuple(probabilities.shape), dtype=probabilities.dtype).uniform_(0, 1)
        return (uniform < probabilities).to(probabilities.dtype)

    def slopes(self, sample: Tensor, probabilities: Tensor) -> list[Tensor]:
        return [(sample - probabilities) / (probabilities * (1 - probabilities))]


@register("nn.ReinforceCategorical")
class ReinforceCategorical(Reinforce):
    """For each row of probabilities a row of zeros with a single one.

    Args:
        stochastic: draw in evaluation mode too.
    """

    def draw(self, probabilities: Tensor) -> Tensor:
        places = rl.multinomial(probabilities, 1)
        self._index = places + 1
        return rl.zeros_like(probabilities).scatter(probabilities.ndim - 1, places, 1.0)

    def slopes(self, sample: Tensor, probabilities: Tensor) -> list[Tensor]:
        return [sample / (probabilities + EPS)]


@register("nn.ReinforceNormal")
class ReinforceNormal(Reinforce):
    """Normal random numbers around the input.

    Args:
        stdev: standard deviation, a number or a tensor; None: the input is {mean, deviation}.
        stochastic: draw in evaluation mode too.
    """

    stdev: Any = None

    def __init__(self, stdev: Any = None, stochastic: bool | None = None) -> None:
        super().__init__(stochastic)
        if stdev is None:
            self.gradInput = nested.table([new_empty(), new_empty()])
        else:
            self.stdev = stdev

    def _deviation(self, mean: Tensor, stdev: Tensor | None) -> Any:
        deviation = self.stdev if stdev is None else stdev
        if deviation is None:
            raise ValueError(f"{self}: without stdev the input must be {{mean, deviation}}")
        return deviation

    def draw(self, mean: Tensor, stdev: Tensor | None = None) -> Tensor:
        normal = rl.empty(tuple(mean.shape), dtype=mean.dtype).normal_(0, 1)
        return normal * self._deviation(mean, stdev) + mean

    def without_drawing(self, mean: Tensor, stdev: Tensor | None = None) -> Tensor:
        return mean

    def slopes(self, sample: Tensor, mean: Tensor, stdev: Tensor | None = None) -> list[Tensor]:
        deviation = self._deviation(mean, stdev)
        distance = sample - mean
        of_mean = distance / deviation**2
        if stdev is None:
            return [of_mean]
        return [of_mean, (distance.square() - stdev.square()) / (stdev**3 + EPS)]


@register("nn.ReinforceGamma")
class ReinforceGamma(Reinforce):
    """Gamma random numbers with the shape parameters in the input.

    Args:
        scale: a number or a tensor; None: the input is {shape, scale}.
        stochastic: draw in evaluation mode too.
    """

    scale: Any = None

    def __init__(self, scale: Any = None, stochastic: bool | None = None) -> None:
        super().__init__(stochastic)
        if scale is None:
            self.gradInput = nested.table([new_empty(), new_empty()])
        else:
            self.scale = scale

    def _scale(self, scale: Tensor | None) -> Any:
        found = self.scale if scale is None else scale
        if found is None:
            raise ValueError(f"{self}: without scale the input must be {{shape, scale}}")
        return found

    def draw(self, shape: Tensor, scale: Tensor | None = None) -> Tensor:
        return rl.standard_gamma(shape) * self._scale(scale)

    def without_drawing(self, shape: Tensor, scale: Tensor | None = None) -> Tensor:
        return shape * self._scale(scale)

    def slopes(self, sample: Tensor, shape: Tensor, scale: Tensor | None = None) -> list[Tensor]:
        by = self._scale(scale)
        of_shape = (sample / by).log() - rl.digamma(shape)
        if scale is None:
            return [of_shape]
        return [of_shape, (sample / scale - shape) / scale]
