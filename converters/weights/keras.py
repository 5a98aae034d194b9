"""Names and orders of axes as Keras has them: kernels with the input's axis before the output's.

What Torch7 calls weight and bias is called kernel and bias, gamma and beta, ...; a convolution's
kernel is height, width, input, output. The description keeps Torch7's order, so that the network
can be made from such a file too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from relume.converters.errors import FileFormatError
from relume.converters.object_tree import walk
from relume.legacy_nn import registry

if TYPE_CHECKING:
    from relume.converters.weights.contents import Contents

__all__ = ["keras_layout", "torch_layout"]

Shape = tuple[int, ...]
KERAS = "keras"  # in a description: how the axes were moved, by name


@dataclass(frozen=True)
class Kind:
    """How the parameters of a kind of layer are called, and how its kernel lies.

    Attributes:
        names: Keras's name by Torch7's.
        axes: the order of the kernel's axes, by Torch7's.
        full_shape: the shape that `axes` is about, of a layer whose weight is kept flatter.
    """

    names: Mapping[str, str]
    axes: tuple[int, ...] = ()
    full_shape: Callable[[Any], Shape] | None = None


KERNEL = {"weight": "kernel", "bias": "bias"}
NORMALIZATION = Kind(
    {
        "weight": "gamma",
        "bias": "beta",
        "running_mean": "moving_mean",
        "running_var": "moving_variance",
    }
)
PLANE = Kind(KERNEL, (2, 3, 1, 0), lambda m: (m.nOutputPlane, m.nInputPlane, m.kH, m.kW))
# By Torch7's name of a class, for it and the classes made from it.
KINDS: dict[str, Kind] = {
    "nn.Linear": Kind(KERNEL, (1, 0)),
    "nn.SpatialConvolution": PLANE,
    "nn.SpatialConvolutionMM": PLANE,
    "nn.SpatialFullConvolution": Kind(KERNEL, (2, 3, 1, 0)),
    "nn.SpatialDepthWiseConvolution": Kind(
        {"weight": "depthwise_kernel", "bias": "bias"}, (2, 3, 1, 0)
    ),
    "nn.TemporalConvolution": Kind(
        KERNEL, (1, 2, 0), lambda m: (m.outputFrameSize, m.kW, m.inputFrameSize)
    ),
    "nn.VolumetricConvolution": Kind(KERNEL, (2, 3, 4, 1, 0)),
    "nn.VolumetricFullConvolution": Kind(KERNEL, (2, 3, 4, 1, 0)),
    "nn.BatchNormalization": NORMALIZATION,
    "nn.LayerNormalization": Kind({"weight": "gamma", "bias": "beta"}),
    "nn.LookupTable": Kind({"weight": "embeddings"}),
    "nn.PReLU": Kind({"weight": "alpha"}),
}


def kind_of(layer: Any) -> Kind | None:
    for cls in type(layer).__mro__:
        name = vars(cls).get("torch_typename", "")
        if name in KINDS and registry.lookup(name) is not None:
            return KINDS[name]
    return None


def keras_layout(contents: Contents, root: Any) -> Contents:
    """The contents with Keras's names and orders of axes."""
    renamed: dict[str, str] = {}
    moved: dict[str, dict[str, Any]] = {}
    arrays = dict(contents.arrays)
    for node in walk(root, skip_scratch=True):
        kind = kind_of(node.value)
        if kind is None or node.same_as is not None:
            continue
        for name, keras_name in kind.names.items():
            place = f"{node.path}." if node.path else ""
            path = f"{place}{name}"
            if path not in arrays or path in renamed:
                continue
            renamed[path] = f"{place}{keras_name}"
            if name == "weight" and kind.axes:
                array = arrays[path]
                full = array.reshape(
                    kind.full_shape(node.value) if kind.full_shape else array.shape
                )
                moved[renamed[path]] = {"axes": list(kind.axes), "shape": list(array.shape)}
                arrays[path] = full.transpose(kind.axes)
    names = {name: renamed.get(name, name) for name in arrays}
    description = json.loads(contents.description)
    for entry in description["objects"]:
        if entry.get("tensor") in renamed:
            entry["tensor"] = renamed[entry["tensor"]]
    description[KERAS] = moved
    return replace(
        contents,
        arrays={names[name]: array for name, array in arrays.items()},
        aliases={alias: names[name] for alias, name in contents.aliases.items()},
        description=json.dumps(description, separators=(",", ":")),
    )


def torch_layout(contents: Contents) -> Mapping[str, np.ndarray]:
    """The arrays of a file in Torch7's order of axes.

    Raises:
        FileFormatError: the description says something impossible.
    """
    try:
        moved = json.loads(contents.description).get(KERAS, {})
        arrays = dict(contents.arrays)
        for name, how in moved.items():
            back = np.argsort(how["axes"])
            arrays[name] = np.ascontiguousarray(arrays[name].transpose(back)).reshape(how["shape"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"the description of the axes is damaged: {error}") from error
    return arrays
