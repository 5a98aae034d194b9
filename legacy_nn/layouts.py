"""Fields of files as today's layers expect them: old layouts are upgraded on load."""

from __future__ import annotations

from functools import cache
from typing import Any

from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.layout_changes import UPGRADES, Change, load_changes
from relume.legacy_nn.released_gradients import all_fields
from relume.legacy_nn.rnn import layouts as rnn_layouts
from relume.legacy_nn.types import GPU_TYPES, dtype_of, new_empty

# What changed, by class. Most defaults are class attributes already, so that a file that is
# written back stays as it was.
CHANGES: dict[str, list[Change]] = {}
for _change in load_changes({**UPGRADES, **rnn_layouts.UPGRADES}):
    CHANGES.setdefault(_change.typename, []).append(_change)
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


@cache
def changes_of(cls: type) -> tuple[Change, ...]:
    """What changed in a class and in those it is made from, the most special first."""
    names = [vars(base).get("torch_typename", "") for base in cls.__mro__]
    return tuple(change for name in names for change in CHANGES.get(name, ()))


def load_fields(module: Any, fields: dict) -> None:
    """Gives a module that a file described its fields, in today's layout."""
    fields = dict(fields)
    cls: Any = type(module)
    changes = changes_of(cls)
    for change in reversed(changes):  # those of the most general class first
        if change.upgrade is not None:
            change.upgrade(module, fields)
    for change in changes:
        if change.upgrade is None and fields.get(change.fields) is None:
            fields[change.fields] = change.default
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
        for name, value in all_fields(module).items()
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
        if isinstance(value, Tensor) and value.dtype != dtype and value.dtype.is_floating_point:
            fields[name] = (
                value.to(dtype) if value.numel() else new_empty(weights[0].torch_typename)
            )
