"""Layers of waifu2x, DeepMask, DeepSpeech, OpenNMT, style transfer and other projects."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.containers import decorator
from relume.converters.pytorch.families.convolution import temporal
from relume.converters.pytorch.families.fields import given, number
from relume.converters.pytorch.families.learned import lookup_table
from relume.converters.pytorch.families.packages import cudnn_parts
from relume.converters.pytorch.families.planes import sides
from relume.converters.pytorch.families.tables import of_two
from relume.converters.pytorch.layers import Call, Cannot, Weight
from relume.converters.pytorch.rules import Code, rule

# Rows: old class, code with {0} for the input and {field} for fields of the layer.
LINES = [
    ("nn.Normalize2", "{0} / ({0}.square().sum(1, keepdim=True) + 1e-5).sqrt()"),
    ("fbnn.L2Normalize", "{0} / {0}.square().sum(-1, keepdim=True).sqrt()"),
    ("nn.ShaveImage", "{0}[..., {size}:-{size}, {size}:-{size}]"),
    ("nn.FeatExpander", "{0}.repeat_interleave({n}, 0)"),
    ("nn.SpatialUpSampling", "{0}.repeat_interleave({dH}, -2).repeat_interleave({dW}, -1)"),
    ("nn.StereoJoin1", "({0}[::2] * {0}[1::2]).sum(1, keepdim=True)"),
    ("nn.ReverseSequence", "reversed_steps({0})"),
]


class Fields(dict):
    """The fields of a layer as text; {0} stays."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def __missing__(self, name: str) -> str:
        return str(number(getattr(self.layer, name)))


def add_line(old: str, template: str) -> None:
    def constructor(layer: Any, around: Any) -> Code:
        code = template.replace("{0}", "{{0}}").format_map(Fields(layer))
        return Code(lambda scope, value: scope.body.assign("", code, value))

    rule(old)(constructor)


for _row in LINES:
    add_line(*_row)

rule("w2nn.ScaleTable")(of_two("{0} * {1}"))


@rule("nn.ExpandAs")
def expand_as(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Any) -> Any:
        first, second = scope.body.elements(value, 2)[:2]
        return first, scope.body.assign("", "{0}.expand_as({1})", second, first)

    return Code(write)


@rule("w2nn.LeakyReLU")
def leaky(layer: Any, around: Any) -> Call:
    return Call("nn.LeakyReLU", {"negative_slope": number(layer.negative_scale)}, 1)


@rule("w2nn.InplaceClip01")
def clip(layer: Any, around: Any) -> Call:
    return Call("Clip", {"low": 0, "high": 1}, 2)


@rule("w2nn.AuxiliaryLossTable")
def auxiliary(layer: Any, around: Any) -> Call:
    return Call("PickWhenEvaluating", {"index": int(layer.i) - 1}, 1)


@rule("w2nn.DepthExpand2x")
def depth_expand(layer: Any, around: Any) -> Call:
    return Call("DepthExpand")


@rule("w2nn.GradWeight")
def gradient_weight(layer: Any, around: Any) -> Call:
    return Call("GradientReversal", {"factor": -number(layer.constant_scalar)}, 1)


@rule("nn.SpatialSymmetricPadding")
def symmetric(layer: Any, around: Any) -> Call:
    names = ("left", "right", "top", "bottom")
    counts = sides(layer, "pad_l", "pad_r", "pad_t", "pad_b")
    return Call("SymmetricPad2d", dict(zip(names, counts, strict=True)), 4)


@rule("nn.NoBackprop")
def without_gradient(layer: Any, around: Any) -> Call:
    return Call("WithoutGradient", {"layer": around.call(layer.modules[0])}, 1)


@rule("nn.ModeSwitch")
def by_mode(layer: Any, around: Any) -> Call:
    names = ("when_training", "when_evaluating")
    return Call("ByMode", {n: around.call(m) for n, m in zip(names, layer.modules, strict=True)}, 2)


@rule("cudnn.BatchBRNN", "cudnn.BatchBRNNReLU")
def batch_brnn(layer: Any, around: Any) -> Call:
    found = {m.torch_typename.rpartition(".")[2]: m for m in layer.modules}
    helper, arguments, held = cudnn_parts(layer.rnn)
    skips = layer.rnn.inputMode == "CUDNN_SKIP_INPUT"
    if skips and helper != "RNN":
        raise Cannot("its recurrent network is none with plain states")
    rnn = Call("FrozenInputRNN" if skips else helper, arguments, 2, held)
    limit = number(found["Clamp"].max_val) if "Clamp" in found else None
    parts = {
        "linear": around.call(found["Linear"]),
        "norm": around.call(found["BatchNormalization"]),
        "rnn": rnn,
    }
    return Call("BatchBRNN", {**parts, **given(limit=limit)}, 3)


@rule("nn.GramMatrix")
def gram(layer: Any, around: Any) -> Call:
    return Call("GramMatrix", {"average": bool(layer.normalize)}, 1)


@rule("nn.ExpOut")
def expected_label(layer: Any, around: Any) -> Call:
    labels = Weight("labels", (layer.constant_vector,))
    return Call("ExpectedLabel", {"count": layer.constant_vector.numel()}, 1, (labels,))


@rule("nn.Unpool")
def corner_unpool(layer: Any, around: Any) -> Call:
    return Call("CornerUnpool", {"size": int(layer.k)}, 1)


@rule("nn.SpatialDownSampling")
def down_sampling(layer: Any, around: Any) -> Call:
    return Call("nn.AvgPool2d", {"kernel_size": (int(layer.rH), int(layer.rW))}, 1)


@rule("nn.PixelSort")
def pixel_sort(layer: Any, around: Any) -> Call:
    return Call("nn.PixelUnshuffle", {"downscale_factor": int(layer.downscaleFactor)}, 1)


@rule("nn.SpatialReSampling")
def resample(layer: Any, around: Any) -> Call:
    if layer.yDim is not None or layer.xDim is not None:
        raise Cannot("it resamples other dimensions than the last two")
    height = int(layer.oheight) if layer.oheight else float(layer.rheight)
    width = int(layer.owidth) if layer.owidth else float(layer.rwidth)
    options = given(average=True if layer.mode == "average" else None)
    return Call("Resample", {"height": height, "width": width, **options}, 2)


@rule("nn.LookupTableGPU")
def lookup(layer: Any, around: Any) -> Call | Code:
    if layer.featuresInDim2:
        raise Cannot("it turns its output (featuresInDim2)")
    return lookup_table(layer, around)


@rule("nn.TemporalConvolutionFB")
def frames(layer: Any, around: Any) -> Call | Code:
    return temporal(layer, around)


@rule("onmt.Bridge", "onmt.MaskedSoftmax")
def network_inside(layer: Any, around: Any) -> Call | Code:
    if not layer.modules:
        raise Cannot("it holds no network")
    return decorator(layer, around)


@rule("onmt.Generator")
def generator(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Any) -> Any:
        state = value[0] if isinstance(value, tuple) else value
        given_back = scope.inside(1, lambda: scope.emit(layer.modules[0], state))
        return given_back if isinstance(given_back, tuple) else (given_back,)

    return Code(write, class_name="Generator")
