"""Layers that are one node in a graph, although they call an op for every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relume import Tensor

__all__ = ["WHOLE_LAYERS", "WholeLayer"]

Arguments = dict[str, Any]


@dataclass(frozen=True)
class WholeLayer:
    """A method of a layer that becomes one node.

    Attributes:
        op: what the node is called; no op of the registry.
        method: the method's name.
        applies: is this layer used in a way that the node stands for?
        arguments: of the node, from those of the method.
        outputs: the tensors of what the method gives that are the node's outputs.
    """

    op: str
    method: str
    applies: Callable[[Any], bool]
    arguments: Callable[..., Arguments]
    outputs: Callable[[Any], list[Tensor]]


def gru_arguments(sequence: Tensor, first: list[Tensor], weight: Tensor, bias: Tensor) -> Arguments:
    tensors = {"input": sequence, "h0": first[0], "weight": weight, "bias": bias}
    return {**tensors, "steps": sequence.shape[0], "batch": sequence.shape[1]}


# Torch7's name of the class -> how it is recorded.
WHOLE_LAYERS = {
    "nn.SeqGRU": WholeLayer(
        op="seq_gru",
        method="run",
        applies=lambda layer: not layer.maskzero,
        arguments=gru_arguments,
        outputs=lambda result: [result[0][0], result[1][0]],
    ),
}
