"""Layers that no ONNX model can stand for, whatever their settings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relume.converters.formats import Refusal
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module

__all__ = ["REFUSED", "check"]

RANDOM = "it draws random numbers when it evaluates, too"
CHOOSES = "which of its weights it uses depends on the input"
CHOOSES_BOXES = "which boxes it takes depends on the input"
SPARSE = "how much it computes depends on the input"

# Torch7's name of the class -> why.
REFUSED = {
    "nn.SpatialFractionalMaxPooling": RANDOM,
    "nn.VolumetricFractionalMaxPooling": RANDOM,
    "nn.NoiseFill": RANDOM,
    "nn.GenNoise": RANDOM,
    "nn.Gaussian": RANDOM,
    "nn.Sampler": RANDOM,
    "nn.Uniform": RANDOM,
    "nn.SoftMaxTree": CHOOSES,
    "nn.SoftMaxForest": CHOOSES,
    "nn.SpatialGlimpse": "where it looks depends on the input",
    "nn.BoxSampler": CHOOSES_BOXES,
    "nn.BoxSamplerHelper": CHOOSES_BOXES,
    "nn.LocalizationLayer": CHOOSES_BOXES,
    "nn.DMax": SPARSE,
    "nn.PositionalEncoder": SPARSE,
    "nn.SparseKmax": SPARSE,
    "nn.SparseSum": SPARSE,
    "nn.SumVecarr": SPARSE,
    "fbnn.SegSparseLinear": SPARSE,
    "nn.CriterionTable": "its output is a number: a loss, which a model for inference has not",
}


def check(network: Any) -> list[Refusal]:
    """What can be seen to be in the way without running the network.

    >>> from relume import legacy_nn as nn
    >>> [str(refusal) for refusal in check(nn.MSECriterion())]
    ['nn.MSECriterion (1): a criterion; a model for inference has none']
    """
    name = getattr(network, "torch_typename", type(network).__name__)
    if isinstance(network, Criterion):
        return [Refusal(name, 1, "a criterion; a model for inference has none")]
    if not isinstance(network, Module):
        return [Refusal(name, 1, "it is no network; select one in it by its path")]
    found: Counter[tuple[str, str]] = Counter()
    for module in network.listModules():
        name = getattr(module, "torch_typename", type(module).__name__)
        if name in REFUSED:
            found[name, REFUSED[name]] += 1
        elif not isinstance(module, (Module, Criterion)):
            found[name, "its class is not known here; register a class of that name"] += 1
    return [Refusal(name, count, reason) for (name, reason), count in found.items()]
