"""torch.Tester as test-suites use it: what it counts, warns of and lets derived classes replace."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture
def lua():
    with Lua() as runtime:
        yield runtime


def test_a_run_counts_its_assertions(lua):
    lua.execute(
        """
        tester = torch.Tester()
        local suite = torch.TestSuite()
        function suite.both() tester:assert(true); tester:eq(1, 2) end
        function suite.broken() tester:assert(true); error('oops') end
        tester:add(suite)
        io.write = function() end
        """
    )
    with pytest.raises(LuaError, match="An error was found while running tests"):
        lua.execute("tester:run()")
    assert lua.eval("tester.countasserts") == 3


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        ("tester:assert({})", "only be used for boolean conditions"),
        ("tester:assertne({}, {})", "assertne should only be used to compare basic"),
        ("tester:assertTensorEq(torch.Tensor{{1}}, torch.Tensor{1})", "but different dimensions"),
    ],
)
def test_doubtful_assertions_are_warned_of_and_pass(lua, body, warning):
    written = lua.execute(
        f"""
        local tester = torch.Tester()
        local suite = torch.TestSuite()
        function suite.test() {body} end
        tester:add(suite)
        local written = ''
        io.write = function(text) written = written .. text end
        pcall(tester.run, tester)
        return written
        """
    )
    assert "1 warning" in written
    assert warning in written


def test_a_plain_table_of_tests_is_warned_of_when_it_runs(lua):
    lua.execute(
        "tester = torch.Tester(); tester:add{one = function() end}; io.write = function() end"
    )
    assert lua.execute(
        """
        local written = ''
        io.write = function(text) written = written .. text end
        tester:run()
        return written:find('use TestSuite rather than plain lua table', 1, true) ~= nil
        """
    )


def test_derived_testers_replace_success_and_failure(lua):
    assert lua.execute(
        """
        local tester = torch.Tester()
        tester._success = function() return true, 'fine' end
        tester._failure = function(_, text) return false, text end
        local done, text = tester:assertlt(1, 2)
        local failed, message = tester:assertalmosteq(1, 2, 0.5, 'far')
        return done, text, failed, message:match('^[^\\n]*')
        """
    ) == (True, "fine", False, "far")


def test_more_arguments_than_an_assertion_takes_are_refused(lua):
    with pytest.raises(LuaError, match="Unexpected arguments"):
        lua.execute("torch.Tester():assert(true, 'message', 'more')")
