"""nn.hessian on the Lua side: against real Torch7, and against sums of squared gradients."""

from __future__ import annotations

import pytest
from golden_cases import difference, load_cases

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nn")
        runtime.execute("nn.hessian.enable()")
        yield runtime


RUN = """
local script, m, inputs, seed = ...
torch.manualSeed(seed or 0)
return loadstring(script)()(m, inputs)
"""


@pytest.mark.parametrize("case", load_cases("misc", "hessian"), ids=lambda case: case.name)
def test_a_network_of_torch7(lua, case):
    results = lua.execute(RUN, case.script, case.module, case.inputs, case.get("seed"))
    for key, expected in case.results.items():
        assert difference(results.get(key), expected) <= 1e-10, key


@pytest.mark.parametrize(
    ("layer", "size", "has_bias"),
    [
        ("nn.Linear(3, 4)", "3", True),
        ("nn.Linear(3, 4)", "5, 3", True),
        ("nn.Linear(3, 4, false)", "5, 3", False),
        ("nn.SpatialConvolution(2, 3, 2, 2)", "2, 4, 4", True),
        ("nn.TemporalConvolution(3, 2, 2)", "5, 3", True),
    ],
)
def test_diagonals_are_sums_of_squared_gradients(lua, layer, size, has_bias):
    names = ["Input", "Weight", "Bias"] if has_bias else ["Input", "Weight"]
    for name in names:
        error = lua.eval(f"nn.Jacobian.testDiagHessian{name}({layer}, torch.Tensor({size}))")
        assert error < 1e-12, name


def test_a_layer_without_a_rule_is_named(lua):
    with pytest.raises(LuaError, match=r"nn\.SoftMax: nn\.hessian knows no rule"):
        lua.execute("nn.SoftMax():updateDiagHessianInput(torch.rand(3), torch.ones(3))")
