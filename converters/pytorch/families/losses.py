"""Criterions: modules of an input and a target."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.converters.pytorch.families.fields import given, number
from relume.converters.pytorch.layers import Call, Cannot, Weight
from relume.converters.pytorch.rules import rule

# Rows: old class, helper.
OF_ELEMENTS = [
    ("nn.MSECriterion", "MSELoss"),
    ("nn.AbsCriterion", "AbsLoss"),
    ("nn.SmoothL1Criterion", "SmoothL1Loss"),
    ("nn.SoftMarginCriterion", "SoftMarginLoss"),
    ("nn.DistKLDivCriterion", "KLDivLoss"),
    ("nn.MultiLabelMarginCriterion", "MultiLabelMarginLoss"),
    ("nn.DistanceRatioCriterion", "DistanceRatioLoss"),
    ("nn.SpatialAutoCropMSECriterion", "CroppedMSELoss"),
    ("nn.BinaryLogisticRegression", "LogisticLoss"),
]
WITH_MARGIN = [
    ("nn.MarginCriterion", "MarginLoss"),
    ("nn.HingeEmbeddingCriterion", "HingeEmbeddingLoss"),
    ("nn.L1HingeEmbeddingCriterion", "L1HingeLoss"),
    ("nn.MarginRankingCriterion", "MarginRankingLoss"),
    ("nn.CosineEmbeddingCriterion", "CosineEmbeddingLoss"),
]


def average(layer: Any) -> dict[str, bool]:
    """Whether a loss is a sum; a mean is not written."""
    return {} if getattr(layer, "sizeAverage", True) else {"average": False}


def class_weights(layer: Any) -> tuple[dict[str, int], tuple[Weight, ...]]:
    """The option and the tensor of weights per class."""
    held = layer.weights
    if not isinstance(held, Tensor) or held.numel() == 0:
        return {}, ()
    return {"weights": held.numel()}, (Weight("weight", (held,)),)


def add_row(old: str, helper: str) -> None:
    rule(old)(lambda layer, around: Call(helper, average(layer)))


def add_margin_row(old: str, helper: str) -> None:
    def constructor(layer: Any, around: Any) -> Call:
        return Call(helper, {"margin": number(layer.margin), **average(layer)}, 1)

    rule(old)(constructor)


for _row in OF_ELEMENTS:
    add_row(*_row)
for _row in WITH_MARGIN:
    add_margin_row(*_row)


@rule("nn.SpatialBinaryLogisticRegression")
def spatial_logistic(layer: Any, around: Any) -> Call:
    return Call("LogisticLoss", {**average(layer), "planes": True})


@rule("nn.L1Cost")
def one_norm(layer: Any, around: Any) -> Call:
    return Call("L1Cost")


@rule("nn.WeightedMSECriterion")
def weighted_squares(layer: Any, around: Any) -> Call:
    shape = {f"size{i}": n for i, n in enumerate(layer.weight.shape)}
    held = (Weight("weight", (layer.weight,)),)
    return Call("WeightedMSELoss", {**shape, **average(layer)}, len(shape), held)


@rule("nn.BCECriterion")
def binary(layer: Any, around: Any) -> Call:
    option, held = class_weights(layer)
    return Call("BCELoss", {**average(layer), **option}, 0, held)


@rule("nn.MultiLabelSoftMarginCriterion")
def labels(layer: Any, around: Any) -> Call:
    option, held = class_weights(layer)
    return Call("MultiLabelLoss", {**average(layer), **option}, 0, held)


@rule("nn.ClassNLLCriterion", "nn.SpatialClassNLLCriterion")
def negative_log(layer: Any, around: Any) -> Call:
    option, held = class_weights(layer)
    ignored = int(layer.ignoreIndex)
    options = given(ignored=None if ignored == -100 else ignored)
    return Call("NLLLoss", {**average(layer), **option, **options}, 0, held)


@rule("nn.CrossEntropyCriterion")
def cross_entropy(layer: Any, around: Any) -> Call:
    option, held = class_weights(layer.nll)
    return Call("CrossEntropyLoss", {**average(layer), **option}, 0, held)


@rule("nn.MultiMarginCriterion")
def multi_margin(layer: Any, around: Any) -> Call:
    option, held = class_weights(layer)
    arguments = {"p": int(layer.p), "margin": number(layer.margin), **average(layer), **option}
    return Call("MultiMarginLoss", arguments, 1, held)


@rule("nn.ClassSimplexCriterion")
def simplex(layer: Any, around: Any) -> Call:
    corners = Weight("corners", (layer.simplex,))
    return Call("SimplexLoss", {"classes": int(layer.nClasses), **average(layer)}, 1, (corners,))


@rule("nn.MultiCriterion", "nn.ParallelCriterion")
def weighted_sum(layer: Any, around: Any) -> Call:
    losses = [around.call(criterion) for criterion in layer.children()]
    factors = tuple(number(w) for w in layer._weights()[: len(losses)])
    is_split = layer.torch_typename == "nn.ParallelCriterion"
    options = given(
        split=True if is_split else None,
        repeat_target=True if is_split and layer.repeatTarget else None,
    )
    return Call("WeightedSum", {"losses": losses, "weights": factors, **options}, 2)


@rule("nn.ModuleCriterion")
def of_layers(layer: Any, around: Any) -> Call:
    def part(module: Any) -> Call:
        return Call("nn.Identity") if module is None else around.call(module)

    arguments = {
        "loss": around.call(layer.criterion),
        "input_layer": part(layer.inputModule),
        "target_layer": part(layer.targetModule),
    }
    return Call("OfLayers", arguments, 1)


@rule("nn.SequencerCriterion", "nn.RepeaterCriterion")
def over_steps(layer: Any, around: Any) -> Call:
    options = given(
        average=True if layer.sizeAverage else None,
        repeat_target=True if "Repeater" in layer.torch_typename else None,
    )
    return Call("OverSteps", {"loss": around.call(layer.criterion), **options}, 1)


@rule("nn.MaskZeroCriterion")
def nonzero_samples(layer: Any, around: Any) -> Call:
    if layer.v2 or layer.nInputDim is None:
        raise Cannot("it is told from outside which samples are zeros (setZeroMask)")
    arguments = {"loss": around.call(layer.criterion), "sample_dims": int(layer.nInputDim)}
    return Call("NonzeroSamples", arguments, 1)


@rule("nn.ModuleFromCriterion", "nn.CriterionTable")
def as_layer(layer: Any, around: Any) -> Call:
    one_number = {"one_number": True} if layer.torch_typename == "nn.CriterionTable" else {}
    return Call("FromCriterion", {"loss": around.call(layer.criterion), **one_number}, 1)
