"""Runs cases of the golden corpus on the Lua side and compares what they give."""

from __future__ import annotations

from golden_cases import TOLERANCE, difference

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
