"""A Lua runtime: one LuaJIT with relume's `torch`, beside Python in one process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lupa import luajit21

from relume import _C
from relume.bridge.callbacks import install_callbacks
from relume.bridge.crossing import Handle, decode, decode_all, encode, encode_all
from relume.bridge.errors import LuaError, LuaTimeout, note_lua_stack
from relume.bridge.proxies import LuaTable

__all__ = ["Lua"]

LUA_FOLDER = Path(__file__).parent / "lua"

_PLAIN_TYPES = {float, int, bytes, bool, type(None), Handle}  # of what lupa passes

_START = b"""
local folder, library = ...
package.path = folder .. '/?.lua;' .. folder .. '/?/init.lua;' .. package.path
package.preload['relume.library'] = function() return library end
loadfile(folder .. '/relume/searchers.lua')(folder).install()
return require 'relume.bridge', require 'relume.graph'
"""


class Lua:
    """A LuaJIT with `torch`, `nn` and `nngraph` on relume's own engine.

    Tensors, storages and NumPy arrays go in and out without a copy; lists and dicts become
    Lua tables; Lua's tables, functions and objects come out as live proxies (`LuaTable`,
    `LuaFunction`, `LuaObject`). docs/bridge.md has all rules.

    A runtime may be used from several threads, one at a time; runtimes of their own run side
    by side.

    Args:
        interruptible: Ctrl-C and time limits stop compiled loops too, which then take a
            nanosecond more per turn.

    >>> import relume as rl
    >>> lua = rl.bridge.Lua()
    >>> x = rl.zeros(3, dtype=rl.float64)
    >>> lua.execute("local x = ...; x:add(1)", x)
    >>> x.tolist()
    [1.0, 1.0, 1.0]
    >>> lua.eval("1 + 1")
    2
    >>> lua.close()
    """

    def __init__(self, *, interruptible: bool = True) -> None:
        runtime = luajit21.LuaRuntime(
            unpack_returned_tuples=True,
            encoding=None,
            register_eval=False,
            register_builtins=False,
        )
        start = runtime.eval(b"function(source, ...) return assert(loadstring(source))(...) end")
        folder, library = os.fsencode(LUA_FOLDER), os.fsencode(_C.__file__)
        bridge, graph = start(_START, folder, library)
        self._runtime: Any = runtime
        self._invoke = bridge[b"call"]
        self._invoke_with_one = bridge[b"call_with_one"]
        self._operations = {name.decode(): f for name, f in bridge[b"operations"].items()}
        self._graph_functions = {
            name: graph[name.encode()] for name in ("begin", "make", "fill", "object", "walk")
        }
        self._limit = 0.0  # seconds, of the call under way
        self._limited_depth = 0  # of the call that has this limit
        self._place = -1  # among the runtimes that can be stopped
        self._depth = bytearray(1)  # calls into Lua that are under way
        self._interrupt: BaseException | None = None
        self._defined: set[str] = set()  # classes that Lua code has defined
        self._made_classes: dict[str, type] = {}
        self._kept: dict[int, list[Any]] = {}
        self._returned: dict[int, Any] = {}
        install_callbacks(bridge[b"python"], self)
        self._place = self._watch(bridge, interruptible)
        self.require("torch")

    # ---- running ----

    def execute(self, source: str | bytes, *args: Any, time_limit: float | None = None) -> Any:
        """Runs Lua source; `args` are its `...`.

        Args:
            source: statements.
            time_limit: seconds after which the code is stopped, compiled loops too.

        Returns:
            What the chunk returns: None, a value, or a tuple of several.

        Raises:
            LuaError: the source has a mistake, or raised an error.
            LuaTimeout: (a LuaError) it took longer than `time_limit`.
            Exception: of a Python function that the source called, unchanged.

        >>> import relume as rl
        >>> lua = rl.bridge.Lua()
        >>> lua.execute("local a, b = ...; return b, a", 1, 2)
        (2, 1)
        """
        with self._limited(time_limit):
            return self._run_chunk(self._compile(source, '=[string "execute"]'), args)

    def eval(self, expression: str | bytes) -> Any:
        """The value of a Lua expression (several, separated by commas: a tuple).

        >>> import relume as rl
        >>> rl.bridge.Lua().eval("#'four', 2 ^ 10")
        (4, 1024)
        """
        if isinstance(expression, str):
            expression = expression.encode()
        return self._run_chunk(self._compile(b"return " + expression, '=[string "eval"]'), ())

    def run(self, path: str | os.PathLike[str], *args: Any, time_limit: float | None = None) -> Any:
        """Runs a Lua file; `args` are its `...` and its global `arg`.

        Args:
            path: the file.
            time_limit: seconds after which it is stopped.

        Raises:
            FileNotFoundError: there is no such file.
        """
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no Lua file at {os.fspath(path)!r}")
        name = os.fspath(path)
        self._operate("set_arguments", name, *args)
        with self._limited(time_limit):
            return self._run_chunk(self._operate("load_file", name)._reference, args)

    def require(self, name: str) -> Any:
        """What Lua's `require(name)` returns, such as the table of a package.

        >>> import relume as rl
        >>> nn = rl.bridge.Lua().require("nn")
        >>> nn.Linear(3, 4)
        nn.Linear(3 -> 4)
        """
        return self._operate("require", name)

    @property
    def globals(self) -> LuaTable:
        """Lua's global variables: `lua.globals.x = 1`, `lua.globals.x`."""
        return self._operate("globals")

    def collect_garbage(self) -> None:
        """Frees what Lua no longer uses, now."""
        self._operation("collect")()

    # ---- the end ----

    def close(self) -> None:
        """Lets go of everything in Lua; the runtime and its objects cannot be used after it.

        This also breaks cycles that run through both languages, which no collector sees.
        """
        runtime, self._runtime = self._runtime, None
        if runtime is None:
            return
        self._end_watch()
        self._operations["close"]()
        self._operations = {}
        self._graph_functions = {}
        self._invoke = self._invoke_with_one = None
        self._kept.clear()
        self._returned.clear()

    def __enter__(self) -> Lua:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Lua runtime, closed>" if self._runtime is None else "<Lua runtime>"

    # ---- calls ----

    def _compile(self, source: str | bytes, name: str) -> Any:
        if isinstance(source, str):
            source = source.encode("utf-8", "surrogateescape")
        return self._operate("compile", source, name)._reference

    def _run_chunk(self, chunk: Any, args: tuple[Any, ...]) -> Any:
        sys.stdout.flush()
        try:
            return self._call(chunk, args)
        finally:
            if self._runtime is not None:
                self._operations["flush"]()

    def _operation(self, name: str) -> Any:
        if self._runtime is None:
            raise RuntimeError("this Lua runtime is closed")
        return self._operations[name]

    def _operate(self, name: str, *args: Any) -> Any:
        return self._call(self._operation(name), args)

    def _operate_all(self, name: str, *args: Any) -> list[Any]:
        return self._call_all(self._operation(name), args)

    def _graph(self, name: str, *args: Any) -> Any:
        """A function of graph.lua, with values as lupa carries them."""
        self._operation("same")
        try:
            return self._graph_functions[name](*args)
        except luajit21.LuaError as error:
            raise LuaError(str(error)) from None

    def _defines(self, typename: str) -> bool:
        """Has Lua code defined this class? The package that it is named after is loaded first."""
        if typename not in self._defined and self._operate("defines", typename):
            self._defined.add(typename)
        return typename in self._defined

    def _class_in_lua(self, typename: str) -> type | None:
        """A Python class for one that only Lua code has; None if that has none either."""
        if not self._defines(typename):
            return None
        if typename not in self._made_classes:
            from relume.bridge.classes import make_class

            self._made_classes[typename] = make_class(self, typename)
        return self._made_classes[typename]

    def _watch(self, bridge: Any, loops: bool) -> int:
        """Lets Ctrl-C and time limits stop what runs here."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._depth))
        return _C.watch_lua(luajit21.__file__, int(bridge[b"watched_state"](), 16), address, loops)

    def _end_watch(self) -> None:
        """Before the runtime goes: no signal must look at it any more."""
        place, self._place = self._place, -1
        if place >= 0:
            _C.forget_lua(place)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be ending
            self._end_watch()

    def _keep_alive(self, value: Any) -> None:
        """Holds a temporary of this thread until Lua has taken a reference of its own."""
        self._kept.setdefault(threading.get_ident(), []).append(value)

    def _move_home(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Lua objects that a coroutine passes, bound to the main state instead.

        Lupa binds an object to the state that passed it and uses that state to let go of the
        object, when the coroutine may be gone.
        """
        if _PLAIN_TYPES.issuperset(map(type, values)):
            return values
        same = self._operation("identity")
        return tuple([same(v) if luajit21.lua_type(v) else v for v in values])

    def _encode_results(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a Python function gives to Lua, held until this thread's next crossing.

        Lua takes its references only after Python has let go of the function's frame. What
        the last function gave is let go of here: a long Lua loop holds one result, not all.
        """
        thread = threading.get_ident()
        arguments = self._kept.pop(thread, None)  # of a call into Lua that is under way
        try:
            kinds, carried = encode_all(self, results)
            self._returned[thread] = results, self._kept.pop(thread, None)
        finally:
            if arguments is not None:
                self._kept[thread] = arguments
        return kinds, *carried

    def _call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Calls a Lua function: no result is None, one is itself, several are a tuple."""
        answer = self._answer(function, args)
        if answer is None:
            return None
        if len(answer) == 2:  # nearly always
            return decode(self, answer[0] or b"v", answer[1])
        return tuple(decode_all(self, answer[0], answer[1:]))

    def _call_all(self, function: Any, args: tuple[Any, ...]) -> list[Any]:
        """The same with the results in a list."""
        answer = self._answer(function, args)
        return [] if answer is None else decode_all(self, answer[0], answer[1:])

    def _answer(self, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Calls a Lua function; returns kinds and what lupa carried, None when it gave nothing."""
        if self._runtime is None:
            raise RuntimeError("this Lua runtime is closed")
        depth = self._depth
        depth[0] += 1
        try:
            if len(args) == 1:
                answer = self._invoke_with_one(function, *encode(self, args[0]))
            elif args:
                kinds, carried = encode_all(self, args)
                answer = self._invoke(function, kinds, *carried)
            else:
                answer = self._invoke(function)
        except luajit21.LuaError as error:  # raised outside of what Lua code itself guards
            reason = _C.resume_lua(self._place)
            if not reason:
                raise LuaError(str(error)) from None
            stack = self._last_stack() or str(error)
            raise self._stopped(reason, stack, depth[0] - 1) from None
        except BaseException:  # Ctrl-C, as soon as Lua is stopped
            _C.resume_lua(self._place)
            raise
        finally:
            depth[0] -= 1
        if self._kept:
            self._kept.pop(threading.get_ident(), None)
        if self._returned:
            self._returned.pop(threading.get_ident(), None)
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt
        if answer is not None and answer[0] == b"!":
            raise self._error_from(*answer[1:])
        return answer

    @contextlib.contextmanager
    def _limited(self, seconds: float | None) -> Iterator[None]:
        """Stops what this thread runs in Lua once the time is up."""
        if seconds is None:
            yield
            return
        outer = self._limit, self._limited_depth
        self._limit, self._limited_depth = seconds, self._depth[0]
        thread = threading.get_ident()
        done = threading.Event()

        def wait() -> None:
            if done.wait(seconds):
                return
            while not done.wait(0.05):  # again, should the code have caught the error
                _C.stop_lua(self._place, thread)

        watch = threading.Thread(target=wait, daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
            _C.resume_lua(self._place)
            self._limit, self._limited_depth = outer

    def _last_stack(self) -> str:
        """Where the last error arose: what stops Lua passes every handler but the first."""
        return (self._operations["last_stack"]() or b"").decode(errors="replace")

    def _stopped(self, reason: int, stack: str, depth: int) -> BaseException:
        """The error for Lua code that was stopped (`_C.resume_lua` has the reasons)."""
        interrupt, self._interrupt = self._interrupt, None
        if reason == 2:
            timeout = LuaTimeout(self._limit, stack)
            if depth > self._limited_depth:  # a Python function in between must not keep it
                self._interrupt = timeout
            return timeout
        error = interrupt or KeyboardInterrupt()
        note_lua_stack(error, stack)
        return error

    def _error_from(
        self, kind: bytes, value: Any, stack: bytes, text: bytes | None = None
    ) -> BaseException:
        shown = stack.decode(errors="replace")
        try:
            if reason := _C.resume_lua(self._place):
                return self._stopped(reason, shown, self._depth[0])
        except KeyboardInterrupt as interrupt:
            note_lua_stack(interrupt, shown)
            return interrupt
        if kind == b"x":
            error = value.target
            note_lua_stack(error, shown)
            return error
        value = decode(self, kind, value)
        if isinstance(value, BaseException):  # came before `guarded` could catch it: Ctrl-C
            note_lua_stack(value, shown)
            return value
        message = text.decode(errors="replace") if text is not None else str(value)
        return LuaError(message, value, shown)
