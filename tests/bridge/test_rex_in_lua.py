"""Package rex_pcre: what lrexlib's manual says of its functions, and Perl's syntax."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.execute(
            """
            rex = require 'rex_pcre'
            -- all that an iterator gives, as text
            function all(...)
               local said = ''
               for a, b, c in ... do
                  said = said .. tostring(a) .. '|' .. tostring(b) .. '|' .. tostring(c) .. ';'
               end
               return said
            end
            """
        )
        yield runtime


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rex.find('hello world', 'o w')", (5, 7)),
        ("rex.find('hello world', '(w)(o)(x)?')", (7, 8, "w", "o", False)),
        ("rex.find('hello', 'l', -2)", (4, 4)),
        ("rex.find('hello', 'l', 9)", None),
        ("rex.match('key=val', '(\\\\w+)=(\\\\w+)')", ("key", "val")),
        ("rex.match('abc', 'b.')", "bc"),
        ("rex.match('ABC', 'b', 1, 'i')", "B"),
        ("rex.match('ABC', 'b', 1, rex.flags().CASELESS)", "B"),
        ("rex.count('a,b1 c!', '[[:punct:][:digit:]]')", 3),
        ("rex.count('x[y]', '[[\\\\]]')", 2),
        ("all(rex.gmatch('a1 b2', '(\\\\w)(\\\\d)'))", "a|1|nil;b|2|nil;"),
        ("all(rex.split('a, b,c', ',\\\\s*'))", "a|, |nil;b|,|nil;c|false|nil;"),
        ("all(rex.split('a1b', '(\\\\d)'))", "a|1|nil;b|false|nil;"),
        ("rex.gsub('hello world', '(o)', '<%1>')", ("hell<o> w<o>rld", 2, 2)),
        ("rex.gsub('hello', 'l', '[%0]', 1)", ("he[l]lo", 1, 1)),
        ("rex.gsub('hello', '.', {h = 'J', l = false})", ("Jello", 5, 1)),
        ("rex.gsub('abc', '[ac]', string.upper)", ("AbC", 2, 2)),
        ("rex.match('2016-01', '(?<y>\\\\d+)-(?<m>\\\\d+)')", ("2016", "01")),
        ("rex.match('a.c', '\\\\Qa.c\\\\E')", "a.c"),
        ("#rex.match('\\195\\164b', '.')", 1),
        ("#rex.match('\\195\\164b', '.', 1, 'u')", 2),
    ],
)
def test_functions_give_what_their_manual_says(lua, expression, expected):
    assert lua.execute(f"return {expression}") == expected


def test_a_compiled_pattern_has_the_functions_as_methods(lua):
    assert lua.execute(
        """
        local pattern = rex.new('(?<letter>[a-z])(\\\\d)?')
        local first, last, groups = pattern:tfind('1b')
        local _, _, places = pattern:exec('1b2')
        return first, last, groups.letter, groups[2], places[3], places[4], pattern:match('x1'),
           pattern:fullinfo().CAPTURECOUNT
        """
    ) == (2, 2, "b", False, 3, 3, "x", 2)


def test_a_pattern_that_is_none_says_where(lua):
    with pytest.raises(LuaError, match=r"unterminated subpattern \(pattern offset: 0\)"):
        lua.execute("rex.new '(a'")
    with pytest.raises(LuaError, match="bad argument #1 to 'find'"):
        lua.execute("rex.find({}, 'a')")
