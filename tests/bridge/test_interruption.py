"""Lua code is stopped: by Ctrl-C and by time limits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from relume.bridge import Lua, LuaError, LuaTimeout

ENDLESS = {
    "empty": "while true do end",
    "numbers": "local x = 0 while true do x = x + 1 end",
    "long": "for i = 1, 1e14 do end",
    "tensors": "local t = torch.ones(10) while true do t:add(1) end",
    "caught": "while true do pcall(function() for i = 1, 1e7 do end end) end",
    "coroutine": "coroutine.wrap(function() while true do end end)()",
    "interpreted": "jit.off(true, true) while true do end",
    "called back": "while true do call() end",
}


def run_alone(program):
    """What a program prints in a process of its own, which is killed should it not end."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_a_time_limit_stops_any_loop(source):
    printed = run_alone(f"""
        import relume as rl
        lua = rl.bridge.Lua()
        lua.globals.call = lambda: None
        try:
            lua.execute({source!r}, time_limit=0.1)
        except rl.bridge.LuaTimeout as error:
            print(error.args[0].splitlines()[0], lua.eval("1 + 1"))
    """)
    assert "time limit of 0.1 s" in printed and printed.endswith(" 2\n")


def test_what_ends_in_time_is_not_stopped():
    with Lua() as lua:
        assert lua.execute("return 5", time_limit=30) == 5
        with pytest.raises(LuaError, match="mine"):
            lua.execute("error('mine')", time_limit=30)
        assert lua.execute("local s = 0 for i = 1, 1e6 do s = s + 1 end return s") == 1e6


def test_files_have_time_limits_too(tmp_path):
    path = tmp_path / "endless.lua"
    path.write_text("while true do end")
    printed = run_alone(f"""
        import relume as rl
        try:
            rl.bridge.Lua().run({str(path)!r}, time_limit=0.1)
        except rl.bridge.LuaTimeout:
            print("stopped")
    """)
    assert printed == "stopped\n"


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_ctrl_c_stops_any_loop(source):
    program = f"""
        import relume as rl
        lua = rl.bridge.Lua()
        lua.globals.call = lambda: None
        for turn in range(2):
            print("ready", flush=True)
            try:
                lua.execute({source!r})
            except KeyboardInterrupt:
                print("stopped", lua.eval("1 + 1"), flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(60, process.kill)
        timer.start()
        for _ in range(2):
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.2)
            os.kill(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "stopped 2\n"
        timer.cancel()


def test_runtimes_that_go_leave_others_stoppable():
    printed = run_alone("""
        from relume.bridge import Lua, LuaTimeout
        for _ in range(3):
            with Lua() as other:
                other.eval("1")
            Lua()  # goes by itself
        with Lua() as runtime:
            try:
                runtime.execute("while true do end", time_limit=0.1)
            except LuaTimeout:
                print("stopped")
    """)
    assert printed == "stopped\n"


def test_the_runtime_that_runs_is_stoppable_beside_idle_ones():
    printed = run_alone("""
        from relume.bridge import Lua, LuaTimeout
        runtimes = [Lua() for _ in range(3)]
        for runtime in [*runtimes, *runtimes]:
            assert runtime.eval("1 + 1") == 2
        for runtime in [*runtimes, *reversed(runtimes)]:
            try:
                runtime.execute("while true do end", time_limit=0.1)
            except LuaTimeout:
                print("stopped")
        runtimes[0].close()
        del runtimes[1]
        try:
            runtimes[1].execute("local x = 0 while true do x = x + 1 end", time_limit=0.1)
        except LuaTimeout:
            print("stopped")
    """)
    assert printed == "stopped\n" * 7


def test_runtimes_that_run_at_one_time_are_all_stoppable():
    printed = run_alone("""
        import threading
        from relume.bridge import Lua, LuaTimeout
        runtimes = [Lua() for _ in range(4)]
        stopped = []
        def run(runtime):
            try:
                runtime.execute("local x = 0 while true do x = x + 1 end", time_limit=0.2)
            except LuaTimeout:
                stopped.append(runtime.eval("1 + 1"))
        for _ in range(2):
            threads = [threading.Thread(target=run, args=(runtime,)) for runtime in runtimes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        print(stopped)
    """)
    assert printed == f"{[2] * 8}\n"


def test_the_processors_clock_keeps_its_precision():
    with Lua() as lua:
        lua.execute("for i = 1, 1e6 do end")
        steps = lua.execute("""
            local clock, seen, count = os.clock, -1, 0
            local start = clock()
            while clock() - start < 0.02 do
                local now = clock()
                if now ~= seen then seen, count = now, count + 1 end
            end
            return count
        """)
    assert steps > 100


def test_the_error_says_where_the_code_was_stopped():
    with Lua() as lua, pytest.raises(LuaTimeout) as caught:
        lua.execute("local function busy()\nwhile true do end\nend\nbusy()", time_limit=0.2)
    first, *_, last = caught.value.lua_traceback.splitlines()
    assert first.startswith('[string "execute"]:2: in function')
    assert '[string "execute"]:4: in main chunk' in last


def test_a_python_function_in_between_cannot_swallow_the_limit():
    def ask(f):
        with contextlib.suppress(LuaTimeout):
            f()

    with Lua() as lua:
        lua.globals.ask = ask
        with pytest.raises(LuaTimeout):
            lua.execute("while true do ask(function() while true do end end) end", time_limit=0.2)
        assert lua.eval("1 + 1") == 2


def test_a_limit_of_an_inner_call_is_for_its_caller_to_handle():
    with Lua() as lua:

        def ask():
            try:
                lua.execute("while true do end", time_limit=0.2)
            except LuaTimeout as error:
                return error.message

        lua.globals.ask = ask
        assert "limit of 0.2 s" in lua.execute("return ask()", time_limit=60)
