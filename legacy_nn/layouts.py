"""Fields of files as today's layers expect them: old layouts are upgraded on load.

`DEFAULTS` says, per class, what a field is when a file does not have it (most are class
attributes already, so that a file that is written back stays as it was). `UPGRADES` holds
functions for what takes more than a default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.rnn import layouts as rnn_layouts
from relume.legacy_nn.types import GPU_TYPES, dtype_of, new_empty

# The first SpatialAveragePooling gave sums; only later ones say `divide`.
DEFAULTS: dict[str, dict[str, Any]] = {
    "nn.Threshold": {"threshold": 1e-6, "val": 0, "inplace": False},
    "nn.ReLU": {"threshold": 0, "val": 0, "inplace": False},
    "nn.LeakyReLU": {"inplace": False},
    "nn.ELU": {"inplace": False},
    "nn.HardTanh": {"min_val": -1, "max_val": 1, "inplace": False},
    "nn.Sqrt": {"eps": 0},
    "nn.Replicate": {"dim": 1},
    "nn.Dropout": {"v2": False},
    "nn.SpatialMaxPooling": {"padW": 0, "padH": 0, "ceil_mode": False},
    "nn.SpatialAveragePooling": {
        "padW": 0,
        "padH": 0,
        "ceil_mode": False,
        "count_include_pad": True,
        "divide": False,
    },
    "nn.SpatialConvolution": {"padW": 0, "padH": 0},
    "nn.SpatialConvolutionMM": {"dW": 1, "dH": 1},
    "nn.SpatialFullConvolution": {"adjW": 0, "adjH": 0, "padW": 0, "padH": 0},
    "nn.TemporalMaxPooling": {"dW": 1},
    "nn.ClassNLLCriterion": {"ignoreIndex": -100, "sizeAverage": True},
    "nn.LookupTable": {"paddingValue": 0},
    "nn.BatchNormalization": {"affine": True, "eps": 1e-5, "momentum": 0.1},
    "nn.SpatialBatchNormalization": {"affine": True, "eps": 1e-5, "momentum": 0.1},
    "nn.Mean": {"sizeAverage": True, "squeeze": True},
    "nn.Sum": {"sizeAverage": False, "squeeze": True},
    "nn.MM": {"transA": False, "transB": False},
    "nn.Padding": {"value": 0, "index": 1},
}


def padding_of_one_number(layer: Any, fields: dict) -> None:
    """Old convolutions and poolings: `padding` for both directions."""
    padding = fields.get("padding")
    if padding is not None and not isinstance(padding, (Tensor, Table)):
        for name in ("padW", "padH"):
            if fields.get(name) is None:
                fields[name] = padding


def variance_from_std(layer: Any, fields: dict) -> None:
    """Old batch normalisation kept running_std = 1 / sqrt(var + eps)."""
    std = fields.pop("running_std", None)
    if std is not None and "running_var" not in fields:
        fields["running_var"] = 1 / (std * std) - fields.get("eps", 1e-5)


def add_target_buffers(layer: Any, fields: dict) -> None:
    """What a criterion of today has from its constructor."""
    typename = fields.get("_type") or "torch.DoubleTensor"
    dtype = dtype_of(typename)
    fields.setdefault("output_tensor", rl.zeros((1,), dtype=dtype))
    fields.setdefault("total_weight_tensor", rl.ones((1,), dtype=dtype))
    fields.setdefault("target", rl.zeros((1,), dtype=rl.int64))


def count_view_elements(layer: Any, fields: dict) -> None:
    """Old views had only their size."""
    if "numElements" not in fields and "size" in fields:
        from relume.legacy_nn.shape_layers import product
        from relume.legacy_nn.types import sizes_of

        fields["numElements"] = product(n for n in sizes_of(fields["size"]) if n >= 0)


def count_graph_inputs(layer: Any, fields: dict) -> None:
    """Old graphs do not say how many inputs they have: as many as the input node has children."""
    if "nInputs" not in fields and "innode" in fields:
        inner = fields["innode"]
        children = getattr(inner, "children", None)
        parts = list(children) if isinstance(children, Table) else []
        if len(parts) == 1:
            count = parts[0].data.get("nSplitOutputs")
            fields["nInputs"] = count if count is not None else 1
        else:
            fields["nInputs"] = max(1, len(parts))


def negative_scale(layer: Any, fields: dict) -> None:
    """The LeakyReLU of waifu2x, from before nn had one."""
    if fields.get("negval") is None and fields.get("negative_scale") is not None:
        fields["negval"] = fields["negative_scale"]


# Per class, and all classes below it: what to do with the fields of a file.
UPGRADES: dict[str, list[Callable[[Any, dict], None]]] = {
    "nn.SpatialConvolution": [padding_of_one_number],
    "nn.SpatialFullConvolution": [padding_of_one_number],
    "nn.SpatialMaxPooling": [padding_of_one_number],
    "nn.SpatialAveragePooling": [padding_of_one_number],
    "nn.BatchNormalization": [variance_from_std],
    "nn.LeakyReLU": [negative_scale],
    "nn.ClassNLLCriterion": [add_target_buffers],
    "nn.View": [count_view_elements],
    "nn.gModule": [count_graph_inputs],
    **rnn_layouts.UPGRADES,
}
# Fields that Torch7 writes only when they are something else.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "nn.Repeater": {"_remember": "neither"},
    "nn.SpatialClassNLLCriterion": {"ignoreIndex": -100},
}
# Fields that are lists of modules or numbers in Python and tables in Lua.
LISTS = ("modules", "criterions", "permutations")
# Where a layer keeps tensors whose type decides the type of the whole layer.
PARAMETERS = ("weight", "bias", "running_mean", "running_var")
BUFFERS = ("output", "gradInput", "gradWeight", "gradBias", "running_mean", "running_var")


def load_fields(module: Any, fields: dict) -> None:
    """Gives a module that a file described its fields, in today's layout."""
    fields = dict(fields)
    for cls in reversed(type(module).__mro__):
        name = vars(cls).get("torch_typename", "")
        for upgrade in UPGRADES.get(name, ()):
            upgrade(module, fields)
    for cls in type(module).__mro__:
        for name, value in DEFAULTS.get(vars(cls).get("torch_typename", ""), {}).items():
            if fields.get(name) is None:
                fields[name] = value
    for name in LISTS:
        if isinstance(fields.get(name), Table):
            fields[name] = list(fields[name])
    unify_types(fields, says_type=not isinstance(module, Criterion))
    functions = {
        name: (position, value)
        for position, (name, value) in enumerate(fields.items())
        if shadows_method(module, name, value)
    }
    for name in functions:
        del fields[name]
    if functions:
        module._lua_functions = functions
    module.__dict__.update(fields)


def saved_fields(module: Any) -> dict:
    """The fields of a module as a file has them, in the order in which they came."""
    left_out = dict(LEFT_OUT.get(type(module).torch_typename, {}))
    if isinstance(module, Criterion):  # they do not say their type
        left_out["_type"] = module.__dict__.get("_type")
    fields = [
        (name, value)
        for name, value in vars(module).items()
        if value is not None and not (name in left_out and value == left_out[name])
    ]
    for name, (position, function) in (module._lua_functions or {}).items():
        fields.insert(position, (name, function))
    return dict(fields)


def shadows_method(module: Any, name: Any, value: Any) -> bool:
    """A Lua function that a file has in the place of a method: kept, but not called."""
    return (
        isinstance(name, str)
        and type(value).__name__ == "LuaFunction"
        and callable(getattr(type(module), name, None))
    )


def unify_types(fields: dict, says_type: bool) -> None:
    """All floating tensors of a layer get the type of its parameters (stripped files may mix)."""
    typename = fields.get("_type")
    if typename in GPU_TYPES:
        fields["_type"] = GPU_TYPES[typename]
    weights = [fields[n] for n in PARAMETERS if isinstance(fields.get(n), Tensor)]
    if not weights:
        return
    dtype = weights[0].dtype
    if says_type and ("_type" not in fields or dtype_of(fields["_type"]) != dtype):
        fields["_type"] = weights[0].torch_typename
    for name in BUFFERS:
        value = fields.get(name)
        if isinstance(value, Tensor) and value.dtype != dtype and value.dtype in FLOATING:
            fields[name] = (
                value.to(dtype) if value.numel() else new_empty(weights[0].torch_typename)
            )


FLOATING = frozenset([rl.float64, rl.float32, rl.float16])
