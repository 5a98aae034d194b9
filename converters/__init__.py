"""Files: Torch7's own, and the formats that people use now."""

from __future__ import annotations

from relume.converters.errors import FileFormatError, UnwritableError
from relume.converters.lua_function import LuaFunction
from relume.converters.t7 import dumps, load, load_all, loads, save, save_all
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
    "UnwritableError",
    "convert",
    "dumps",
    "load",
    "load_all",
    "loads",
    "save",
    "save_all",
]
