"""Memory and threads: nothing leaks, nothing is freed early, nothing waits for ever."""

from __future__ import annotations

import gc
import resource
import threading
import weakref

import numpy as np
import pytest
from sanitizer import SANITIZED

import relume as rl
from relume.bridge import Lua


def resident_megabytes() -> float:
    if SANITIZED:
        pytest.skip("the sanitizer has its own allocator")
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def test_luas_collector_sees_tensor_memory():
    with Lua() as lua:
        loop = lua.eval(
            "function(n) for i = 1, n do local t = torch.Tensor(131072):fill(1) end end"
        )
        loop(50)
        before = resident_megabytes()
        loop(2000)  # 2 GB of temporaries
        assert resident_megabytes() - before < 200


def test_runtimes_come_and_go():
    def once():
        lua = Lua()
        lua.globals.f = lambda: lua.eval("1")  # a cycle through both languages
        lua.execute("x = torch.ones(1000); f()")
        lua.close()

    for _ in range(5):
        once()
    gc.collect()
    before = resident_megabytes()
    for _ in range(40):
        once()
    gc.collect()
    assert resident_megabytes() - before < 40


def test_a_dropped_runtime_goes_without_close():
    lua = Lua()
    lua.execute("x = {}; x.x = x")
    gone = weakref.ref(lua)
    del lua
    gc.collect()
    assert gone() is None


def test_crossing_leaves_no_references():
    with Lua() as lua:
        same = lua.eval("function(x) return x end")
        x = rl.ones(10)
        ended = weakref.ref(x)
        for _ in range(1000):
            assert same(x) is x
        del x
        lua.collect_garbage()
        gc.collect()
        assert ended() is None


def test_python_objects_in_lua_are_let_go():
    class Thing:
        pass

    with Lua() as lua:
        thing = Thing()
        ended = weakref.ref(thing)
        lua.globals.thing = thing
        del thing
        assert ended() is not None
        lua.execute("thing = nil")
        lua.collect_garbage()
        gc.collect()
        assert ended() is None


def test_many_callbacks():
    with Lua() as lua:
        lua.execute("kept = {}")
        keep = lua.eval("function(f) kept[#kept + 1] = f end")
        for i in range(2000):
            keep(lambda i=i: i)
        assert (
            lua.execute("local s = 0; for _, f in ipairs(kept) do s = s + f() end; return s")
            == 1999000
        )
        source = (
            "return coroutine.wrap(function() for i = 1, 500 do kept[i]() end; return 'ok' end)()"
        )
        assert lua.execute(source) == "ok"


def test_runtimes_run_side_by_side_on_shared_tensors():
    shared = rl.zeros(4, dtype=rl.float64)
    results, errors = [], []

    def work(number):
        try:
            with Lua() as lua:
                lua.globals.shared = shared
                lua.globals.callback = lambda v: v + number
                results.append(
                    lua.execute(
                        """
                        local total = 0
                        for i = 1, 3000 do
                           local view = shared:narrow(1, 1, 2)
                           total = total + callback(view:nElement())
                        end
                        return total
                        """
                    )
                )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not errors
    assert sorted(results) == [3000 * (2 + n) for n in range(4)]


def test_threads_share_one_runtime():
    with Lua() as lua:
        lua.globals.collect = gc.collect
        count = lua.eval(
            """function(n)
                local s = 0
                for i = 1, n do
                    s = s + i
                    if i % 50 == 0 then collect() end
                end
                return s
            end"""
        )
        results = []
        threads = [threading.Thread(target=lambda: results.append(count(200))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert results == [20100] * 4


def test_lua_runs_without_pythons_lock():
    with Lua() as lua:
        spin = lua.eval("function(n) local x = 0; for i = 1, n do x = x + i % 7 end; return x end")
        thread = threading.Thread(target=spin, args=(2e8,))
        thread.start()
        turns = 0
        while thread.is_alive() and turns < 1000:
            turns += 1
        assert turns == 1000  # Python went on while Lua was busy
        thread.join()


class Source:
    """Makes what nobody in Python holds on to, in every way in which Lua can ask for it."""

    def __init__(self, make):
        self.make = make

    def method(self):
        return self.make()

    @property
    def attribute(self):
        return self.make()

    def __getitem__(self, key):
        return self.make()


@pytest.mark.parametrize("ask", ["source()", "source:method()", "source.attribute", "source[1]"])
@pytest.mark.parametrize("kind", ["tensor", "array", "storage", "several", "list"])
def test_lua_holds_what_only_a_python_function_held(ask, kind):
    make = {
        "tensor": lambda: rl.ones(300) * 2,
        "array": lambda: np.full(300, 2.0),
        "storage": lambda: (rl.ones(300) * 2).storage(),
        "several": lambda: (np.full(300, 2.0), rl.ones(300) * 2),
        "list": lambda: [rl.ones(300) * 2, np.full(300, 2.0)],
    }[kind]
    with Lua() as lua:
        lua.globals.source = make if ask == "source()" else Source(make)
        total = lua.eval(f"""function(fresh)
            local sum, held = 0, {{}}
            for i = 1, 200 do
                local values = {{{ask}}}
                fresh()
                if type(values[1]) == 'table' then values = values[1] end
                for _, value in ipairs(values) do
                    held[#held + 1] = value
                    sum = sum + value[1] + value[300]
                end
            end
            for _, value in ipairs(held) do assert(value[300] == 2) end
            return sum / #held
        end""")
        assert total(lambda: rl.ones(300) * 3) == 4


def test_a_loop_in_lua_does_not_hold_what_python_functions_gave():
    with Lua() as lua:
        loop = lua.eval("function(n, f) for i = 1, n do f() end end")
        loop(10, lambda: np.ones(131072))
        before = resident_megabytes()
        loop(1000, lambda: np.ones(131072))  # 1 GB of temporaries
        loop(1000, lambda: rl.ones(262144) * 2)
        for _ in range(1000):  # as arguments
            loop(0, np.ones(131072))
        assert resident_megabytes() - before < 200
        ended = []

        def give():
            value = rl.ones(10)
            ended.append(weakref.ref(value))
            return value

        loop(3, give)
        lua.collect_garbage()
        assert [gone() for gone in ended] == [None] * 3


@pytest.mark.parametrize("made", ["{}", "function() return 1 end", "torch.class('C' .. i)"])
@pytest.mark.parametrize(
    "way", ["keep(made)", "pcall(fail, made)", "box.x = made", "box[made] = 1"]
)
def test_python_keeps_lua_objects_longer_than_their_coroutine(made, way):
    class Box(dict):
        pass

    kept = []

    def fail(value):
        error = ValueError("a traceback holds the frame and its arguments")
        kept.append(error)
        raise error

    with Lua() as lua:
        box = Box()
        source = f"""
            local keep, fail, box = ...
            for i = 1, 100 do
                local made = {made}
                coroutine.wrap(function() {way} end)()
            end
            collectgarbage()
        """
        lua.execute(source, kept.append, fail, box)
        lua.collect_garbage()
        kept.clear()
        box.clear()
        del box
        gc.collect()
        lua.collect_garbage()
        assert lua.eval("1") == 1


@pytest.mark.parametrize("size", [8, 4_000_000])
def test_a_storage_that_shrinks_keeps_what_other_tensors_see(size):
    whole = rl.arange(size, dtype=rl.float64)
    end = whole[size - 8 :]
    lua = rl.bridge.Lua()
    lua.execute("local storage = (...):storage(); storage:resize(1)", whole)
    assert end.clone().shape == (8,)  # readable, whatever is there now
    lua.execute("(...):storage():resize(4)", whole)
    assert len(whole.storage()) == 4 and whole[0].item() == 0
    lua.close()
