"""dpnn, nnx, inn, stn, cudnn, torch-rnn, and layers of single projects."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.converters.pytorch.families.containers import sequential
from relume.converters.pytorch.families.convolution import convolution
from relume.converters.pytorch.families.fields import given, number, weights
from relume.converters.pytorch.families.recurrent import gate_cell
from relume.converters.pytorch.layers import Call, Cannot, Weight, reshaped
from relume.converters.pytorch.rules import Code, rule
from relume.legacy_nn import nested

# ---- dpnn ----


@rule("nn.ArgMax")
def arg_max(layer: Any, around: Any) -> Call:
    arguments = {"dim": int(layer.dim) - 1, "sample_dims": int(layer.nInputDim)}
    return Call("ArgMax", {**arguments, **given(as_long=None if layer.asLong else False)}, 2)


@rule("nn.Clip")
def clip(layer: Any, around: Any) -> Call:
    return Call("Clip", {"low": number(layer.minval), "high": number(layer.maxval)}, 2)


@rule("nn.TotalDropout")
def total_dropout(layer: Any, around: Any) -> Call:
    return Call("TotalDropout", {"p": number(layer.p)}, 1)


@rule("nn.SpatialRegionDropout")
def region_dropout(layer: Any, around: Any) -> Call:
    return Call("RegionDropout", {"p": number(layer.p)}, 1)


@rule("nn.SimpleColorTransform")
def plane_shift(layer: Any, around: Any) -> Call:
    ranges = Weight("ranges", (layer.range,), reshaped(-1))
    return Call("PlaneShift", {"planes": int(layer.inputChannels)}, 1, (ranges,))


@rule("nn.PCAColorTransform")
def color_noise(layer: Any, around: Any) -> Call:
    held = (Weight("vectors", (layer.eigenVectors,)), Weight("values", (layer.eigenValues,)))
    arguments = {"planes": int(layer.inputChannels), "std": number(layer.std)}
    return Call("ColorNoise", arguments, 2, held)


@rule("nn.SpatialFeatNormalization")
def plane_affine(layer: Any, around: Any) -> Call:
    flat = reshaped(-1)
    held = (Weight("mean", (layer.mean,), flat), Weight("std", (layer.std,), flat))
    return Call("PlaneAffine", {"planes": layer.mean.numel()}, 1, held)


@rule("nn.SpatialUniformCrop")
def uniform_crop(layer: Any, around: Any) -> Call:
    arguments: dict[str, Any] = {"height": int(layer.oheight), "width": int(layer.owidth)}
    if layer.scale is not None:
        arguments["scales"] = (number(layer.scale["min"]), number(layer.scale["max"]))
    return Call("UniformCrop", arguments, 2)


@rule("nn.SpatialGlimpse")
def glimpse(layer: Any, around: Any) -> Call:
    arguments = {
        "height": int(layer.height),
        "width": int(layer.width),
        "depth": int(layer.depth),
        **given(factor=None if layer.scale == 2 else number(layer.scale)),
    }
    return Call("Glimpse", arguments, 3)


@rule("nn.Kmeans")
def kmeans(layer: Any, around: Any) -> Call:
    scale = given(scale=None if layer.scale is None else number(layer.scale))
    arguments = {"count": int(layer.k), "size": int(layer.dim), **scale}
    return Call("KMeans", arguments, 2, weights(layer, "weight"))


@rule("nn.CategoricalEntropy")
def entropy_penalty(layer: Any, around: Any) -> Call:
    bound = None if layer.minEntropy is None else number(layer.minEntropy)
    return Call("EntropyPenalty", {"scale": number(layer.scale), **given(bound=bound)})


@rule("nn.SpatialBinaryConvolution")
def binary_convolution(layer: Any, around: Any) -> Call:
    made = convolution(layer, "HW")
    made.function = "BinaryConv2d"
    return made


def drawing(helper: str) -> Any:
    def constructor(layer: Any, around: Any) -> Call:
        options = given(always=True if layer.stochastic else None)
        if helper == "DrawNormal":
            if isinstance(layer.stdev, Tensor):
                raise Cannot("its deviation is a tensor")
            options = given(std=None if layer.stdev is None else number(layer.stdev)) | options
        return Call(helper, options)

    return constructor


rule("nn.ReinforceBernoulli")(drawing("DrawBernoulli"))
rule("nn.ReinforceCategorical")(drawing("DrawCategorical"))
rule("nn.ReinforceNormal")(drawing("DrawNormal"))


# ---- nnx, inn ----


@rule("nn.Minus")
def minus(layer: Any, around: Any) -> Call:
    return Call("Minus", code="-{0}")


@rule("nn.Probe", "nn.Tic", "nn.Toc", "w2nn.Print", "w2nn.PrintTable")
def watcher(layer: Any, around: Any) -> Call:
    return Call("nn.Identity", code="{0}")


@rule("nn.MultiSoftMax")
def last_softmax(layer: Any, around: Any) -> Call:
    return Call("nn.Softmax", {"dim": -1})


@rule("nn.SpatialLinear")
def linear_per_place(layer: Any, around: Any) -> Call:
    outputs, inputs = layer.weight.shape
    arguments = {"in_channels": inputs, "out_channels": outputs, "kernel_size": 1}
    form = reshaped(outputs, inputs, 1, 1)
    return Call("nn.Conv2d", arguments, 2, weights(layer, "weight", "bias", form=form))


@rule("nn.SpatialClassifier")
def per_place(layer: Any, around: Any) -> Call:
    return Call("PerPlace", {"layer": around.call(layer.modules[0])}, 1)


@rule("nn.SpatialNormalization")
def local_norm(layer: Any, around: Any) -> Call:
    is_split = nested.is_table(layer.kernel)
    kernels = nested.elements(layer.kernel) if is_split else [layer.kernel]
    held = tuple(Weight(f"kernel{i}", (kernel,)) for i, kernel in enumerate(kernels))
    arguments = {f"size{i}": tuple(kernel.shape) for i, kernel in enumerate(kernels)}
    options = given(threshold=number(layer.fixedThres) if layer.fixedThres else None)
    return Call("LocalNorm", {**arguments, **options}, len(arguments), held)


@rule("inn.MeanSubtraction")
def mean_subtraction(layer: Any, around: Any) -> Call:
    mean = layer.mean.select(0, 0) if layer.mean.ndim == 4 else layer.mean
    shape = {f"size{i}": n for i, n in enumerate(mean.shape)}
    return Call("MeanSubtraction", shape, len(shape), (Weight("mean", (mean,)),))


@rule("inn.ConstAffine", "nn.SpatialConstDiagonal")
def fixed_affine(layer: Any, around: Any) -> Call:
    held = (Weight("factor", (layer.a,)), Weight("shift", (layer.b,)))
    return Call("FixedAffine", {"planes": layer.a.numel()}, 1, held)


# ---- stn ----


@rule("nn.AffineGridGeneratorBHWD")
def affine_grid(layer: Any, around: Any) -> Call:
    return Call("AffineGrid", {"height": int(layer.height), "width": int(layer.width)}, 2)


@rule("nn.BilinearSamplerBHWD")
def grid_sampler(layer: Any, around: Any) -> Call:
    return Call("GridSampler")


@rule("nn.AffineTransformMatrixGenerator")
def affine_matrix(layer: Any, around: Any) -> Call:
    names = {"rotation": "useRotation", "scale": "useScale", "translation": "useTranslation"}
    return Call("AffineMatrix", {new: True for new, old in names.items() if getattr(layer, old)})


# ---- cudnn ----

RECURRENT = {
    "CUDNN_LSTM": ("LSTM", {}),
    "CUDNN_GRU": ("GRU", {}),
    "CUDNN_RNN_TANH": ("RNN", {}),
    "CUDNN_RNN_RELU": ("RNN", {"nonlinearity": "relu"}),
}


@rule(
    "cudnn.RNN",
    "cudnn.RNNReLU",
    "cudnn.RNNTanh",
    "cudnn.LSTM",
    "cudnn.GRU",
    "cudnn.BLSTM",
    "cudnn.BGRU",
)
def cudnn_recurrent(layer: Any, around: Any) -> Call:
    if layer.inputMode == "CUDNN_SKIP_INPUT":
        raise Cannot("its first layer has no weights for the input (CUDNN_SKIP_INPUT)")
    if layer.rememberStates:
        raise Cannot("it begins a sequence where the one before ended (rememberStates)")
    helper, arguments, held = cudnn_parts(layer)
    return Call(helper, arguments, 2, held)


def cudnn_parts(layer: Any) -> tuple[str, dict[str, Any], tuple[Weight, ...]]:
    """The helper, its arguments and its tensors for a recurrent network of cudnn."""
    layout = layer._layout(layer.weight)
    helper, kind = RECURRENT[layer.mode]
    arguments = {
        "input_size": layout.inputs,
        "hidden_size": layout.hidden,
        **given(
            num_layers=layout.layers if layout.layers > 1 else None,
            batch_first=True if layer.batchFirst else None,
            dropout=number(layer.dropout) if layer.dropout else None,
            bidirectional=True if layout.directions == 2 else None,
        ),
        **kind,
    }
    parts = layout.unpack(layer.weight.detach().reshape((-1,)))
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    held = []
    for index, part in enumerate(parts):
        level, direction = divmod(index // 4, layout.directions)
        suffix = "_reverse" if direction else ""
        held.append(Weight(f"{names[index % 4]}_l{level}{suffix}", (part,)))
    return helper, arguments, tuple(held)


@rule("cudnn.SpatialBias")
def plane_bias(layer: Any, around: Any) -> Call:
    return Call("PlaneBias", {"planes": layer.bias.numel()}, 1, weights(layer, "bias"))


@rule("cudnn.VolumetricSoftMax", "cudnn.VolumetricLogSoftMax")
def volumetric_softmax(layer: Any, around: Any) -> Call:
    name = "nn.LogSoftmax" if "Log" in layer.torch_typename else "nn.Softmax"
    return Call(name, {"dim": -4})


# ---- torch-rnn ----


def sequence_layer(layer: Any, helper: str, states: int) -> Call:
    inputs, hidden = int(layer.input_dim), int(layer.hidden_dim)
    cell = gate_cell(helper, inputs, hidden, layer)
    sizes = {f"size{i}": hidden for i in range(states)}
    options = given(remembers=(True, True) if layer.remember_states else None)
    return Call("SequenceOf", {"cell": cell, **sizes, "batch_first": True, **options}, 1 + states)


@rule("torch_rnn:nn.LSTM")
def torch_rnn_lstm(layer: Any, around: Any) -> Call:
    return sequence_layer(layer, "StepLSTM", 2)


@rule("nn.VanillaRNN")
def vanilla(layer: Any, around: Any) -> Call:
    return sequence_layer(layer, "VanillaStep", 1)


@rule("nn.LanguageModel")
def language_model(layer: Any, around: Any) -> Call:
    modules = [m for m in layer.net.modules if m.torch_typename != "nn.View"]
    parts = {str(index): around.call(module) for index, module in enumerate(modules)}
    return Call("nn.Sequential", parts, len(parts))


@rule("nn.TemporalAdapter")
def per_step(layer: Any, around: Any) -> Call:
    return Call("PerStep", {"layer": around.call(layer.net.modules[1])}, 1)


# ---- single projects ----


@rule("nn.DenseConnectLayerCustom")
def dense_layer(layer: Any, around: Any) -> Call:
    names = ("first", "second")
    parts = {n: around.call(m) for n, m in zip(names, layer.modules, strict=False)}
    return Call("DenseLayer", parts, 2)


@rule("nn.InstanceNormalization")
def instance_norm(layer: Any, around: Any) -> Call:
    if layer.disabled:
        return Call("nn.Identity", code="{0}")
    options = given(
        eps=None if layer.eps == 1e-5 else number(layer.eps),
        affine=None if layer.weight is not None else False,
    )
    arguments = {"planes": int(layer.nOutput), **options}
    return Call("InstanceNorm", arguments, 1, weights(layer, "weight", "bias"))


@rule("inn.SpatialSameResponseNormalization")
def same_response(layer: Any, around: Any) -> Call | Code:
    return sequential(layer, around)
