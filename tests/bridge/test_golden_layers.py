"""The golden corpus of `nn` runs on the Lua side too: layers that Python read from files are
run by Lua code, on the same tensors, and give what the real Torch7 gave. Classes whose Lua
code is not written yet are left out.
"""

from __future__ import annotations

import pytest
from golden_cases import DATA, listed, load_cases
from lua_layers import check_case

import relume as rl
from relume.bridge import Lua


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        yield runtime


def names(section):
    return sorted(path.stem for path in (DATA / section).glob("*.t7"))


def known(lua, name):
    return lua.eval(f"torch.getmetatable('nn.{name}') ~= nil")


def covered():
    """The files of the corpus whose class has Lua code."""
    with Lua() as runtime:
        runtime.require("nngraph")
        layers = [name for name in names("nn") if known(runtime, name)]
    graphs = [name for name in names("nngraph") if name != "lstm_unrolled"]  # a script
    return [("nn", name) for name in layers] + [("nngraph", name) for name in graphs]


def test_only_the_listed_classes_are_missing(lua):
    missing = {name for name in names("nn") if not known(lua, name)}
    assert missing == listed("layers_missing_in_lua.txt")


@pytest.mark.parametrize(("section", "name"), covered())
def test_layers(lua, section, name):
    cases = [c for c in load_cases(section, name) if c.protocol in ("module", "criterion")]
    assert cases, f"{name} has no case"
    for case in cases:
        try:
            check_case(lua, case)
        except (AssertionError, rl.bridge.LuaError) as error:
            raise AssertionError(f"case {case.name!r}: {error}") from error
