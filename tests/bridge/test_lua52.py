"""Torch7's LuaJIT had parts of Lua 5.2 that scripts use."""

from __future__ import annotations

import pytest

from relume.bridge import Lua


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        yield runtime


@pytest.mark.parametrize("iterate", ["pairs", "ipairs"])
def test_objects_say_how_to_iterate(lua, iterate):
    found = lua.execute(
        f"""
        local inside = {{'a', 'b'}}
        local object = setmetatable({{}}, {{__{iterate} = function() return next, inside, nil end}})
        local seen = ''
        for _, value in {iterate}(object) do seen = seen .. value end
        return seen
        """
    )
    assert found == "ab"


@pytest.mark.parametrize("iterate", ["pairs", "ipairs"])
def test_what_is_no_table_is_refused_where_it_is_used(lua, iterate):
    done, message = lua.execute(f"return pcall(function() for _ in {iterate}(nil) do end end)")
    assert not done
    expected = f"bad argument #1 to '{iterate}' (table expected, got nil)"
    assert message == f'[string "execute"]:1: {expected}'


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("true", (True, "exit", 0)),
        ("exit 3", (None, "exit", 3)),
        ("kill -9 $$", (None, "signal", 9)),
    ],
)
def test_a_program_that_ran_tells_how_it_ended(lua, command, expected):
    assert lua.execute(f"return os.execute('{command}')") == expected


def test_writing_gives_the_file(lua, tmp_path):
    lua.execute("local f = io.open(..., 'w'); f:write('a'):write('b'):close()", str(tmp_path / "x"))
    assert (tmp_path / "x").read_text() == "ab"


@pytest.mark.parametrize("name", ["paths", "lfs"])
def test_globals_that_scripts_rely_on(lua, name):
    lua.execute("require 'torch'; require 'lfs'")
    assert lua.eval(f"{name}.mkdir ~= nil") is True


def test_tables_pack_and_unpack(lua):
    assert lua.execute("return table.pack(nil, 2, nil).n, table.unpack({5, 6})") == (3, 5, 6)
