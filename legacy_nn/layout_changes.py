"""What changed in the fields of Torch7's classes, and when.

Files of older versions lack a field, or say the same in another way; loading gives them today's
fields, in memory. The dates are those of the public repositories.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn.types import dtype_of, sizes_of

Upgrade = Callable[[Any, dict], None]


class Change(NamedTuple):
    """One change in the fields of a class, and of all classes below it.

    Attributes:
        typename: the class.
        since: year and month from which on files have `fields`.
        fields: the names of what is new.
        default: what older files mean, for one field that needs no more than that.
        upgrade: changes the fields of an older file, in place, given the module and its fields.
    """

    typename: str
    since: str
    fields: str
    default: Any = None
    upgrade: Upgrade | None = None


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
        fields["numElements"] = math.prod(n for n in sizes_of(fields["size"]) if n >= 0)


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


CHANGES = [
    Change("nn.BatchNormalization", "2015-03", "affine", True),
    Change("nn.BatchNormalization", "2015-03", "eps", 1e-05),
    Change("nn.BatchNormalization", "2015-03", "momentum", 0.1),
    Change("nn.BatchNormalization", "2016-02", "running_var", upgrade=variance_from_std),
    Change("nn.ClassNLLCriterion", "2012-01", "sizeAverage", True),
    Change(
        "nn.ClassNLLCriterion",
        "2015-08",
        "output_tensor, total_weight_tensor, target",
        upgrade=add_target_buffers,
    ),
    Change("nn.ClassNLLCriterion", "2017-05", "ignoreIndex", -100),
    Change("nn.Dropout", "2014-07", "v2", False),
    Change("nn.ELU", "2016-03", "inplace", False),
    Change("nn.HardTanh", "2015-09", "min_val", -1),
    Change("nn.HardTanh", "2015-09", "max_val", 1),
    Change("nn.HardTanh", "2016-06", "inplace", False),
    Change("nn.LeakyReLU", "2015-10", "negval", upgrade=negative_scale),
    Change("nn.LeakyReLU", "2015-10", "inplace", False),
    Change("nn.LookupTable", "2016-02", "paddingValue", 0),
    Change("nn.MM", "2015-01", "transA", False),
    Change("nn.MM", "2015-01", "transB", False),
    Change("nn.Mean", "2016-01", "sizeAverage", True),
    Change("nn.Mean", "2017-01", "squeeze", True),
    Change("nn.Padding", "2015-03", "value", 0),
    Change("nn.Padding", "2016-02", "index", 1),
    Change("nn.ReLU", "2014-07", "threshold", 0),
    Change("nn.ReLU", "2014-07", "val", 0),
    Change("nn.ReLU", "2015-03", "inplace", False),
    Change("nn.Replicate", "2015-04", "dim", 1),
    # The first averages were sums.
    Change("nn.SpatialAveragePooling", "2015-03", "divide", False),
    Change("nn.SpatialAveragePooling", "2015-09", "padW, padH", upgrade=padding_of_one_number),
    Change("nn.SpatialAveragePooling", "2015-09", "padW", 0),
    Change("nn.SpatialAveragePooling", "2015-09", "padH", 0),
    Change("nn.SpatialAveragePooling", "2015-09", "ceil_mode", False),
    Change("nn.SpatialAveragePooling", "2015-09", "count_include_pad", True),
    Change("nn.SpatialConvolution", "2015-06", "padW, padH", upgrade=padding_of_one_number),
    Change("nn.SpatialConvolution", "2015-06", "padW", 0),
    Change("nn.SpatialConvolution", "2015-06", "padH", 0),
    Change("nn.SpatialConvolutionMM", "2012-09", "dW", 1),
    Change("nn.SpatialConvolutionMM", "2012-09", "dH", 1),
    Change("nn.SpatialFullConvolution", "2015-12", "padW, padH", upgrade=padding_of_one_number),
    Change("nn.SpatialFullConvolution", "2015-12", "padW", 0),
    Change("nn.SpatialFullConvolution", "2015-12", "padH", 0),
    Change("nn.SpatialFullConvolution", "2016-01", "adjW", 0),
    Change("nn.SpatialFullConvolution", "2016-01", "adjH", 0),
    Change("nn.SpatialMaxPooling", "2015-06", "padW, padH", upgrade=padding_of_one_number),
    Change("nn.SpatialMaxPooling", "2015-06", "padW", 0),
    Change("nn.SpatialMaxPooling", "2015-06", "padH", 0),
    Change("nn.SpatialMaxPooling", "2015-06", "ceil_mode", False),
    Change("nn.Sqrt", "2012-02", "eps", 0),
    Change("nn.Sum", "2016-01", "sizeAverage", False),
    Change("nn.Sum", "2017-01", "squeeze", True),
    Change("nn.TemporalMaxPooling", "2012-07", "dW", 1),
    Change("nn.Threshold", "2012-01", "threshold", 1e-06),
    Change("nn.Threshold", "2012-01", "val", 0),
    Change("nn.Threshold", "2015-03", "inplace", False),
    Change("nn.View", "2014-06", "numElements", upgrade=count_view_elements),
    Change("nn.gModule", "2014-02", "nInputs", upgrade=count_graph_inputs),
]
