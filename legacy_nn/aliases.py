"""Classes of other packages that are classes of `nn` under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume.legacy_nn import registry

# Other packages' names for layers of nn.
OTHER_NAMES = {
    "nn.SpatialConvolutionCUDA": "nn.SpatialConvolution",
    "nn.SpatialMaxPoolingCUDA": "nn.SpatialMaxPooling",
    "nn.SpatialConvolutionSparse": "nn.SpatialConvolutionMap",
    "nn.LinearTHNN": "nn.Linear",
    "nn.Linear_nobias": "nn.LinearNoBias",
    "inn.SpatialCrossResponseNormalization": "nn.SpatialCrossMapLRN",
    "nn.QDRiemaNNLinear": "nnx.QDRiemaNNLinear",
    "nn.IndividualDropout": "fbnn.IndividualDropout",
    "nn.L2Normalize": "fbnn.L2Normalize",
}

Conversion = Callable[[dict], None]


def make_alias(
    typename: str,
    target: type,
    conversion: Conversion | None = None,
    members: dict[str, Any] | None = None,
) -> type:
    """A class for another name of a class.

    Objects that are read become objects of the target class, which remember in `_origin` what
    they were; those that are made by calling the class keep its name.

    Args:
        typename: the other name.
        target: the class it stands for.
        conversion: changes the fields of a file to those of the target, in place.
        members: what the class has beside what it inherits, such as a constructor.
    """

    def _load_fields(self: Any, fields: dict, version: int | None = None) -> None:
        fields = dict(fields)
        if conversion is not None:
            conversion(fields)
        self.__class__ = target
        self._origin = typename
        self._load_fields(fields, version)

    _, _, name = typename.rpartition(".")
    own = {
        "_load_fields": _load_fields,
        "__doc__": target.__doc__,
        "__module__": __name__,
        "__slots__": (),
    }
    alias = type(name, (target,), {**own, **(members or {})})
    return registry.register(typename)(alias)


def round_up(fields: dict) -> None:
    """The poolings of imagine-nn count windows that stick out, and divide sums."""
    fields["ceil_mode"] = True
    fields["divide"] = fields["count_include_pad"] = True


def rounding_up(cls: Any) -> dict[str, Any]:
    """The constructor of such a pooling."""

    def __init__(self: Any, *arguments: Any) -> None:
        cls.__init__(self, *arguments)
        round_up(vars(self))

    return {"__init__": __init__}


def register_aliases() -> None:
    """Registers every alias whose target is known."""
    for name in ("SpatialMaxPooling", "SpatialAveragePooling"):
        cls: Any = registry.lookup(f"nn.{name}")
        make_alias(f"inn.{name}", cls, round_up, rounding_up(cls))
    for typename, target in OTHER_NAMES.items():
        cls = registry.lookup(target)
        if cls is not None and registry.lookup(typename) is None:
            make_alias(typename, cls)
