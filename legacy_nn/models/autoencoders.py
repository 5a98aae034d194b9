"""Variational and other autoencoders (y0ast/VAE-Torch, Kaixhin/Autoencoders), and noise
(iassael/learning-to-communicate)."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer


@register("nn.Sampler")
class Sampler(TableLayer):
    """Draws from normal distributions: {means, logarithms of variances} (Kingma and Welling
    2013)."""

    def compute(self, input: Activation) -> Tensor:
        self.eps = rl.randn(*nested.elements(input)[0].shape, dtype=nested.elements(input)[0].dtype)
        return self.recompute(input)

    def recompute(self, input: Activation) -> Tensor:
        mean, log_variance = self._elements(input, 2)[:2]
        return mean + (log_variance / 2).exp() * self.eps


@register("nn.KLDPenalty")
class KLDPenalty(TableLayer):
    """Gives back {means, logarithms of variances}; `loss` is how far these normal distributions are
    from the standard one, and its gradient is added in backward."""

    def _divergence(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        return (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2

    def updateOutput(self, input: Activation) -> Activation:
        mean, log_variance = self._elements(input, 2)[:2]
        self.loss = self._divergence(mean.detach(), log_variance.detach()).item()
        self.output = input
        return input

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        mean, log_variance = self._elements(input, 2)[:2]
        own = (mean, (log_variance.exp() - 1) / 2)
        given = nested.spread(gradOutput, 2)
        self.gradInput = nested.table([a + b for a, b in zip(own, given, strict=True)])
        return self.gradInput


@register("nn.GaussianCriterion")
class GaussianCriterion(Criterion):
    """Minus the log-likelihood of the target under normal distributions, {means, logarithms of
    variances}."""

    def compute(self, input: Activation, target: Tensor) -> Tensor:
        mean, log_variance = nested.elements(input)[:2]
        if not isinstance(target, Tensor) or not mean.shape == log_variance.shape == target.shape:
            raise ValueError(
                f"{self}: means, variances and target must have one size, got "
                f"{nested.describe(input)} and {nested.describe(target)}"
            )
        distance = (target - mean).square() / log_variance.exp()
        return (log_variance + distance + math.log(2 * math.pi)).sum() / 2


@register("nn.BatchTopK")
class BatchTopK(Module):
    """In training, keeps the k largest (or smallest) elements of every column of a batch, N x M,
    and makes the others zero.

    Args:
        k: which share of the batch, by default 1.
        flag: True for the largest.
    """

    parameter_names = ()
    k: float = 1
    flag = False

    def __init__(self, k: float | None = None, flag: bool | None = None) -> None:
        super().__init__()
        self.k, self.flag = 1 if k is None else k, bool(flag)

    def compute(self, input: Tensor) -> Tensor:
        if not self.train:
            return input
        if not isinstance(input, Tensor) or input.ndim != 2:
            raise ValueError(f"{self}: expected a batch N x M, got {nested.describe(input)}")
        count = math.ceil(float(self.k) * input.shape[0])
        places = rl.topk(input.detach(), count, 0, bool(self.flag))[1]
        return input * rl.zeros_like(input).detach().scatter(0, places, 1)


class Noise(Module):
    """The base of layers of which only the size of the input matters."""

    parameter_names = ()

    def draw(self, noise: Tensor) -> Tensor:
        """Fills it."""
        raise NotImplementedError

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = self.draw(rl.empty(tuple(input.shape), dtype=input.dtype))
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput


@register("nn.Gaussian")
class Gaussian(Noise):
    """Normal noise of the size of its input.

    Args:
        mean, stdv: by default 0 and 1.
    """

    mean, stdv = 0.0, 1.0

    def __init__(self, mean: float | None = None, stdv: float | None = None) -> None:
        super().__init__()
        self.mean, self.stdv = mean or 0.0, 1.0 if stdv is None else stdv

    def draw(self, noise: Tensor) -> Tensor:
        return noise.normal_(float(self.mean), float(self.stdv))


@register("nn.Uniform")
class Uniform(Noise):
    """Uniform noise of the size of its input.

    Args:
        a, b: the bounds, by default 0 and 1.
    """

    a, b = 0.0, 1.0

    def __init__(self, a: float | None = None, b: float | None = None) -> None:
        super().__init__()
        self.a, self.b = a or 0.0, 1.0 if b is None else b

    def draw(self, noise: Tensor) -> Tensor:
        return noise.uniform_(float(self.a), float(self.b))


# ---- agents that talk ----


@register("nn.GaussianNoise")
class GaussianNoise(Module):
    """In training, adds normal noise.

    Args:
        std: its deviation.
        ip: overwrite the input; there, backward takes the noise off again.
    """

    parameter_names = ()
    std: float
    inplace = False

    def __init__(self, std: float, ip: bool | None = None) -> None:
        super().__init__()
        self.std, self.inplace = std, bool(ip)
        self.train = True

    def compute(self, input: Tensor) -> Tensor:
        if not self.train or self.std <= 0:
            return input
        self.noise = rl.empty(tuple(input.shape), dtype=input.dtype).normal_(0, float(self.std))
        return input + self.noise

    def recompute(self, input: Tensor) -> Tensor:
        return input + self.noise if self.train and self.std > 0 else input


@register("nn.Binarize")
class Binarize(Module):
    """The sign; in training with `stcFlag`, 1 with probability (x + 1) / 2, else -1. Gradients pass
    through.

    Args:
        stcFlag: draw in training.
    """

    parameter_names = ()
    stcFlag: Any = None

    def __init__(self, stcFlag: bool | None = None) -> None:
        super().__init__()
        self.stcFlag = stcFlag

    def updateOutput(self, input: Tensor) -> Tensor:
        level = (input.detach() + 1) / 2
        if self.train and self.stcFlag:
            self.output = (
                level - rl.empty(tuple(input.shape), dtype=input.dtype).uniform_()
            ).sign()
        else:
            self.output = (level - 0.5).sign()
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput.clone()
        return self.gradInput


@register("nn.LinearO")
class LinearO(Linear):
    """`Linear` whose weights begin orthogonal (Saxe et al. 2013), with zero biases.

    Args:
        inputSize, outputSize: as in `Linear`.
    """

    GAIN = 1.1

    def reset(self, stdv: float | None = None) -> None:
        rows, columns = self.weight.shape
        bases = [rl.qr(rl.randn(size, size, dtype=rl.float64))[0] for size in (rows, columns)]
        smallest = min(rows, columns)
        product = bases[0][:, :smallest] @ bases[1][:smallest]
        with rl.no_grad():
            self.weight.copy_(product * self.GAIN)
            self.bias.zero_()
