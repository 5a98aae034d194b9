"""Layers with a matrix or a vector of weights, and layers that measure distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relume.converters.pytorch.families.fields import given, number, weights
from relume.converters.pytorch.layers import Call, Cannot, Form, Weight
from relume.converters.pytorch.rules import rule

COUNT_FROM_ONE = Form(
    lambda arrays: arrays[0].astype(np.int64) - 1,
    lambda array, shapes: [(array + 1).reshape(shapes[0])],
)


def bias_option(layer: Any) -> dict[str, Any]:
    return {} if layer.bias is not None else {"bias": False}


@rule("nn.Linear", "nn.LinearNoBias")
def linear(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.weight.shape
    arguments = {"in_features": inputs, "out_features": outputs, **bias_option(layer)}
    return Call("nn.Linear", arguments, 2, weights(layer, "weight", "bias"))


@rule("nn.Add")
def add(layer: Any, around: Any) -> Call:
    return Call("Bias", {"size": layer.bias.numel()}, 1, weights(layer, "bias"))


@rule("nn.Mul")
def mul(layer: Any, around: Any) -> Call:
    return Call("Multiplier", {}, 0, weights(layer, "weight"))


@rule("nn.CMul")
def scale(layer: Any, around: Any) -> Call:
    shape = {f"size{i}": n for i, n in enumerate(layer.weight.shape)}
    return Call("Scale", shape, len(shape), weights(layer, "weight"))


@rule("nn.CAdd")
def shift(layer: Any, around: Any) -> Call:
    shape = {f"size{i}": n for i, n in enumerate(layer.bias.shape)}
    return Call("Shift", shape, len(shape), weights(layer, "bias"))


@rule("nn.Constant")
def constant(layer: Any, around: Any) -> Call:
    shape = {f"size{i}": n for i, n in enumerate(layer.value.shape)}
    dims = {"sample_dims": int(layer.nInputDim)} if layer.nInputDim else {}
    return Call("Constant", {**shape, **dims}, len(shape), weights(layer, "value"))


@rule("nn.LookupTable")
def lookup_table(layer: Any, around: Any) -> Call:
    rows, size = layer.weight.shape
    options = given(
        padding_idx=int(layer.paddingValue) - 1 if layer.paddingValue else None,
        scale_grad_by_freq=True if layer.shouldScaleGradByFreq else None,
    )
    if layer.maxNorm is not None:
        options["max_norm"] = number(layer.maxNorm)
        options |= given(norm_type=None if layer.normType is None else number(layer.normType))
    arguments = {"num_embeddings": rows, "embedding_dim": size, **options}
    return Call("Embedding", arguments, 2, weights(layer, "weight"))


@rule("nn.LinearWeightNorm")
def linear_weight_norm(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.v.shape
    inner = {"in_features": inputs, "out_features": outputs, **bias_option(layer)}
    linear = Call("nn.Linear", inner, 2, weights(layer, "bias"))
    arguments = {"layer": linear, "eps": number(layer.eps)}
    return Call("WeightNorm", arguments, 1, weights(layer, "v", "g"))


@rule("nn.WeightNorm")
def weight_norm(layer: Any, around: Any) -> Call:
    inner = around.call(layer.modules[0])
    if inner.function == "ConvTranspose":
        inner = inner.arguments["layer"]
    if not isinstance(inner.function, str) or not any(w.name == "weight" for w in inner.weights):
        raise Cannot(f"it holds a {layer.modules[0].torch_typename}, whose weight is elsewhere")
    inner.weights = tuple(weight for weight in inner.weights if weight.name != "weight")
    dim = int(layer.outputDim) - 1
    return Call(
        "WeightNorm", {"layer": inner, **given(dim=dim or None)}, 1, weights(layer, "v", "g")
    )


@rule("nn.PartialLinear")
def partial_linear(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.weight.shape
    count = {"count": layer.partition.numel()}
    arguments = {"in_features": inputs, "out_features": outputs, **count, **bias_option(layer)}
    flat = Form(
        lambda arrays: arrays[0].reshape(-1), lambda array, shapes: [array.reshape(shapes[0])]
    )
    held = weights(layer, "weight") + weights(layer, "bias", form=flat)
    return Call(
        "PartialLinear",
        arguments,
        3,
        (*held, Weight("outputs", (layer.partition,), COUNT_FROM_ONE)),
    )


@rule("nn.SparseLinear")
def sparse_linear(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.weight.shape
    arguments = {"in_features": inputs, "out_features": outputs}
    return Call("SparseLinear", arguments, 2, weights(layer, "weight", "bias"))


@rule("nn.IndexLinear")
def index_linear(layer: Any, around: Any) -> Call:
    if layer.normalize:
        raise Cannot("it notes the largest inputs while it runs (normalize)")
    inputs, outputs = layer.weight.shape
    first = -int(layer.offset)
    arguments = {"in_features": inputs, "out_features": outputs}
    options = given(first=first if first != 1 else None)
    return Call("IndexLinear", {**arguments, **options}, 2, weights(layer, "weight", "bias"))


@rule("nn.Cosine")
def cosine(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.weight.shape
    arguments = {"in_features": inputs, "out_features": outputs}
    return Call("Cosine", arguments, 2, weights(layer, "weight"))


@rule("nn.Euclidean")
def euclidean(layer: Any, around: Any) -> Call:
    inputs, outputs = layer.weight.shape
    arguments = {"in_features": inputs, "out_features": outputs}
    return Call("Euclidean", arguments, 2, weights(layer, "weight"))


@rule("nn.WeightedEuclidean")
def weighted_euclidean(layer: Any, around: Any) -> Call:
    inputs, outputs = layer.weight.shape
    arguments = {"in_features": inputs, "out_features": outputs}
    scales = Weight("scales", (layer.diagCov,))
    return Call("WeightedEuclidean", arguments, 2, (*weights(layer, "weight"), scales))


@rule("nn.Bilinear")
def bilinear(layer: Any, around: Any) -> Call:
    outputs, first, second = layer.weight.shape
    sizes = {"in1_features": first, "in2_features": second, "out_features": outputs}
    arguments = {**sizes, **bias_option(layer)}
    return Call("Bilinear", arguments, 3, weights(layer, "weight", "bias"))


@rule("nn.Normalize")
def normalize(layer: Any, around: Any) -> Call:
    p = math.inf if math.isinf(layer.p) else number(layer.p)
    eps = None if layer.eps == 1e-10 else number(layer.eps)
    return Call("Normalize", {"p": p, **given(eps=eps)}, 1)


@rule("nn.CosineDistance")
def cosine_distance(layer: Any, around: Any) -> Call:
    return Call("CosineDistance")


@rule("nn.PairwiseDistance")
def pairwise_distance(layer: Any, around: Any) -> Call:
    return Call("PairwiseDistance", {"p": number(layer.norm)}, 1)


@rule("nn.LayerNormalization")
def layer_normalization(layer: Any, around: Any) -> Call:
    _, _, normalize, factor, *learned = layer.modules
    eps = None if normalize.eps == 1e-10 else number(normalize.eps)
    options = given(eps=eps, affine=None if learned else False)
    held = []
    if learned:
        scale, shift = learned
        held = [Weight("weight", (scale.weight,)), Weight("bias", (shift.bias,))]
    size = round(float(factor.constant_scalar) ** 2)
    return Call("LayerNorm", {"size": size, **options}, 1, tuple(held))
