"""Lua beside Python, on the same tensors.

>>> import relume as rl
>>> lua = rl.bridge.Lua()
>>> lua.eval("torch.ones(2, 2):sum()")
4
"""

from __future__ import annotations

from relume.bridge.comparison import Disagreement, Report
from relume.bridge.errors import LuaError, LuaTimeout
from relume.bridge.layers import LuaLayer
from relume.bridge.porting import check, swap
from relume.bridge.proxies import LuaFunction, LuaObject, LuaTable, LuaValue
from relume.bridge.runtime import Lua
from relume.bridge.saved_functions import run_saved

__all__ = [
    "Disagreement",
    "Lua",
    "LuaError",
    "LuaFunction",
    "LuaLayer",
    "LuaObject",
    "LuaTable",
    "LuaTimeout",
    "LuaValue",
    "Report",
    "check",
    "run_saved",
    "swap",
]
