"""Package threads: what its documentation promises, with real threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture
def lua():
    with Lua() as runtime:
        runtime.execute("threads = require 'threads'")
        yield runtime


def test_jobs_see_variables_and_give_results_to_the_caller(lua):
    done = lua.execute(
        """
        local message = 'hello'
        local pool = threads.Threads(2, function(id) greeting = message .. ' ' .. id end)
        local done = {}
        for i = 1, 6 do
           pool:addjob(
              function(a, b) return greeting, a + b, __threadid end,
              function(text, sum, id) done[i] = text == 'hello ' .. id and sum end,
              i, 100)
        end
        pool:synchronize()
        pool:terminate()
        return done
        """
    )
    assert list(done.to_python()) == [101, 102, 103, 104, 105, 106]


def test_threads_run_at_the_same_time(lua):
    """Each of two jobs waits for a counter that only the other one raises."""
    assert lua.execute(
        """
        threads.Threads.serialization('threads.sharedserialize')
        local arrived = require('tds').AtomicCounter()
        local pool = threads.Threads(2)
        local met = 0
        for i = 1, 2 do
           pool:addjob(function()
              arrived:inc()
              local stop = os.time() + 20
              while arrived:get() < 2 and os.time() < stop do end
              return arrived:get()
           end, function(count) met = met + count end)
        end
        pool:terminate()
        return met
        """
    ) == 4  # fmt: skip


def test_arguments_and_results_keep_their_nils(lua):
    seen = lua.execute(
        """
        local pool = threads.Threads(1)
        local seen
        local function job(...) return select('#', ...), nil, (select(3, ...)), nil end
        local function finish(...) seen = {select('#', ...), (...), (select(3, ...))} end
        pool:addjob(job, finish, nil, nil, 7, nil)
        pool:terminate()
        return seen
        """
    )
    assert list(seen.to_python()) == [4, 4, 7]


def test_a_pool_comes_with_what_its_last_function_returned(lua):
    first, second, count = lua.execute(
        """
        local function prepare(id) number = id end
        local pool, results = threads.Threads(2, prepare, function(id) return 10 + number, 'x' end)
        pool:terminate()
        return results[1][1] + results[2][1], results[1][2], #results
        """
    )
    assert (first, second, count) == (23, "x", 2)


def test_a_pool_tells_whether_it_runs(lua):
    assert lua.execute(
        """
        local pool = threads.Threads(1)
        local before = pool:isrunning()
        pool:terminate()
        return before, pool:isrunning(), pool:haserror()
        """
    ) == (True, False, False)


SCALED = """
    threads.Threads.serialization('{package}')
    local x, storage = torch.ones(3), torch.FloatStorage(2):fill(1)
    local pool = threads.Threads(2)
    pool:addjob(function() x:mul(5); storage[1] = 5 return x end, function(y) result = y end)
    pool:terminate()
    return x:sum(), storage[1], result:sum()
"""


def test_serialize_copies_tensors(lua):
    assert lua.execute(SCALED.format(package="threads.serialize")) == (3, 1, 15)


def test_sharedserialize_shares_them(lua):
    assert lua.execute(SCALED.format(package="threads.sharedserialize")) == (15, 5, 15)


def test_sharedserialize_leaves_other_files_alone(lua):
    lua.execute(
        """
        local share = require 'threads.sharedserialize'
        local x = torch.ones(2)
        local same = share.load(share.save(x))
        local copy = torch.deserialize(torch.serialize(x))
        x:fill(7)
        assert(same:sum() == 14 and copy:sum() == 2)
        """
    )


def test_specific_mode_names_the_thread(lua):
    ids = lua.execute(
        """
        local pool = threads.Threads(3)
        pool:specific(true)
        local ids = {}
        for i = 1, 9 do
           local id = (i - 1) % 3 + 1
           local function finish(n) ids[#ids + 1] = n == id end
           pool:addjob(id, function() return __threadid end, finish)
        end
        pool:specific(false)
        pool:addjob(function() return 1 end, function(n) ids[#ids + 1] = n == 1 end)
        pool:terminate()
        return ids
        """
    )
    assert list(ids.to_python()) == [True] * 10


def test_a_full_queue_takes_no_jobs_and_the_pool_can_be_asked(lua):
    lua.execute(
        """
        local pool = threads.Threads(2)
        assert(pool:acceptsjob() and not pool:hasjob())
        local started, done = 0, 0
        while started < 20 do
           while started < 20 and pool:acceptsjob() do
              started = started + 1
              pool:addjob(function() return 1 end, function(n) done = done + n end)
           end
           pool:dojob()
        end
        assert(pool:hasjob())
        pool:synchronize()
        assert(done == 20 and not pool:hasjob())
        """
    )


def test_an_error_in_a_job_says_where_and_the_pool_goes_on(lua):
    lua.execute(
        """
        pool = threads.Threads(1)
        pool:addjob(function()
           function evil() error('bad luck') end
           evil()
        end)
        """
    )
    with pytest.raises(LuaError, match=r"\[thread 1 callback\].*bad luck") as caught:
        lua.execute("pool:synchronize()")
    assert "in function 'evil'" in caught.value.message
    with pytest.raises(LuaError, match=r"\[thread 1 endcallback\].*no thanks"):
        lua.execute(
            "pool:addjob(function() end, function() error('no thanks') end) pool:synchronize()"
        )
    lua.execute(
        "pool:addjob(function() return 10 end, function(x) answer = x end) pool:terminate()"
    )
    assert lua.globals.answer == 10


def test_a_result_that_cannot_be_written_is_an_error(lua):
    with pytest.raises(LuaError, match="Unwritable"):
        lua.execute(
            """
            local pool = threads.Threads(1)
            pool:addjob(function() return coroutine.create(print) end, function() end)
            pool:terminate()
            """
        )


def test_threads_draw_different_random_numbers_and_leave_the_callers_alone(lua):
    lua.execute(
        """
        torch.manualSeed(3)
        local expected = torch.rand(4)
        torch.manualSeed(3)
        local pool = threads.Threads(2)
        pool:specific(true)
        local drawn = {}
        for id = 1, 2 do
           pool:addjob(id, function() return torch.rand(4) end, function(x) drawn[id] = x end)
        end
        pool:terminate()
        assert(torch.rand(4):equal(expected))
        assert(not drawn[1]:equal(drawn[2]) and not drawn[1]:equal(expected))
        """
    )


def test_coroutines_can_yield_in_the_function_for_the_results(lua):
    results = lua.execute(
        """
        local pool = threads.Threads(1)
        local results = {}
        for result in coroutine.wrap(function()
           pool:addjob(function() return 1 end, coroutine.yield)
           pool:addjob(function() return 2 end, coroutine.yield)
           pool:synchronize()
        end) do results[#results + 1] = result end
        return results
        """
    )
    assert list(results.to_python()) == [1, 2]


def test_safe_functions_run_one_at_a_time(lua):
    assert lua.execute(
        """
        threads.Threads.serialization('threads.sharedserialize')
        local x = torch.zeros(1)
        local pool = threads.Threads(4)
        local add = threads.safe(function() for i = 1, 20000 do x[1] = x[1] + 1 end end)
        for i = 1, 8 do pool:addjob(add) end
        pool:terminate()
        return x[1]
        """
    ) == 160000  # fmt: skip


def test_a_thread_of_source_signals_a_condition(lua):
    assert lua.execute(
        """
        local mutex, condition = threads.Mutex(), threads.Condition()
        local x = torch.zeros(2)
        mutex:lock()
        local thread = threads.Thread(([[
           local threads = require 'threads'
           local mutex, condition = threads.Mutex(%d), threads.Condition(%d)
           mutex:lock()
           condition:signal()
           mutex:unlock()
           mutex:free()
           condition:free()
        ]]):format(mutex:id(), condition:id()))
        condition:wait(mutex)
        mutex:unlock()
        thread:free()
        mutex:free()
        condition:free()
        return true
        """
    )


def test_a_queue_keeps_the_order_of_its_jobs(lua):
    lua.execute(
        """
        local queue = require('threads.queue')(3)
        for i = 1, 3 do queue:addjob(function(n) return n * i end, 10) end
        assert(queue.isfull)
        for i = 1, 3 do assert(queue:dojob() == 10 * i) end
        assert(queue.isempty)
        """
    )


def test_a_counter_counts_what_all_threads_count(lua):
    assert lua.execute(
        """
        threads.Threads.serialization('threads.sharedserialize')
        local counter = require('tds').AtomicCounter()
        local pool = threads.Threads(4)
        for i = 1, 4 do
           pool:addjob(function() for i = 1, 30000 do counter:inc() end end)
        end
        pool:terminate()
        return counter:get()
        """
    ) == 120000  # fmt: skip


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("threads.Threads('two')", "number of threads"),
        ("threads.Threads(1):addjob(5)", "a function is expected"),
        ("threads.Threads(1):dojob()", "no job to wait for"),
        ("local p = threads.Threads(1) p:terminate() p:addjob(print)", "terminated"),
        ("local p = threads.Threads(1) p:specific(true) p:addjob(2, print)", "number of a thread"),
        ("local m = threads.Mutex() m:free() m:lock()", "freed"),
        ("threads.Mutex(-1)", "no id"),
    ],
)
def test_mistakes_are_explained(lua, source, message):
    with pytest.raises(LuaError, match=message):
        lua.execute(source)


def test_a_program_ends_though_its_pool_was_never_terminated(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text(
        """
        pool = require('threads').Threads(2)
        pool:addjob(function() end, function() error('too late') end)
        print('end of script')
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "relume", "lua", str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "end of script\n")
