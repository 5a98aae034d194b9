"""Files: Torch7's own, and the formats that people use now."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from relume.converters.errors import FileFormatError, UnwritableError
from relume.converters.formats import CannotConvert, Refusal
from relume.converters.loading import load
from relume.converters.lua_function import LuaFunction
from relume.converters.t7 import dumps, load_all, loads, save, save_all
from relume.converters.table import Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import TorchObject

if TYPE_CHECKING:
    from relume.converters.comparison import compare
    from relume.converters.conversion import convert
    from relume.converters.proof.report import ComparisonReport, ConversionReport, ProofFailed

__all__ = [
    "CannotConvert",
    "ComparisonReport",
    "ConversionReport",
    "FileFormatError",
    "LuaFunction",
    "ProofFailed",
    "Refusal",
    "Table",
    "TdsHash",
    "TdsVec",
    "TorchObject",
    "UnwritableError",
    "compare",
    "convert",
    "dumps",
    "load",
    "load_all",
    "loads",
    "save",
    "save_all",
]

# What needs the layers, which need this package themselves.
_LATER = {
    "ComparisonReport": "proof.report",
    "ConversionReport": "proof.report",
    "ProofFailed": "proof.report",
    "compare": "comparison",
    "convert": "conversion",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
