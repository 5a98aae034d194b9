"""Normalising by the batch, by neighbours, and over a vector."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.fields import given, number, weights
from relume.converters.pytorch.layers import Call
from relume.converters.pytorch.rules import rule
from relume.legacy_nn.normalization import WHOLE_SAMPLES


@rule("nn.BatchNormalization", "nn.SpatialBatchNormalization", "nn.VolumetricBatchNormalization")
def batch_norm(layer: Any, around: Any) -> Call:
    dims = int(layer.nDim)
    options = given(
        eps=None if layer.eps == 1e-5 else number(layer.eps),
        momentum=None if layer.momentum == 0.1 else number(layer.momentum),
        affine=None if layer.weight is not None else False,
    )
    arguments = {"num_features": layer.running_mean.numel(), **options}
    held = weights(layer, "weight", "bias", "running_mean", "running_var")
    return Call(f"BatchNorm{max(dims - 2, 1)}d", arguments, 1, held)


# After these layers there are vectors, or planes: where the features are is known.
VECTORS = frozenset(["nn.Linear", "nn.LinearNoBias", "nn.LinearWeightNorm", "nn.Bilinear"])
PLANES = frozenset(["nn.SpatialConvolution", "nn.SpatialConvolutionMM", "nn.SpatialMaxPooling"])

# Rows: old class, new class where the dimension is known, helper where it is not.
SOFT_MAXIMA = [
    ("nn.SoftMax", "nn.Softmax", "SoftMax"),
    ("nn.SpatialSoftMax", "nn.Softmax", "SoftMax"),
    ("nn.LogSoftMax", "nn.LogSoftmax", "LogSoftMax"),
    ("nn.SpatialLogSoftMax", "nn.LogSoftmax", "LogSoftMax"),
    ("nn.SoftMin", "nn.Softmin", "SoftMin"),
]


def add_soft_maximum(old: str, new: str, helper: str) -> None:
    def constructor(layer: Any, around: Any) -> Call:
        if getattr(layer, "mode", None) == WHOLE_SAMPLES:
            return Call("WholeSoftMax", given(log=True if "Log" in old else None))
        before = getattr(around.after, "torch_typename", "")
        dim = -1 if before in VECTORS else -3 if before in PLANES else None
        return Call(helper) if dim is None else Call(new, {"dim": dim})

    rule(old)(constructor)


for _row in SOFT_MAXIMA:
    add_soft_maximum(*_row)


@rule("nn.SpatialCrossMapLRN")
def local_response(layer: Any, around: Any) -> Call:
    arguments = {
        "size": int(layer.size),
        "alpha": number(layer.alpha),
        "beta": number(layer.beta),
        "k": number(layer.k),
    }
    return Call("LocalResponseNorm", arguments, 0)
