"""Which class of `nn` each class of cudnn is, and what differs in fields and constructors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from relume import Tensor
from relume.legacy_nn import registry
from relume.legacy_nn.aliases import make_alias
from relume.legacy_nn.normalization import WHOLE_SAMPLES
from relume.legacy_nn.types import new_parameter

# Fields of cudnn that say how the GPU did it, not what it computed.
GPU_FIELDS = (
    "nElem",
    "iSize",
    "iDesc",
    "oDesc",
    "oDescForBias",
    "weightDesc",
    "biasDesc",
    "convDesc",
    "poolDesc",
    "LRNDesc",
    "input_slice",
    "output_slice",
    "input_offset",
    "output_offset",
    "weight_offset",
    "extraBuffer",
    "scaleT",
    "algorithm",
    "algType",
    "fmode",
    "bdmode",
    "bwmode",
    "fwdAlgType",
    "bwdDataAlgType",
    "bwdFilterAlgType",
    "fastest_mode",
    "workspace_limit",
    "iteration",
    "__iteration",
)

# ---- fields of a file -> fields of nn ----


def drop_gpu_fields(fields: dict) -> None:
    """Removes what only a GPU needs; a mode that changes numbers stays."""
    for name in GPU_FIELDS:
        fields.pop(name, None)
    if fields.get("mode") != WHOLE_SAMPLES and isinstance(fields.get("mode"), str):
        del fields["mode"]


def reshape_weights(names: tuple[str, ...]) -> Callable[[dict], None]:
    """Some files have weights in one row; nn keeps them as planes x planes x kernel.

    Args:
        names: the fields that are the sizes of the weights; planes of the second are per group.
    """

    def convert(fields: dict) -> None:
        weight, groups = fields.get("weight"), int(fields.get("groups") or 1)
        if not isinstance(weight, Tensor) or any(fields.get(name) is None for name in names):
            return
        shape = [int(fields[name]) for name in names]
        shape[1] //= groups
        for name in ("weight", "gradWeight"):
            value = fields.get(name)
            if isinstance(value, Tensor) and value.numel() == weight.numel():
                is_right = tuple(value.shape) == tuple(shape)
                fields[name] = value if is_right else value.reshape(tuple(shape))

    return convert


def average_by_mode(fields: dict) -> None:
    """cudnn's average pooling says by `mode` whether padding counts."""
    fields.setdefault("divide", True)
    mode = fields.get("mode")
    if isinstance(mode, str) and "AVERAGE" in mode:
        fields["count_include_pad"] = "EXCLUDE" not in mode


def bounds_from_ceiling(fields: dict) -> None:
    """ClippedReLU(ceiling) is HardTanh(0, ceiling)."""
    fields["min_val"] = 0
    fields["max_val"] = fields.get("ceiling", 6)


def small_k(fields: dict) -> None:
    """The first versions of cudnn's normalisations called k by a capital."""
    if fields.get("K") is not None:
        fields["k"] = fields.pop("K")


def scaled_in_training(fields: dict) -> None:
    """cudnn's dropout scales in training, as the second version of nn's does."""
    fields["v2"] = True


def frames_from_planes(fields: dict) -> None:
    """cudnn convolves sequences as planes of one column: its height is the time."""
    fields["kW"], fields["dW"] = fields.get("kH", 1), fields.get("dH", 1)
    weight, frame = fields.get("weight"), fields.get("outputFrameSize")
    if isinstance(weight, Tensor) and weight.ndim != 2 and frame is not None:
        fields["weight"] = weight.reshape((int(frame), -1))


# ---- constructors that differ from those of nn ----


def init_convolution(
    self: Any,
    nInputPlane: int,
    nOutputPlane: int,
    kW: int,
    kH: int,
    dW: int | None = None,
    dH: int | None = None,
    padW: int | None = None,
    padH: int | None = None,
    groups: int | None = None,
) -> None:
    """(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, groups)"""
    self._nn_class.__init__(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW or 0, padH or 0)
    self.groups = groups or 1
    if nInputPlane % self.groups or nOutputPlane % self.groups:
        raise ValueError(
            f"{self.torch_typename}: {self.groups} groups must divide nInputPlane "
            f"({nInputPlane}) and nOutputPlane ({nOutputPlane})"
        )
    if self.groups > 1:
        shape = (nOutputPlane, nInputPlane // self.groups, kH, kW)
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.reset()


def init_volumetric(
    self: Any,
    nInputPlane: int,
    nOutputPlane: int,
    kT: int,
    kW: int,
    kH: int,
    dT: int | None = None,
    dW: int | None = None,
    dH: int | None = None,
    padT: int | None = None,
    padW: int | None = None,
    padH: int | None = None,
) -> None:
    """(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)"""
    pads = (padT or 0, padW or 0, padH or 0)
    self._nn_class.__init__(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, *pads)


def init_average_pooling(
    self: Any,
    kW: int,
    kH: int,
    dW: int | None = None,
    dH: int | None = None,
    padW: int | None = None,
    padH: int | None = None,
) -> None:
    """(kW, kH, dW, dH, padW, padH): steps are the size of the window by default."""
    self._nn_class.__init__(
        self, kW, kH, kW if dW is None else dW, kH if dH is None else dH, padW, padH
    )


def init_volumetric_pooling(
    self: Any,
    kT: int,
    kW: int,
    kH: int,
    dT: int | None = None,
    dW: int | None = None,
    dH: int | None = None,
    padT: int | None = None,
    padW: int | None = None,
    padH: int | None = None,
) -> None:
    """(kT, kW, kH, dT, dW, dH, padT, padW, padH)"""
    self._nn_class.__init__(self, kT, kW, kH, dT, dW, dH)
    self.padT, self.padW, self.padH = padT or 0, padW or 0, padH or 0


def init_clipped(self: Any, ceiling: float, inplace: bool = False) -> None:
    """(ceiling, inplace)"""
    self._nn_class.__init__(self, 0, ceiling, inplace)
    self.ceiling = ceiling


def init_normalization(
    self: Any,
    size: int = 5,
    alpha: float | None = None,
    beta: float | None = None,
    k: float | None = None,
) -> None:
    """(size, alpha, beta, k)"""
    self._nn_class.__init__(self, size, alpha, beta, k)


def init_temporal(
    self: Any,
    inputFrameSize: int,
    outputFrameSize: int,
    kH: int,
    dH: int | None = None,
    padH: int | None = None,
) -> None:
    """(inputFrameSize, outputFrameSize, kH, dH, padH)"""
    self._nn_class.__init__(self, inputFrameSize, outputFrameSize, kH, dH)
    self.padH = padH or 0


def init_soft_maximum(self: Any, fast: bool = False) -> None:
    """(fast): how the GPU does it."""
    self._nn_class.__init__(self)


def init_soft_maximum_of_samples(self: Any, fast: bool = False) -> None:
    """(fast): how the GPU does it. Planes and their places sum to one together."""
    self._nn_class.__init__(self)
    self.mode = WHOLE_SAMPLES


# ---- the table ----


class Row(NamedTuple):
    """A class of cudnn.

    Attributes:
        name: its name in cudnn.
        target: its name in nn, when that is another.
        conversion: makes its fields those of nn.
        constructor: when it takes other arguments.
    """

    name: str
    target: str | None = None
    conversion: Callable[[dict], None] | None = None
    constructor: Callable[..., None] | None = None


PLANES = ("nOutputPlane", "nInputPlane", "kH", "kW")
VOLUMES = ("nOutputPlane", "nInputPlane", "kT", "kH", "kW")
ROWS = [
    Row("ReLU"),
    Row("ReLUInPlace", "ReLU", lambda fields: fields.update(inplace=True)),
    Row("Tanh"),
    Row("Sigmoid"),
    Row("ClippedReLU", "HardTanh", bounds_from_ceiling, init_clipped),
    Row("SoftMax", None, None, init_soft_maximum_of_samples),
    Row("LogSoftMax", None, None, init_soft_maximum_of_samples),
    Row("SpatialSoftMax", None, None, init_soft_maximum),
    Row("SpatialLogSoftMax", None, None, init_soft_maximum),
    Row("SpatialConvolution", None, reshape_weights(PLANES), init_convolution),
    Row("SpatialDilatedConvolution", None, reshape_weights(PLANES)),
    Row("SpatialFullConvolution"),
    # one that a project (facebook/eyescream) derived
    Row("SpatialConvolutionUpsample", None, reshape_weights(PLANES)),
    Row("TemporalConvolution", None, frames_from_planes, init_temporal),
    Row("VolumetricConvolution", None, reshape_weights(VOLUMES), init_volumetric),
    Row("VolumetricDilatedConvolution", None, reshape_weights(VOLUMES)),
    Row("VolumetricFullConvolution"),
    # two that a project derived, with another start for their weights
    Row("normal3DConv", "VolumetricConvolution", reshape_weights(VOLUMES), init_volumetric),
    Row("normal3DdeConv", "VolumetricFullConvolution"),
    Row("SpatialMaxPooling"),
    Row("SpatialAveragePooling", None, average_by_mode, init_average_pooling),
    Row("VolumetricMaxPooling"),
    Row("VolumetricAveragePooling", None, average_by_mode, init_volumetric_pooling),
    Row("SpatialCrossMapLRN", None, small_k, init_normalization),
    Row("SpatialDivisiveNormalization", "SpatialCrossMapLRN", small_k, init_normalization),
    Row("BatchNormalization"),
    Row("SpatialBatchNormalization"),
    Row("VolumetricBatchNormalization"),
    Row("Dropout", None, scaled_in_training),
]


def register_names() -> None:
    """Registers every class of cudnn whose counterpart in nn is there."""
    for row in ROWS:
        target = registry.lookup(f"nn.{row.target or row.name}")
        if target is not None:
            make_alias(f"cudnn.{row.name}", target, conversion_of(row), members_of(row, target))


def conversion_of(row: Row) -> Callable[[dict], None]:
    def convert(fields: dict) -> None:
        if row.conversion is not None:
            row.conversion(fields)
        drop_gpu_fields(fields)

    return convert


def members_of(row: Row, target: type) -> dict[str, Any]:
    members: dict[str, Any] = {"_nn_class": target}
    if row.constructor is not None:
        members["__init__"] = row.constructor
        members["__doc__"] = f"`nn.{target.__name__}`. Arguments: {row.constructor.__doc__}"
    return members
