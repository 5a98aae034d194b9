"""What changed in the fields of Torch7's classes, and when.

Files of older versions lack a field, or say the same in another way; loading gives them today's
fields, in memory. The changes are the rows of tables/layout_changes.json, whose dates are those of
the public repositories; here is what they call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn.formulas import load_table
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


UPGRADES: dict[str, Upgrade] = {
    upgrade.__name__: upgrade
    for upgrade in (
        padding_of_one_number,
        variance_from_std,
        add_target_buffers,
        count_view_elements,
        count_graph_inputs,
        negative_scale,
    )
}


def load_changes(upgrades: dict[str, Upgrade]) -> list[Change]:
    """The rows of tables/layout_changes.json, which Lua reads as well.

    Args:
        upgrades: what rows call by name.
    """
    return [
        Change(**{**row, "upgrade": upgrades[row["upgrade"]]} if "upgrade" in row else row)
        for row in load_table("layout_changes")
    ]
