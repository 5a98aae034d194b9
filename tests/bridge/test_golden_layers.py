"""The golden corpus of `nn` runs on the Lua side too: layers that Python read from files are
run by Lua code, on the same tensors, and give what the real Torch7 gave. Classes whose Lua
code is not written yet are left out.
"""

from __future__ import annotations

import pytest
from golden_cases import DATA, TOLERANCE, difference, listed, load_cases

import relume as rl
from relume.bridge import Lua

RUN_MODULE = """
local m, input, gradOutput, seed, backward, second, lr = ...
local results = {printed = tostring(m)}
torch.manualSeed(seed or 0)
local function copy(value)
   if type(value) ~= 'table' then return torch.isTensor(value) and value:clone() or value end
   local result = {}
   for key, part in pairs(value) do result[key] = copy(part) end
   return result
end
results.output = copy(m:forward(input))
if backward then
   results.gradInput = copy(m:backward(input, gradOutput))
   local _, gradients = m:parameters()
   results.gradParams = copy(gradients or {})
   results.rng_next = torch.random()
end
if second then
   torch.manualSeed(second.seed or 0)
   results.second_output = copy(m:forward(second.input))
   results.second_gradInput = copy(m:backward(second.input, second.gradOutput, second.scale))
   local _, gradients = m:parameters()
   results.second_gradParams = copy(gradients or {})
end
if lr then
   m:updateParameters(lr)
   results.updated = copy(m:parameters() or {})
end
return results
"""
RUN_CRITERION = """
local c, input, target, seed = ...
torch.manualSeed(seed or 0)
local results = {printed = tostring(c)}
results.output = c:forward(input, target)
results.gradInput = c:backward(input, target)
return results
"""
# What only Torch7's own text of the object shows, or what a table of the wrong kind makes of it.
SKIPPED = {"Module_methods"}


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        yield runtime


def names(section):
    return sorted(path.stem for path in (DATA / section).glob("*.t7"))


def known(lua, name):
    return lua.eval(f"torch.getmetatable('nn.{name}') ~= nil")


def run(lua, case):
    if case.protocol == "criterion":
        return lua.execute(
            RUN_CRITERION, case.criterion, case.input, case.get("target"), case.get("seed")
        )
    backward = not case.get("nobackward")
    return lua.execute(
        RUN_MODULE,
        case.module,
        case.input,
        case.get("gradOutput"),
        case.get("seed"),
        backward,
        case.get("second"),
        case.get("lr"),
    )


def check_case(lua, case):
    # DontCast may hold a module of another type than its own.
    tolerance = TOLERANCE[getattr(case.get("module"), "moduleType", case.type)]
    results = run(lua, case).to_python()
    for key in ("output", "gradInput", "gradParams"):
        expected = case.get(key)
        if expected is None or (key == "gradInput" and case.get("nobackward")):
            continue
        assert difference(results.get(key), expected) <= tolerance, key
    second = case.get("second")
    if second is not None and case.protocol == "module":
        for key in ("output", "gradInput", "gradParams"):
            if second.get(key) is not None:
                got = results.get(f"second_{key}")
                assert difference(got, second[key]) <= tolerance, f"second {key}"
    if case.get("updated") is not None:
        assert difference(results.get("updated"), case.updated) <= tolerance, "updated"
    if case.get("printed") is not None:
        assert results.printed == case.printed
    if case.get("rng_next") is not None and results.get("rng_next") is not None:
        assert results.rng_next == case.rng_next


def covered():
    """The files of the corpus whose class has Lua code."""
    with Lua() as runtime:
        runtime.require("nngraph")
        layers = [name for name in names("nn") if known(runtime, name) and name not in SKIPPED]
    return [("nn", name) for name in layers] + [("nngraph", name) for name in names("nngraph")]


def test_only_the_listed_classes_are_missing(lua):
    missing = {name for name in names("nn") if not known(lua, name)}
    assert missing == listed("layers_missing_in_lua.txt")


@pytest.mark.parametrize(("section", "name"), covered())
def test_layers(lua, section, name):
    for case in load_cases(section, name):
        if case.protocol in ("module", "criterion"):
            try:
                check_case(lua, case)
            except (AssertionError, rl.bridge.LuaError) as error:
                raise AssertionError(f"case {case.name!r}: {error}") from error
