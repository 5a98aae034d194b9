"""Errors on their way between the languages."""

from __future__ import annotations

import os
import signal
import threading
import traceback

import pytest

import relume as rl
from relume.bridge import Lua, LuaError


@pytest.fixture
def lua():
    with Lua() as runtime:
        yield runtime


class Trouble(Exception):
    def __init__(self, code):
        super().__init__(f"trouble {code}")
        self.code = code


def raise_trouble(code):
    raise Trouble(code)


def test_lua_errors_have_message_and_stack(lua):
    source = (
        "local function inner() error('no paint') end\nlocal function outer() inner() end\nouter()"
    )
    with pytest.raises(LuaError) as caught:
        lua.execute(source)
    assert caught.value.message == '[string "execute"]:1: no paint'
    assert "in function 'inner'" in caught.value.lua_traceback
    assert "in function 'outer'" in caught.value.lua_traceback
    assert "no paint" in str(caught.value) and "inner" in str(caught.value)


def test_any_value_can_be_raised(lua):
    with pytest.raises(LuaError) as caught:
        lua.execute("error({code = 7})")
    assert caught.value.value.code == 7


def test_mistakes_in_the_source(lua):
    with pytest.raises(LuaError, match="unexpected symbol"):
        lua.execute("x = = 1")
    with pytest.raises(LuaError, match="unexpected symbol"):
        lua.eval("1 +* 2")


def test_python_exceptions_pass_through_lua_as_themselves(lua):
    lua.globals.f = raise_trouble
    with pytest.raises(Trouble) as caught:
        lua.execute("local function inner() f(42) end\ninner()")
    assert caught.value.code == 42
    # Python's stack ends where it was raised, Lua's is beside it
    assert traceback.extract_tb(caught.tb)[-1].name == "raise_trouble"
    assert "in function 'inner'" in caught.value.lua_traceback


def test_pcall_sees_the_original_exception(lua):
    lua.globals.f = raise_trouble
    ok, text, error, code, matched = lua.execute(
        """
        local ok, err = pcall(f, 5)
        return ok, tostring(err), err.exception, err.exception.code, err:match('trouble (%d)')
        """
    )
    assert (ok, code, matched) == (False, 5, "5")
    assert isinstance(error, Trouble) and error.code == 5
    assert text.endswith("Trouble: trouble 5")
    assert "raise_trouble" in lua.execute("local _, err = pcall(f, 5); return err.traceback")


def test_a_caught_exception_leaves_nothing_behind(lua):
    lua.globals.f = raise_trouble
    assert lua.execute("pcall(f, 1); return 'done'") == "done"
    with pytest.raises(LuaError, match="another"):
        lua.execute("pcall(f, 1); error('another')")


def test_an_exception_can_be_raised_again(lua):
    lua.globals.f = raise_trouble
    with pytest.raises(Trouble):
        lua.execute("local ok, err = pcall(f, 1); error(err)")
    with pytest.raises(LuaError, match=r"wrapped: .*trouble 1"):
        lua.execute("local ok, err = pcall(f, 1); error('wrapped: ' .. err)")


def test_errors_through_several_layers(lua):
    lua.globals.inner = raise_trouble
    lua.globals.outer = lambda: lua.execute("inner(9)")
    with pytest.raises(Trouble) as caught:
        lua.execute("outer()")
    assert caught.value.code == 9
    lua.globals.failing = lambda: lua.execute("error('deep')")
    with pytest.raises(LuaError, match="deep"):
        lua.execute("failing()")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_interrupts_are_not_swallowed_by_pcall(lua, kind):
    def interrupt():
        raise kind

    lua.globals.f = interrupt
    with pytest.raises(kind):
        lua.execute("for i = 1, 3 do pcall(f) end")
    assert lua.eval("1 + 1") == 2


def test_engine_errors_are_lua_errors_with_the_line(lua):
    with pytest.raises(LuaError, match=r"\[string \"execute\"\]:2: inconsistent tensor size"):
        lua.execute("local x = torch.ones(3)\nx:add(torch.ones(4))")
    with pytest.raises(LuaError, match="out of range"):
        lua.execute("torch.ones(3)[5] = 1")


def test_arguments_that_cannot_cross(lua):
    f = lua.eval("function() end")
    with pytest.raises(OverflowError):
        f([1, {"big": 2**60}])
    lua.globals.big = lambda: 2**60
    with pytest.raises(OverflowError):
        lua.execute("big()")


def test_memory_errors_leave_everything_usable(lua):
    with pytest.raises(LuaError, match="memory"):
        lua.execute("return torch.Tensor(2^45)")
    assert lua.eval("torch.ones(3):sum()") == 3


def test_files_that_are_missing(lua, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no Lua file at .*gone\.lua"):
        lua.run(tmp_path / "gone.lua")
    with pytest.raises(LuaError, match="module 'no_such_package' not found"):
        lua.require("no_such_package")


def test_run_gives_arguments(lua, tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("local a, b = ...; return a, b, arg[1], arg[0]:match('[^/]+$')")
    assert lua.run(script, "one", 2) == ("one", 2, "one", "script.lua")
    script.write_text("return 1 +")
    with pytest.raises(LuaError, match=r"script\.lua:1: unexpected symbol"):
        lua.run(script)


def test_a_closed_runtime_says_so():
    lua = Lua()
    f = lua.eval("function() end")
    table = lua.eval("{}")
    lua.close()
    lua.close()
    for use in (lambda: lua.eval("1"), f, lambda: table[1], lambda: lua.globals):
        with pytest.raises(RuntimeError, match="closed"):
            use()


def test_objects_of_another_runtime_are_refused(lua):
    with Lua() as other:
        with pytest.raises(ValueError, match="another runtime"):
            lua.globals.t = other.eval("{}")
        assert lua.eval("function(t) return t[1] end")(other.eval("{5}").to_python()) == 5


def test_wrong_runtime_types_do_not_crash(lua):
    with pytest.raises(LuaError):
        lua.eval("torch.Tensor(3):narrow('x')")
    with pytest.raises(LuaError):
        lua.eval("torch.DoubleTensor('nonsense')")
    assert isinstance(rl.bridge.LuaError("m"), RuntimeError)


def test_an_interrupt_of_a_loop_over_callbacks_arrives_as_itself():
    with Lua() as lua:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            lua.execute("local f = ...; for i = 1, 1e9 do f() end", lambda: None)
        timer.join()
        assert lua.eval("1 + 1") == 2


def test_absent_packages_say_what_to_do(lua):
    with pytest.raises(LuaError) as caught:
        lua.require("cutorch")
    second_line = caught.value.message.splitlines()[1]
    assert second_line.strip().startswith("relume has no cutorch: relume computes on the CPU")
    assert lua.eval("pcall(require, 'cunn')")[0] is False


def test_a_package_that_a_script_brings_along_is_used(lua):
    lua.execute("package.preload['threads'] = function() return 'own' end")
    assert lua.require("threads") == "own"


def test_packages_that_nobody_knows_have_no_advice(lua):
    with pytest.raises(LuaError) as caught:
        lua.require("no_such_package")
    assert "relume has no" not in caught.value.message


def test_a_mistake_in_the_source_has_no_stack():
    with Lua() as lua, pytest.raises(LuaError) as caught:
        lua.execute("local x = = 3")
    assert str(caught.value) == "[string \"execute\"]:1: unexpected symbol near '='"


@pytest.mark.parametrize("value", ["nil", "false", "true"])
def test_values_that_are_raised_are_told_in_luas_words(value):
    with Lua() as lua, pytest.raises(LuaError) as caught:
        lua.execute(f"error({value})")
    assert caught.value.message == value
    assert caught.value.value == {"nil": None, "false": False, "true": True}[value]


def test_odd_lines_at_the_prompt():
    with Lua() as lua:
        lua.require("trepl")
        lua.execute("require('trepl').run('return 1, 2, nil')")
        for line in (";;", "]]", "x ="):
            with pytest.raises(LuaError, match="unexpected symbol"):
                lua.execute("require('trepl').run(...)", line)


def test_an_error_of_lua_that_went_through_python_reads_as_before(lua):
    lua.globals.through = lambda f: f()
    source = "local _, err = pcall(through, function() error('no paint') end) return tostring(err)"
    assert lua.execute(source) == '[string "execute"]:1: no paint'
    source = "local _, err = pcall(through, function() error({code = 7}) end) return err.code, err"
    code, error = lua.execute(source)
    assert code == 7 and isinstance(error, LuaError) and error.value.code == 7


def test_stacks_name_what_was_called_and_nothing_of_the_border(lua):
    lua.globals.through = lambda f: f()
    with pytest.raises(LuaError) as caught:
        lua.execute("local function inner() error('no paint') end\nthrough(function() inner() end)")
    lines = [line.strip() for line in caught.value.lua_traceback.splitlines()]
    assert lines == [
        "[C]: in function 'error'",
        "[string \"execute\"]:1: in function 'inner'",
        '[string "execute"]:2: in function <[string "execute"]:2>',
        "[Python]: in function 'through'",
        '[string "execute"]:2: in main chunk',
    ]
    with pytest.raises(LuaError) as caught:
        lua.eval("{}")()
    assert caught.value.lua_traceback == ""


@pytest.mark.parametrize("given", ["error('worse')", "return 5", "return {}"])
def test_errors_whose_text_cannot_be_made(lua, given):
    with pytest.raises(LuaError, match="a table whose __tostring gives no string"):
        lua.execute(f"error(setmetatable({{}}, {{__tostring = function() {given} end}}))")


@pytest.mark.parametrize("key, name", [(float("nan"), "NaN"), (None, "None")])
def test_keys_that_no_table_has_are_refused(lua, key, name):
    with pytest.raises(ValueError, match=f"{name}.* cannot be the key of a table"):
        lua.execute("return ...", {key: 1})
    with pytest.raises(ValueError, match=f"{name}.* cannot be the key of a table"):
        lua.eval("{}")[key] = 1


def test_more_values_than_lua_takes_are_refused(lua):
    lua.globals.f = lambda: tuple(range(10_000))
    with pytest.raises(ValueError, match="at most 7000 values at once, not 10000"):
        lua.execute("return ...", *range(10_000))
    with pytest.raises(ValueError, match="at most 7000 values at once, not 10000"):
        lua.execute("return select('#', f())")
    assert lua.execute("return select('#', ...)", *range(7000)) == 7000


def test_errors_after_close_inside_a_call_say_what_is_missing():
    lua = Lua()
    lua.globals.close = lua.close
    with pytest.raises(LuaError, match="attempt to call global 'print'"):
        lua.execute("close() print(1)")
    with pytest.raises(RuntimeError, match="is closed"):
        lua.collect_garbage()
