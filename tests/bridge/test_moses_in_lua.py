"""Package moses on the Lua side: callbacks get (key, value), as in its versions 1.x."""

from __future__ import annotations

import pytest

from relume.bridge import Lua


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.execute("_ = require 'moses'")
        yield runtime


# An expression, and the list that it gives.
LISTS = [
    ("_.map({1, 2, 3}, function(k, v) return k * v end)", [1, 4, 9]),
    ("_.map({1, 2}, function(k, v, more) return v + more end, 5)", [6, 7]),
    ("_.select({1, 2, 3, 4}, function(k, v) return v % 2 == 0 end)", [2, 4]),
    ("_.reject({1, 2, 3, 4}, function(k, v) return v % 2 == 0 end)", [1, 3]),
    ("_.range(3)", [1, 2, 3]),
    ("_.range(2, 8, 3)", [2, 5, 8]),
    ("_.range(3, 1)", [3, 2, 1]),
    ("_.flatten({1, {2, {3}}})", [1, 2, 3]),
    ("_.flatten({1, {2, {3}}}, true)[3]", [3]),
    ("_.reverse({1, 2, 3})", [3, 2, 1]),
    ("_.first({4, 5, 6}, 2)", [4, 5]),
    ("_.last({4, 5, 6}, 2)", [5, 6]),
    ("_.last({4, 5, 6})", [5, 6]),
    ("_.initial({4, 5, 6})", [4, 5]),
    ("_.rest({4, 5, 6}, 2)", [5, 6]),
    ("_.slice({4, 5, 6, 7}, 2, 3)", [5, 6]),
    ("_.unique({1, 2, 1, 3, 2})", [1, 2, 3]),
    ("_.union({1, 2}, {2, 3})", [1, 2, 3]),
    ("_.difference({1, 2, 3}, {2})", [1, 3]),
    ("_.intersection({1, 2, 3}, {2, 3}, {3, 4})", [3]),
    ("_.append({1}, {2, 3})", [1, 2, 3]),
    ("_.zip({1, 2}, {3, 4})[2]", [2, 4]),
    ("_.rep(7, 3)", [7, 7, 7]),
    ("_.pull({1, 2, 1, 3}, 1)", [2, 3]),
    ("_.pluck({{a = 1}, {a = 2}}, 'a')", [1, 2]),
    ("_.at({4, 5, 6}, 1, 3)", [4, 6]),
    ("_.times(3, function(i) return i * i end)", [1, 4, 9]),
    ("_.sort(_.keys({a = 1, b = 2}))", ["a", "b"]),
    ("_.sort(_.values({a = 1, b = 2}))", [1, 2]),
    ("_.sort(_.shuffle({1, 2, 3}))", [1, 2, 3]),
]
VALUES = [
    ("_.reduce({1, 2, 3}, function(a, b) return a + b end)", 6),
    ("_.reduce({1, 2, 3}, function(a, b) return a + b end, 10)", 16),
    ("_.contains({1, {2}}, {2})", True),
    ("_.include({1, 2}, function(k, v) return v > 5 end)", False),
    ("_.all({1, 2}, function(k, v) return v < 5 end)", True),
    ("_.find({4, 5}, 5)", 2),
    ("_.detect({4, 5}, function(k, v) return v > 4 end)", 2),
    ("_.max({3, 9, 4})", 9),
    ("_.min({3, 9, 4})", 3),
    ("_.size({a = 1, 2, 3})", 3),
    ("_.count({1, 2, 1}, 1)", 2),
    ("_.isEqual({1, {a = 2}}, {1, {a = 2}})", True),
    ("_.isEqual({1, 2}, {1})", False),
    ("_.isNaN(0 / 0)", True),
    ("_.isArray({1, a = 2})", False),
    ("_.isEmpty({})", True),
    ("_.concat({1, 2}, '-')", "1-2"),
    ("_.invert({'a', 'b'}).b", 2),
    ("_.extend({a = 1}, {b = 2}).b", 2),
    ("_.omit({a = 1, b = 2}, 'a').a == nil", True),
    ("_.groupBy({1, 2, 3}, function(k, v) return v % 2 end)[1][2]", 3),
    ("_.compose(function(x) return x + 1 end, function(x) return x * 2 end)(5)", 11),
    ("_.bind(math.pow, 2)(5)", 32),
    ("_.clone({1, {2}})[2][1]", 2),
]


@pytest.mark.parametrize(("expression", "expected"), LISTS)
def test_lists(lua, expression, expected):
    result = lua.eval(expression)
    assert (list(result.to_python()) if hasattr(result, "to_python") else [result]) == expected


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_values(lua, expression, expected):
    assert lua.eval(expression) == expected


def test_a_memoized_function_is_called_once(lua):
    calls = lua.execute(
        """
        local calls = 0
        local f = _.memoize(function(x) calls = calls + 1 return x end)
        f(1) f(1) f(2)
        return calls
        """
    )
    assert calls == 2
