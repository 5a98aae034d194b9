"""Images as sums over a learned dictionary (zhanghang1989/Torch-Encoding-Layer)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_parameter


@register("nn.Aggregate")
class Aggregate(TableLayer):
    """Weighted sums over N: {weights N x K, vectors N x K x D} to K x D, or batches of them.

    Args:
        K, D: the sizes.
    """

    def __init__(self, K: int, D: int) -> None:
        super().__init__()
        self.K, self.D = K, D

    def compute(self, input: Activation) -> Tensor:
        weights, vectors = self._elements(input, 2)[:2]
        if weights.ndim not in (2, 3) or weights.shape != vectors.shape[:-1]:
            raise ValueError(
                f"{self}: expected weights N x {int(self.K)} and vectors N x {int(self.K)} x "
                f"{int(self.D)}, got {nested.describe(input)}"
            )
        return (weights.unsqueeze(-1) * vectors).sum(-3)


class Dictionary(Module):
    """The base of layers that sum how vectors differ from K learned ones: N x D to K x D, or
    batches of them.

    Args:
        K: how many learned vectors.
        D: their length.
    """

    parameter_names: tuple[str, ...] = ("weight",)

    def __init__(self, K: int, D: int) -> None:
        super().__init__()
        self.K, self.D = K, D
        self.weight, self.gradWeight = new_parameter(K, D), new_parameter(K, D)

    def _differences(self, input: Tensor, weight: Tensor) -> Tensor:
        size = weight.shape[1]
        if not isinstance(input, Tensor) or input.ndim not in (2, 3) or input.shape[-1] != size:
            raise ValueError(
                f"{self}: expected N x {size}, or a batch of it, got {nested.describe(input)}"
            )
        return input.unsqueeze(-2) - weight

    def __str__(self) -> str:
        return f"{self.torch_typename}(Nx{int(self.D)} -> {int(self.K)}x{int(self.D)})"


@register("nn.Encoding")
class Encoding(Dictionary):
    """Sums of differences from learned vectors, weighted by a softmax of the squared distances
    (Zhang, Xue and Dana 2017).

    Args:
        K: how many learned vectors.
        D: their length.

    Attributes:
        bias: one factor of the distances per learned vector.
    """

    parameter_names = ("weight", "bias")
    buffer_names = ("A", "R", "L2", "SL2", "gradA", "gradSL2", "bufBias", "bufWeight")

    def __init__(self, K: int, D: int) -> None:
        super().__init__(K, D)
        self.bias, self.gradBias = new_parameter(K), new_parameter(K)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        size = int(self.K)
        draw_uniform(uniform_bound(stdv, size * int(self.D)), self.weight)
        draw_uniform(uniform_bound(stdv, size), self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        differences = self._differences(input, weight)
        shares = rl.softmax(-differences.square().sum(-1) * bias, input.ndim - 1)
        return (shares.unsqueeze(-1) * differences).sum(-3)


@register("nn.NetVLAD")
class NetVLAD(Dictionary):
    """Sums of differences from learned vectors, weighted by a softmax of a linear function
    (Arandjelovic et al. 2016).

    Args:
        K: how many learned vectors.
        D: their length.

    Attributes:
        assigner: the linear function, with parameters of its own.
    """

    parameter_names = ("weight",)
    buffer_names = ("A", "R", "gradA")
    assigner: Any

    def __init__(self, K: int, D: int) -> None:
        super().__init__(K, D)
        self.assigner = make("Sequential").add(make("Linear", D, K, False)).add(make("SoftMax"))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, int(self.D)), self.weight)
        self.assigner.reset()

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        differences = self._differences(input, weight)
        with rl.no_grad():
            linear = self.assigner.get(1).weight.clone()
        # As there, only the dictionary learns.
        shares = rl.softmax(input @ linear.transpose(0, 1), input.ndim - 1)
        return (shares.unsqueeze(-1) * differences).sum(-3)
