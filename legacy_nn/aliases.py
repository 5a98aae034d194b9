"""Classes of GPU packages as classes of `nn`: a table of names, and what differs in fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.legacy_nn import registry

# cudnn class -> nn class; those not listed have the same name in both.
RENAMED = {
    "ClippedReLU": "HardTanh",
    "SpatialCrossEntropyCriterion": "SpatialCrossEntropyCriterion",
    "VolumetricCrossEntropyCriterion": "VolumetricCrossEntropyCriterion",
}
SAME_NAME = [
    "ReLU",
    "Tanh",
    "Sigmoid",
    "SoftMax",
    "LogSoftMax",
    "SpatialSoftMax",
    "SpatialLogSoftMax",
    "SpatialConvolution",
    "SpatialFullConvolution",
    "SpatialMaxPooling",
    "SpatialAveragePooling",
    "SpatialCrossMapLRN",
    "BatchNormalization",
    "SpatialBatchNormalization",
    "VolumetricBatchNormalization",
    "VolumetricConvolution",
    "VolumetricFullConvolution",
    "VolumetricMaxPooling",
    "VolumetricAveragePooling",
    "VolumetricSoftMax",
    "VolumetricLogSoftMax",
    "TemporalConvolution",
]
# Other packages' names for layers of nn.
OTHER_NAMES = {
    "nn.SpatialConvolutionCUDA": "nn.SpatialConvolution",
    "nn.SpatialMaxPoolingCUDA": "nn.SpatialMaxPooling",
    "nn.SpatialConvolutionSparse": "nn.SpatialConvolutionMap",
    "nn.Linear_nobias": "nn.LinearNoBias",
    "inn.SpatialMaxPooling": "nn.SpatialMaxPooling",
    "inn.SpatialAveragePooling": "nn.SpatialAveragePooling",
}
# Fields of cudnn that say how the GPU did it, not what it computed.
GPU_FIELDS = (
    "nElem",
    "iSize",
    "iDesc",
    "oDesc",
    "weightDesc",
    "biasDesc",
    "convDesc",
    "poolDesc",
    "input_offset",
    "output_offset",
    "weight_offset",
    "fmode",
    "bdmode",
    "bwmode",
    "fastest_mode",
    "workspace_limit",
)


def drop_gpu_fields(fields: dict) -> None:
    """Removes what only a GPU needs."""
    for name in GPU_FIELDS:
        fields.pop(name, None)
    if isinstance(fields.get("mode"), str):
        fields.pop("mode")


def convert_convolution(fields: dict) -> None:
    """cudnn declares some weights in one row; nn keeps them as planes x planes x kH x kW."""
    weight, groups = fields.get("weight"), fields.get("groups") or 1
    names = ("nOutputPlane", "nInputPlane", "kH", "kW")
    if not isinstance(weight, Tensor) or any(fields.get(name) is None for name in names):
        return
    outputs, inputs, height, width = (int(fields[name]) for name in names)
    shape = (outputs, inputs // int(groups), height, width)
    for name in ("weight", "gradWeight"):
        value = fields.get(name)
        if isinstance(value, Tensor) and value.numel() == weight.numel():
            fields[name] = value if tuple(value.shape) == shape else value.reshape(shape)


def convert_pooling(fields: dict) -> None:
    """cudnn's average pooling says by `mode` whether padding counts."""
    fields.setdefault("divide", True)
    mode = fields.get("mode")
    if isinstance(mode, str) and "AVERAGE" in mode:
        fields["count_include_pad"] = "EXCLUDE" not in mode


def convert_clipped_relu(fields: dict) -> None:
    """ClippedReLU(ceiling) is HardTanh(0, ceiling)."""
    fields["min_val"] = 0
    fields["max_val"] = fields.get("ceiling", 6)


CONVERSIONS: dict[str, Callable[[dict], None]] = {
    "cudnn.SpatialConvolution": convert_convolution,
    "cudnn.SpatialAveragePooling": convert_pooling,
    "cudnn.VolumetricAveragePooling": convert_pooling,
    "cudnn.ClippedReLU": convert_clipped_relu,
    "inn.SpatialAveragePooling": convert_pooling,
}


def make_alias(typename: str, target: type) -> type:
    """A class for readers: once it has its fields, an object is one of the target class, which
    remembers in `_origin` what it was."""

    def _load_fields(self: Any, fields: dict, version: int | None = None) -> None:
        fields = dict(fields)
        conversion = CONVERSIONS.get(typename)
        if conversion is not None:
            conversion(fields)
        drop_gpu_fields(fields)
        self.__class__ = target
        self._origin = typename
        self._load_fields(fields, version)

    alias = type(
        target.__name__,
        (target,),
        {
            "_load_fields": _load_fields,
            "__doc__": target.__doc__,
            "__module__": __name__,
            "__slots__": (),
        },
    )
    return registry.register(typename)(alias)


def register_aliases() -> None:
    """Registers every alias whose target is known."""
    pairs = {f"cudnn.{name}": f"nn.{name}" for name in SAME_NAME}
    pairs.update({f"cudnn.{old}": f"nn.{new}" for old, new in RENAMED.items()})
    pairs.update(OTHER_NAMES)
    for typename, target in pairs.items():
        cls = registry.lookup(target)
        if cls is not None and registry.lookup(typename) is None:
            make_alias(typename, cls)
