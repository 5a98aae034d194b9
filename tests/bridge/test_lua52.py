"""Torch7's LuaJIT had parts of Lua 5.2 that scripts use."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError


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


def test_the_length_of_an_object_is_what_it_says(lua):
    found = lua.execute(
        """
        require 'nn'
        local net = nn.Sequential():add(nn.Linear(2, 2)):add(nn.Tanh())
        local own = setmetatable({inside = {net = net}}, {__len = function() return 7 end})
        function own:get() return self.inside.net end
        -- neither '#net' here
        return #net, #own, #own.inside['net'], #own:get(), #(net), #'#own', #{1, 2} .. '#net',
           -#net + 1, #nn
        """
    )
    assert found == (2, 7, 2, 2, 2, 4, "2#net", -1, 0)


def test_values_without_their_own_length_have_the_usual_one(lua):
    assert lua.execute("local t = {1, {2, 3}}; t[#t + 1] = #t[#t]; return #t, t[3]") == (3, 2)
    with pytest.raises(LuaError, match="attempt to get length of a nil value"):
        lua.execute("local missing; return #missing")


def test_a_parenthesis_on_a_new_line_goes_on_with_a_call(lua):
    source = """
        local function add(a) return function(b) return a + b end end
        local text = 'add ( --'  -- (
        return add(1)
           -- between
           (2), debug.getinfo(1, 'l').currentline"""
    assert lua.execute(source) == (3, 6)


def test_files_and_packages_are_read_so_too(lua, tmp_path):
    (tmp_path / "said.lua").write_text("local f = tostring\nlocal t = f\n(5)\nreturn t")
    (tmp_path / "broken.lua").write_text("local x = #\n")
    lua.execute("package.path = ... .. '/?.lua;' .. package.path", str(tmp_path))
    assert lua.execute("return require 'said'") == "5"
    assert lua.execute("return dofile(...)", f"{tmp_path}/said.lua") == "5"
    with pytest.raises(LuaError, match=r"error loading module 'broken' from file"):
        lua.execute("require 'broken'")


def test_names_of_other_versions_of_lua(lua):
    assert lua.execute("return string.gfind == string.gmatch")
    assert lua.execute("return package.searchers == package.loaders")
