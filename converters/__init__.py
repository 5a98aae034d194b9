"""Files: Torch7's own, and the formats that people use now."""

from __future__ import annotations

from relume.converters.conversion import ConversionReport, convert
from relume.converters.errors import FileFormatError, UnwritableError
from relume.converters.formats import CannotConvert, Refusal
from relume.converters.lua_function import LuaFunction
from relume.converters.t7 import dumps, load, load_all, loads, save, save_all
from relume.converters.table import Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import TorchObject

__all__ = [
    "CannotConvert",
    "ConversionReport",
    "FileFormatError",
    "LuaFunction",
    "Refusal",
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
