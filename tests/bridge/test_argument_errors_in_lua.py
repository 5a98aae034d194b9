"""What Lua says of wrong arguments, as Torch7 words it."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError

MESSAGES = [
    # of methods Lua does not count the object
    ("t:narrow(1, 8, 1)", "bad argument #2 to 'narrow' (out of range)"),
    ("t:transpose(1, {})", "bad argument #2 to 'transpose' (number expected, got table)"),
    ("t:select(3, 1)", "bad argument #1 to 'select' (out of range)"),
    ("t[4]", "bad argument #2 to '?' (out of range)"),
    ("t[0]", "bad argument #2 to '?' (out of range)"),
    ("t[0/0]", "bad argument #2 to '?' (out of range)"),
    ("t[1][5]", "bad argument #2 to '?' (out of range)"),
    ("t[1][1e300]", "bad argument #2 to '?' (out of range)"),
    # checked in functions inside
    ("torch.svd(torch.randn(3))", "bad argument #1 to 'svd' (A should be 2 dimensional)"),
    ("torch.randn('x')", "invalid arguments: string "),
    (
        "torch.normal(0, -1)",
        "bad argument #2 to 'normal' (standard deviation must be strictly positive)",
    ),
    ("torch.cat({})", "invalid arguments: table "),
    ("t()", "torch.DoubleTensor has no call operator"),
    ("torch.add()", "invalid arguments: no arguments provided"),
]


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        yield runtime


@pytest.mark.parametrize(("expression", "message"), MESSAGES)
def test_message(lua, expression, message):
    source = f"local t = torch.randn(3, 4); return pcall(function() local _ = {expression} end)"
    ok, text = lua.execute(source)
    assert not ok
    assert text.endswith(message)


def test_the_place_is_that_of_the_call(lua):
    with pytest.raises(LuaError) as caught:
        lua.execute("local t = torch.randn(3)\nlocal _\n_ = torch.svd(t)")
    assert str(caught.value).startswith('[string "execute"]:3: bad argument #1')


@pytest.mark.parametrize(("index", "value"), [(1.5, 1), (3.9, 3), (-1, 3), (-3, 1)])
def test_indices_are_truncated_and_count_from_the_end(lua, index, value):
    assert lua.eval(f"torch.range(1, 3)[{index}]") == value


def test_threads_of_the_core_are_counted_and_set(lua):
    before = lua.eval("torch.getnumthreads()")
    assert lua.execute("torch.setnumthreads(1) return torch.getnumthreads()") == 1
    lua.execute("torch.setnumthreads(...)", before)
    ok, text = lua.eval("pcall(torch.setnumthreads, 0)")
    assert not ok and "at least 1" in text
    assert lua.eval("torch.getnumcores()") >= 1
