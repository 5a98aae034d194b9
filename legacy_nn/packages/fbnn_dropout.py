"""Package fbnn (facebook/fbnn): layers that drop elements at random."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.dropout import Dropout as OrdinaryDropout
from relume.legacy_nn.dropout import NoiseLayer
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("fbnn.Dropout")
class Dropout(OrdinaryDropout):
    """In training, drops elements with probability p; in evaluation, scales all down.

    Args:
        p: probability of dropping, by default 0.5.
    """

    v2 = False

    def __init__(self, p: float | None = None) -> None:
        super().__init__(p, True)

    def __str__(self) -> str:
        return self.torch_typename


@register("fbnn.NestedDropout")
class NestedDropout(NoiseLayer):
    """In training, drops the last features of every sample: how many stay is drawn from a
    geometric distribution (Rippel, Gelbart and Adams 2014, "Learning ordered representations with
    nested dropout"). What stays is scaled up.

    Args:
        p: parameter of the distribution, between 0 and 1; by default 0.01.
    """

    def __init__(self, p: float = 0.01) -> None:
        super().__init__()
        if not 0 < p < 1:
            raise ValueError(f"{self.torch_typename}: p must be between 0 and 1, got {p}")
        self.p = p
        self.train = True
        self.logp, self.log1p = math.log(p), math.log(1 - p)
        self.noise = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 2:
            raise ValueError(f"{self}: expected a batch NxC, got {nested.describe(input)}")
        if not self.train:
            return input
        samples, features = input.shape
        count = rl.empty((samples, 1), dtype=rl.float64).geometric_(1 - float(self.p))
        kept = (rl.arange(features).unsqueeze(0) < count).to(input.dtype)
        powers = (rl.arange(1, features + 1).to(rl.float64) * float(self.log1p)).exp()
        self.noise = kept / powers.to(input.dtype)
        return input * self.noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * self.noise if self.train else gradOutput
        return self.gradInput


@register("fbnn.IndividualDropout")
class IndividualDropout(NoiseLayer):
    """In training, drops every feature with a probability of its own, and scales the rest up.

    Args:
        ps: the probabilities, one per feature. The field `p` holds those of staying.
    """

    uncast_names = ("p",)
    p: Any  # a tensor

    def __init__(self, ps: Tensor) -> None:
        super().__init__()
        self.setp(ps)
        self.train = True
        self.noise = new_empty()

    def setp(self, p: Tensor) -> None:  # type: ignore[override]
        """Sets the probabilities of dropping."""
        if p.ndim != 1 or p.amin().item() < 0 or p.amax().item() >= 1:
            raise ValueError(f"{self.torch_typename}: ps must be a vector of numbers in [0, 1)")
        self.p = (1 - p).to(rl.float32)

    def compute(self, input: Tensor) -> Tensor:
        count = self.p.numel()
        if not isinstance(input, Tensor) or input.ndim != 2 or input.shape[1] != count:
            raise ValueError(f"{self}: expected a batch Nx{count}, got {nested.describe(input)}")
        if not self.train:
            return input
        kept = self.p.to(input.dtype)
        uniform = rl.empty(tuple(input.shape), dtype=input.dtype).uniform_(0, 1)
        self.noise = (uniform < kept).to(input.dtype) / kept
        return input * self.noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * self.noise if self.train else gradOutput
        return self.gradInput

    def __str__(self) -> str:
        return self.torch_typename
