"""What crossing the border between Python and Lua costs: python benchmarks/lua/crossing.py

The least CPU time of several runs, in microseconds per call.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

import relume as rl

COUNT, REPEATS = 20000, 9
CALLS_PYTHON = """
function(f, count, ...)
   local start = os.clock()
   for _ = 1, count do f(...) end
   return (os.clock() - start) / count * 1e6
end
"""


def show(name: str, microseconds: float) -> None:
    print(f"{name:32s} {microseconds:6.2f} us")


def measure(name: str, run: Callable[[], object]) -> None:
    runs = timeit.repeat(run, number=COUNT, repeat=REPEATS, timer=time.process_time)
    show(name, min(runs) / COUNT * 1e6)


def main() -> None:
    with rl.bridge.Lua() as lua:
        tensor = rl.ones(4, dtype=rl.float64)
        nothing, same = lua.eval("function() end"), lua.eval("function(x) return x end")
        take = lua.eval("function(x) end")
        measure("Python calls Lua", nothing)
        measure("Python passes a number", lambda: take(3))
        measure("Python passes a tensor", lambda: take(tensor))
        measure("a tensor there and back", lambda: same(tensor))
        call = lua.eval(CALLS_PYTHON)
        show("Lua calls Python", min(call(lambda: None, COUNT) for _ in range(REPEATS)))
        passing = min(call(lambda t: None, COUNT, tensor) for _ in range(REPEATS))
        show("Lua passes a tensor", passing)


if __name__ == "__main__":
    main()
