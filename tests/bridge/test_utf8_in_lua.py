"""Package lua-utf8: Lua 5.3's functions on characters, and those of luautf8's manual."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError

TEXT = "aé€😀z"


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.execute("utf8 = require 'lua-utf8'")
        yield runtime


def run(lua, expression, *arguments):
    return lua.execute(f"local s, t = ...; return {expression}", *arguments)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("utf8.len(s)", len(TEXT)),
        ("utf8.len(s, 2)", 4),
        ("utf8.len(s, -1)", 1),
        ("utf8.len('')", 0),
        ("utf8.codepoint(s, 1, -1)", tuple(map(ord, TEXT))),
        ("utf8.codepoint(s, 2)", ord("é")),
        ("utf8.char(97, 233, 8364, 128512, 122)", TEXT),
        ("utf8.char()", ""),
        ("utf8.offset(s, 3)", 4),
        ("utf8.offset(s, -1)", 11),
        ("utf8.offset(s, -2)", 7),
        ("utf8.offset(s, 0, 9)", 7),
        ("utf8.offset(s, 6)", 12),  # behind the last one
        ("utf8.offset(s, 7)", None),
        ("utf8.sub(s, 2, 3)", "é€"),
        ("utf8.sub(s, -2)", "😀z"),
        ("utf8.sub(s, 4, 2)", ""),
        ("utf8.byte(s, 4)", ord("😀")),
        ("utf8.byte(s, -1)", ord("z")),
        ("utf8.reverse(s)", TEXT[::-1]),
        ("utf8.insert(s, 2, 'ß')", "aßé€😀z"),
        ("utf8.insert(s, 'ß')", "aé€😀zß"),
        ("utf8.remove(s)", "aé€😀"),
        ("utf8.remove(s, 2, 3)", "a😀z"),
        ("utf8.remove(s, 3)", "aé"),
        ("utf8.next(s, 2)", (4, ord("€"))),
        ("utf8.next(s, 4, -1)", (2, ord("é"))),
        ("utf8.next(s, 11)", None),
        ("utf8.charpos(s, 3)", (4, ord("€"))),
        ("utf8.charpos(s, 4, 1)", (7, ord("😀"))),
        ("utf8.lower('ÄRGER')", "ärger"),
        ("utf8.upper('ärger')", "ÄRGER"),
        ("utf8.fold('Straße')", "strasse"),
    ],
)
def test_functions(lua, expression, expected):
    assert run(lua, expression, TEXT) == expected


@pytest.mark.parametrize("loop", ["utf8.next, s", "utf8.codes(s)"])
def test_loops_over_characters(lua, loop):
    found = lua.execute(
        f"""
        local s, list = ..., {{}}
        for place, code in {loop} do list[#list + 1] = place .. ':' .. code end
        return table.concat(list, ' ')
        """,
        TEXT,
    )
    places = [1, 2, 4, 7, 11]
    assert found == " ".join(f"{p}:{ord(c)}" for p, c in zip(places, TEXT, strict=True))


@pytest.mark.parametrize("code", [0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF])
def test_lengths_of_characters(lua, code):
    assert run(lua, "utf8.char(s)", code) == chr(code)
    assert run(lua, "utf8.codepoint(utf8.char(s))", code) == code


def test_characters_by_their_pattern(lua):
    assert run(lua, "select(2, s:gsub(utf8.charpattern, ''))", TEXT) == len(TEXT)


@pytest.mark.parametrize("damaged", [b"a\xff", b"\xc3", b"\x80", b"\xe2\x82z"])
def test_what_is_no_utf8(lua, damaged):
    place = 2 if damaged[0] == ord("a") else 1
    assert run(lua, "utf8.len(s)", damaged) == (None, place)
    with pytest.raises(LuaError, match="invalid UTF-8 code"):
        run(lua, "utf8.codepoint(s, 1, -1)", damaged)
    assert run(lua, "utf8.reverse(utf8.reverse(s)) == s", damaged)


def test_codes_out_of_range(lua):
    with pytest.raises(LuaError, match="value out of range"):
        run(lua, "utf8.char(0x110000)")
