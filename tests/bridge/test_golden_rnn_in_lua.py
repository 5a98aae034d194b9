"""The golden corpus of rnn and dpnn runs on the Lua side too: layers that Python read from files
are run by Lua code, and give what the real Torch7 gave.
"""

from __future__ import annotations

import pytest
from golden_cases import DATA, TOLERANCE, difference, listed, load_cases
from lua_layers import check_case

from relume.bridge import Lua, LuaError

RUN_STEPS = """
local m, inputs, gradOutputs, seed = ...
local outputs, gradInputs = {}, {}
local copy = nn.rnn.recursiveClone
torch.manualSeed(seed or 0)
local printed = tostring(m)
for i, input in ipairs(inputs) do outputs[i] = copy(m:forward(input)) end
for i = gradOutputs and #inputs or 0, 1, -1 do
   gradInputs[i] = copy(m:backward(inputs[i], gradOutputs[i]))
end
local _, gradients = m:parameters()
gradients = copy(gradients or {})
return {printed = printed, outputs = outputs, gradInputs = gradInputs, gradParams = gradients}
"""
RUN_SCRIPT = """
local script, m, inputs, seed = ...
torch.manualSeed(seed or 0)
return loadstring(script)()(m, inputs)
"""


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        runtime.require("rnn")
        yield runtime


def cases():
    with Lua() as runtime:
        runtime.require("rnn")
        return [
            (section, path.stem)
            for section in ("rnn", "dpnn")
            for path in sorted((DATA / section).glob("*.t7"))
            if runtime.eval(f"torch.getmetatable('nn.{path.stem}') ~= nil")
        ]


def check_steps(lua, case):
    given = (case.module, case.inputs, case.get("gradOutputs"), case.get("seed"))
    results = lua.execute(RUN_STEPS, *given).to_python()
    tolerance = TOLERANCE[case.type]
    for key in ("outputs", "gradInputs", "gradParams"):
        if case.get(key) is not None:
            assert difference(results[key], case[key]) <= tolerance, key
    if case.get("printed") is not None:
        assert results["printed"] == case.printed


def check_script(lua, case):
    results = lua.execute(RUN_SCRIPT, case.script, case.module, case.inputs, case.get("seed"))
    tolerance = TOLERANCE[case.type]
    for key, expected in case.results.items():
        assert difference(results.get(key), expected) <= tolerance, key


CHECKS = {"steps": check_steps, "script": check_script}


def test_only_the_listed_classes_are_missing(lua):
    names = {path.stem for section in ("rnn", "dpnn") for path in (DATA / section).glob("*.t7")}
    missing = {name for name in names if not lua.eval(f"torch.getmetatable('nn.{name}') ~= nil")}
    assert missing == listed("recurrent_layers_missing_in_lua.txt")


@pytest.mark.parametrize(("section", "name"), cases())
def test_layers(lua, section, name):
    for case in load_cases(section, name):
        try:
            CHECKS.get(case.protocol, check_case)(lua, case)
        except (AssertionError, LuaError) as error:
            raise AssertionError(f"case {case.name!r}: {error}") from error
