"""Functions of Torch7 files, which the Lua that wrote them runs."""

import importlib

import pytest

import relume as rl
from relume.bridge import LuaError, run_saved
from relume.bridge.saved_functions import RUNTIMES

DUMP = b"function(source) return string.dump((loadstring or load)(source)) end"


def saved(module, source):
    """As a file has it."""
    runtime = importlib.import_module(f"lupa.{module}").LuaRuntime(encoding=None)
    record = rl.LuaFunction(8, runtime.eval(DUMP)(source.encode()))
    return rl.loads(rl.dumps(record))


@pytest.mark.parametrize("dialect", RUNTIMES)
def test_every_lua_runs_what_it_wrote(dialect):
    function = saved(RUNTIMES[dialect], "local a, b = ... return a * b + math.floor(2.5), 'x'")
    assert function.dialect == dialect
    assert run_saved(function, 3, 0.5) == (3.5, b"x")


def test_errors_of_the_function_are_lua_errors():
    with pytest.raises(LuaError, match="out of paint"):
        run_saved(saved("lua51", "error('out of paint')"))


def test_what_cannot_run_says_why():
    function = saved("lua51", "return 1")
    with pytest.raises(NotImplementedError, match=r"bridge\.run_saved"):
        function()
    with pytest.raises(NotImplementedError, match="runs without Torch, on numbers and texts"):
        run_saved(function, rl.ones(2))
    damaged = rl.LuaFunction(8, function.bytecode[:4] + b"\x61" + function.bytecode[5:])
    with pytest.raises(NotImplementedError, match=r"there is no Lua 6\.1 here"):
        run_saved(damaged)
    variables = rl.Table([rl.Table({"name": "scale", "id": 1, "value": 2})])
    with pytest.raises(NotImplementedError, match="variables from the outside: scale"):
        run_saved(rl.LuaFunction(8, function.bytecode, variables))
