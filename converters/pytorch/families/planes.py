"""Padding, resizing, unpooling and local contrast of planes and volumes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relume import from_numpy
from relume.converters.pytorch.families.fields import number
from relume.converters.pytorch.layers import Call, Cannot, Form, Weight
from relume.converters.pytorch.rules import rule


def sides(layer: Any, *names: str) -> tuple[int, ...]:
    return tuple(int(getattr(layer, name)) for name in names)


PLANE_SIDES = ("pad_l", "pad_r", "pad_t", "pad_b")

# Rows: old class, new class, the fields with the sides.
PADDINGS = [
    ("nn.SpatialReflectionPadding", "nn.ReflectionPad2d", PLANE_SIDES),
    ("nn.SpatialReplicationPadding", "nn.ReplicationPad2d", PLANE_SIDES),
    (
        "nn.VolumetricReplicationPadding",
        "nn.ReplicationPad3d",
        ("pleft", "pright", "ptop", "pbottom", "pfront", "pback"),
    ),
    ("nn.SpatialZeroPadding", "nn.ZeroPad2d", PLANE_SIDES),
]


def add_padding(old: str, new: str, names: tuple[str, ...]) -> None:
    def constructor(layer: Any, around: Any) -> Call:
        counts = sides(layer, *names)
        padding: Any = counts[0] if len(set(counts)) == 1 else counts
        return Call(new, {"padding": padding}, 1)

    rule(old)(constructor)


for _row in PADDINGS:
    add_padding(*_row)


@rule("nn.SpatialPadding")
def constant_padding(layer: Any, around: Any) -> Call:
    if (layer.y_dim, layer.x_dim) != (2, 3):
        raise Cannot("it pads other dimensions than the last two")
    names = ("left", "right", "top", "bottom")
    arguments: dict[str, Any] = dict(zip(names, sides(layer, *PLANE_SIDES), strict=True))
    if layer.val:
        arguments["value"] = float(layer.val)
    return Call("CropOrPad2d", arguments, 4)


# ---- other sizes ----


@rule("nn.SpatialUpSamplingNearest")
def nearest(layer: Any, around: Any) -> Call:
    return Call("RepeatUpsample", {"factor": int(layer.scale_factor)}, 1)


def new_size(layer: Any, *names: str) -> dict[str, Any]:
    """The factor of a resizing layer, or the size that it makes."""
    factor = layer.__dict__.get("scale_factor")
    return {"factor": number(factor)} if factor else {"size": sides(layer, *names)}


@rule("nn.SpatialUpSamplingBilinear")
def bilinear(layer: Any, around: Any) -> Call:
    return Call("LinearUpsample", {**new_size(layer, "oheight", "owidth"), "dims": 2})


@rule("nn.UpSampling")
def up_sampling(layer: Any, around: Any) -> Call:
    helper = "UpsampleAny" if layer.mode == "nearest" else "LinearUpsample"
    return Call(helper, new_size(layer, "odepth", "oheight", "owidth"))


@rule("nn.PixelShuffle")
def pixel_shuffle(layer: Any, around: Any) -> Call:
    return Call("nn.PixelShuffle", {"upscale_factor": int(layer.upscaleFactor)}, 1)


@rule("nn.SpatialMaxUnpooling", "nn.VolumetricMaxUnpooling")
def unpooling(layer: Any, around: Any) -> Call:
    dims = 3 if "Volumetric" in layer.torch_typename else 2
    return around.builder.linked(Call("MaxUnpool", {"dims": dims}, 1), "pool", layer.pooling)


def one_per_plane(planes: int) -> Form:
    """One number per plane; the first layout has the same one many times."""
    return Form(
        lambda arrays: arrays[0].reshape(planes, -1)[:, 0],
        lambda array, shapes: [np.repeat(array, math.prod(shapes[0]) // planes).reshape(shapes[0])],
    )


@rule("nn.SpatialSubSampling")
def sub_sampling(layer: Any, around: Any) -> Call:
    planes = int(layer.nInputPlane)
    arguments = {
        "planes": planes,
        "kernel_size": (int(layer.kH), int(layer.kW)),
        "stride": (int(layer.dH), int(layer.dW)),
    }
    held = (Weight("weight", (layer.weight,), one_per_plane(planes)), Weight("bias", (layer.bias,)))
    return Call("SubSampling", arguments, 1, held)


# ---- local contrast ----


def kernel_of(estimator: Any) -> Any:
    """The weights of a neighbourhood, as a matrix, from the layers that compute the mean."""
    steps = [m for m in estimator.modules if hasattr(m, "kW") and m.weight is not None]
    kernels = [np.asarray(step.weight.detach().numpy()) for step in steps]
    if len(steps) == 1:
        return kernels[0].reshape(-1, int(steps[0].kH), int(steps[0].kW))[0]
    row = kernels[0].reshape(-1, int(steps[0].kW))[0]
    column = kernels[1].reshape(-1, int(steps[1].kH))[0]
    return np.outer(column, row)


def neighbourhood_weight(name: str, estimator: Any) -> Weight:
    return Weight(name, (from_numpy(kernel_of(estimator).copy()),))


@rule("nn.SpatialSubtractiveNormalization")
def subtractive(layer: Any, around: Any) -> Call:
    kernel = neighbourhood_weight("kernel", layer.meanestimator)
    return Call("SubtractiveNorm", {"kernel_size": kernel.tensors[0].shape}, 1, (kernel,))


@rule("nn.SpatialDivisiveNormalization")
def divisive(layer: Any, around: Any) -> Call:
    kernel = neighbourhood_weight("kernel", layer.stdestimator)
    mean = neighbourhood_weight("mean_kernel", layer.meanestimator)
    arguments = {
        "kernel_size": kernel.tensors[0].shape,
        "threshold": number(layer.threshold),
        "value": number(layer.thresval),
    }
    return Call("DivisiveNorm", arguments, 1, (kernel, mean))


@rule("nn.SpatialContrastiveNormalization")
def contrastive(layer: Any, around: Any) -> Call:
    return around.call(layer.normalizer)


@rule("nn.SpatialLPPooling")
def lp_pooling(layer: Any, around: Any) -> Any:
    from relume.converters.pytorch.families.containers import sequential

    if not layer.modules:
        raise Cannot("it is empty")
    return sequential(layer, around)
