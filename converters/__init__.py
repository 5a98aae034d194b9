"""Files: Torch7's own, and the formats that people use now."""

from __future__ import annotations

from relume.converters.errors import FileFormatError
from relume.converters.lua_function import LuaFunction
from relume.converters.t7 import load, load_all, loads
from relume.converters.table import Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import TorchObject
from relume.converters.weights import ConversionReport, convert

__all__ = [
    "ConversionReport",
    "FileFormatError",
    "LuaFunction",
    "Table",
    "TdsHash",
    "TdsVec",
    "TorchObject",
    "convert",
    "load",
    "load_all",
    "loads",
]
