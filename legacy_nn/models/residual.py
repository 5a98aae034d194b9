"""Blocks of DenseNet (liuzhuang13/DenseNet), Shake-Shake (xgastaldi/shake-shake) and networks of
stochastic depth (yueatsprograms/Stochastic_Depth)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Container
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.printing import TAB
from relume.legacy_nn.registry import register


@register("nn.DenseConnectLayerCustom")
class DenseConnectLayerCustom(Taped):
    """Adds one tensor to a table: what its networks make of all that are in it, joined.

    Attributes:
        net1, net2: the networks, one after the other; also in `modules`.
    """

    def compute(self, input: Activation) -> Activation:
        features = nested.elements(input) if nested.is_table(input) else [input]
        joined = rl.cat(features, 1) if len(features) > 1 else features[0]
        new = self._apply_child(1, self._apply_child(0, joined))
        return nested.table([*features, new])

    def __str__(self) -> str:
        lines = ["DenseConnectLayerCustom {", "  {input}"]
        for place, module in enumerate(self.modules, 1):
            is_last = place == len(self.modules)
            head, inner = ("   `-> ", "       ") if is_last else ("  |`-> ", "  |    ")
            text = str(module).replace("\n", f"\n{TAB}{inner}")
            lines.append(f"{TAB}{head}({place}): {text}")
        return "\n".join([*lines, f"{TAB}   ... -> {{output}}", "}"])


@register("nn.MulConstantSlices")
class MulConstantSlices(Module):
    """Multiplies every sample by a number of its own.

    Args:
        constant_tensor: the numbers.
    """

    parameter_names = ()
    constant_tensor: Tensor

    def __init__(self, constant_tensor: Tensor, inplace: bool = False) -> None:
        super().__init__()
        self.constant_tensor = constant_tensor
        self.inplace = inplace

    def compute(self, input: Tensor) -> Tensor:
        factors = self.constant_tensor.narrow(0, 0, input.shape[0]).to(input.dtype)
        return input * factors.reshape((-1, *[1] * (input.ndim - 1)))


@register("nn.ShakeShakeBlock")
class ShakeShakeBlock(Container):
    """Two branches and what skips them, added; in training the branches are weighted at random,
    with other numbers in backward.

    Attributes:
        net1, net2, skip: the networks, also in `modules`; the last layer of a branch multiplies.
        forwardShake, backwardShake: "true" for random weights.
        shakeImage: "true" for weights of every sample, not of the batch.

    From Gastaldi: Shake-Shake regularization (2017).
    """

    forwardShake = backwardShake = shakeImage = "true"

    def _draw(self, samples: int, is_random: bool) -> Tensor:
        """The weights of the first branch."""
        count = samples if self.shakeImage == "true" else 1
        if not is_random:
            return rl.full((count,), 0.5, dtype=rl.float64)
        return rl.empty((count,), dtype=rl.float64).uniform_()

    def _set(self, weights: Tensor) -> None:
        for branch, own in zip(self.modules[:2], (weights, 1 - weights), strict=True):
            layer = branch.modules[-1]
            if isinstance(layer, MulConstantSlices):
                layer.constant_tensor = own
            else:
                layer.constant_scalar = own[0].item()

    def compute(self, input: Tensor) -> Tensor:
        self._set(self._draw(input.shape[0], bool(self.train) and self.forwardShake == "true"))
        parts = [self._apply_child(place, input) for place in range(3)]
        return parts[0] + parts[1] + parts[2]

    def updateOutput(self, input: Tensor) -> Tensor:
        self._set(self._draw(input.shape[0], bool(self.train) and self.forwardShake == "true"))
        # The branches begin with a ReLU in place: each gets a copy, so that all see the same.
        self._inputs = [input.clone() for _ in range(3)]
        first, second, skipped = (
            self._run_child(place, "forward", own) for place, own in enumerate(self._inputs)
        )
        self.output = first + second + skipped
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self._set(self._draw(input.shape[0], self.backwardShake == "true"))
        gradients = [
            self._run_child(place, "updateGradInput", own, gradOutput)
            for place, own in enumerate(self._inputs)
        ]
        self.gradInput = gradients[0] + gradients[1] + gradients[2]
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        for place, own in enumerate(self._inputs):
            self._run_child(place, "accGradParameters", own, gradOutput, scale)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        super()._load_fields(fields, version)
        if not self.modules:
            names: tuple[str, ...] = ("net1", "net2", "skip")
            self.modules = [getattr(self, name) for name in names]

    _inputs: Any


@register("nn.ResidualDrop")
class ResidualDrop(Taped):
    """A network and what skips it, added. In training the network runs while `gate` is open; in
    evaluation it counts 1 - deathRate (Huang et al. 2016).

    Attributes:
        net, skip: the networks, also in `modules`.
        gate: whether the network runs in training.
        deathRate: how often it does not.
    """

    gate = True
    deathRate: float
    net: Any
    skip: Any

    def children(self) -> list[Any]:
        return [self.net, self.skip]

    def replace_children(self, function: Any) -> None:
        self.net, self.skip = (function(module) for module in self.children())
        self.modules = self.children()

    def compute(self, input: Tensor) -> Tensor:
        skipped = self.skip(input)
        if not self.train:
            return skipped + self.net(input) * (1 - float(self.deathRate))
        return skipped + self.net(input) if self.gate else skipped
