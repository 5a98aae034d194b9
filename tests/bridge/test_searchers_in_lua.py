"""Where `require` finds packages: the user's, relume's, and what it says of those it refuses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture
def lua():
    with Lua() as runtime:
        yield runtime


def write_package(folder, name, source):
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(source)


def test_a_users_own_pure_lua_package_is_used_instead(lua, tmp_path):
    write_package(tmp_path, "pl/utils.lua", "return {mine = true}")
    lua.execute("package.path = package.path .. ';' .. ...", f"{tmp_path}/?.lua")
    assert lua.eval("require('pl.utils').mine") is True


def test_what_needs_c_code_is_relumes_own(lua, tmp_path):
    write_package(tmp_path, "nn/init.lua", "error('the old one')")
    lua.execute("package.path = package.path .. ';' .. ...", f"{tmp_path}/?/init.lua")
    assert lua.eval("torch.typename(require('nn').Linear(2, 2))") == "nn.Linear"


def test_a_package_of_LUA_PATH_loads(tmp_path):
    write_package(tmp_path, "mine/init.lua", "return 'found'")
    script = tmp_path / "script.lua"
    script.write_text("print(require 'mine')")
    done = subprocess.run(
        [sys.executable, "-m", "relume", "lua", str(script)],
        env={**os.environ, "LUA_PATH": f"{tmp_path}/?/init.lua;;"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "found\n")


def test_packages_of_an_old_install_load(tmp_path):
    folder = tmp_path / "torch" / "install" / "share" / "lua" / "5.1"
    write_package(folder, "torch/init.lua", "error('the old one')")
    write_package(folder, "mypackage/init.lua", "return 'old but good'")
    script = tmp_path / "script.lua"
    script.write_text("print(require 'mypackage', torch.ones(1)[1])")
    done = subprocess.run(
        [sys.executable, "-m", "relume", "lua", str(script)],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "old but good\t1\n")


def test_a_binary_module_is_refused_with_its_place(lua, tmp_path):
    write_package(tmp_path, "libold.so", "")
    write_package(tmp_path, "old/init.lua", "require 'libold'")
    lua.execute("package.cpath = ...", f"{tmp_path}/?.so")
    lua.execute("package.path = package.path .. ';' .. ...", f"{tmp_path}/?/init.lua")
    with pytest.raises(LuaError, match=r"libold\.so is compiled for another Lua.*'old'"):
        lua.execute("require 'old'")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("cutorch", "--cuda=cpu"),
        ("qtwidget", "no windows"),
        ("mattorch", "scipy.io.loadmat"),
        ("loadtf", "convert the network with a Torch install"),
    ],
)
def test_an_absent_package_says_what_to_do(lua, name, advice):
    with pytest.raises(LuaError, match=advice):
        lua.execute("require(...)", name)
