"""Lua objects in Python: they stay in Lua, and what Python does to them happens there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from relume.bridge import graphs
from relume.converters.table import Table

if TYPE_CHECKING:
    from relume.bridge.runtime import Lua

__all__ = ["LuaFunction", "LuaObject", "LuaTable", "LuaValue", "Proxy", "pairs_of"]

_set = object.__setattr__

ENTRIES_PER_CALL = 1000  # far below the number of results that Lua gives


class Proxy:
    """What tables, objects and functions of Lua have in common: a reference to the original."""

    __slots__ = ()
    _runtime: Lua
    _reference: Any

    def _operate(self, operation: str, *args: Any) -> Any:
        return self._runtime._operate(operation, self, *args)

    def __eq__(self, other: object) -> bool:
        """Are both the same Lua object?"""
        if not isinstance(other, Proxy) or other._runtime is not self._runtime:
            return False
        return self._operate("same", other)

    def __hash__(self) -> int:
        return hash(self._operate("pointer"))

    def _for_file(self) -> Any:
        """What a writer of files sees."""
        return self.to_python()

    def to_python(self) -> Any:
        raise TypeError(f"a {type(self).__name__} has no form outside Lua")

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} lives in its Lua runtime and cannot be pickled or copied; "
            "take .to_python()"
        )


class LuaFunction(Proxy):
    """A Lua function. Call it: several results come as a tuple, none as None.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     divide = lua.eval("function(a, b) return math.floor(a / b), a % b end")
    ...     divide(7, 2)
    (3, 1)
    """

    __slots__ = ("__weakref__", "_reference", "_runtime")

    def __init__(self, runtime: Lua, reference: Any):
        self._runtime = runtime
        self._reference = reference

    def __call__(self, *args: Any) -> Any:
        return self._runtime._call(self._reference, args)

    def __repr__(self) -> str:
        return f"<Lua {self._operate('text')}>"


class BoundMethod:
    """A method of a Lua object, with the object in front of its arguments."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, function: LuaFunction, target: Proxy):
        self.__func__ = function
        self.__self__ = target

    def __call__(self, *args: Any) -> Any:
        return self.__func__(self.__self__, *args)

    def __repr__(self) -> str:
        return f"<method of {self.__self__!r}>"


class LuaValue(Proxy):
    """Another value of Lua (a coroutine, a file, a C value): to be kept and given back.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     routine = lua.eval("coroutine.create(function(a) return a + 1 end)")
    ...     lua.eval("coroutine.resume")(routine, 4)
    (True, 5)
    """

    __slots__ = ("__weakref__", "_reference", "_runtime")

    def __init__(self, runtime: Lua, reference: Any):
        self._runtime = runtime
        self._reference = reference

    def __repr__(self) -> str:
        return f"<Lua {self._operate('text')}>"


def pairs_of(runtime: Lua, table: Any) -> Iterator[tuple[Any, Any]]:
    """All keys and values of a table as `pairs` gives them now; what is inside stays in Lua."""
    entries, count = runtime._operate("entries", table)
    for start in range(1, count + 1, ENTRIES_PER_CALL):
        end = min(start + ENTRIES_PER_CALL - 1, count)
        flat = runtime._operate_all("slice", entries, start, end)
        yield from zip(flat[::2], flat[1::2], strict=True)


class LuaTable(Proxy, Table):
    """A Lua table, with the face of `relume.Table`; changes are seen on both sides.

    A table that Lua can call (a class, for instance) can be called.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     t = lua.eval("{10, 20, name = 'n'}")
    ...     t[1], t.name, len(t), list(t)
    (10, 'n', 2, [10, 20])
    """

    __slots__ = ("_reference", "_runtime")

    def __init__(self, runtime: Lua, reference: Any):
        _set(self, "_runtime", runtime)
        _set(self, "_reference", reference)

    def __getitem__(self, key: Any) -> Any:
        value = self._operate("get", key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        graphs.check_key(key)
        self._operate("set", key, value)

    def __delitem__(self, key: Any) -> None:
        self._operate("set", key, None)

    def __contains__(self, key: Any) -> bool:
        return key is not None and self._operate("get", key) is not None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = self._operate("get", name)
        if value is None:
            raise AttributeError(f"the table has no key {name!r}")
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self._operate("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._operate("set", name, None)

    def __len__(self) -> int:
        return self._operate("length")

    def __bool__(self) -> bool:
        return not self._operate("is_empty")

    def __iter__(self) -> Iterator[Any]:
        position = 1
        while (value := self._operate("get", position)) is not None:
            yield value
            position += 1

    def get(self, key: Any, default: Any = None) -> Any:
        """The value at `key`, or `default`."""
        value = None if key is None else self._operate("get", key)
        return default if value is None else value

    def _snapshot(self) -> Table:
        """The keys and values of now; tables inside stay live."""
        table = Table()
        for key, value in pairs_of(self._runtime, self):
            table[key] = value
        return table

    def keys(self) -> list[Any]:
        """All keys: 1, 2, ..., then the others."""
        return self._snapshot().keys()

    def values(self) -> list[Any]:
        """All values, in the order of `keys()`."""
        return self._snapshot().values()

    def items(self) -> list[tuple[Any, Any]]:
        """All (key, value) pairs."""
        return self._snapshot().items()

    def is_list(self) -> bool:
        """Are the keys exactly 1, 2, ..., n?"""
        return self._snapshot().is_list()

    def as_list(self) -> list[Any]:
        """The values at 1, 2, ..., n as a list; ValueError when there are other keys."""
        return self._snapshot().as_list()

    def __call__(self, *args: Any) -> Any:
        return self._runtime._call(self._reference, args)

    def to_python(self) -> Any:
        """A `relume.Table` with the same contents: structure copied, tensors shared.

        >>> import relume as rl
        >>> with rl.bridge.Lua() as lua:
        ...     lua.eval("{1, {2, 3}}").to_python()
        Table({1, Table({2, 3})})
        """
        return graphs.to_python(self._runtime, self)

    __eq__ = Proxy.__eq__
    __hash__ = Proxy.__hash__


class LuaObject(Proxy):
    """An object of a `torch.class`: fields are attributes, methods are bound.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     nn = lua.require("nn")
    ...     layer = nn.Tanh()
    ...     layer.torch_typename, layer.forward(rl.zeros(2, dtype=rl.float64)).tolist()
    ('nn.Tanh', [0.0, 0.0])
    """

    __slots__ = ()

    def __new__(cls, runtime: Lua, reference: Any) -> LuaObject:
        return object.__new__(PlainObject if cls is LuaObject else cls)

    def __init__(self, runtime: Lua, reference: Any):
        _set(self, "_runtime", runtime)
        _set(self, "_reference", reference)

    @property
    def torch_typename(self) -> str:
        """The name of its class, such as "nn.Linear"."""
        return self._operate("typename")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value, is_method = self._operate("method", name)
        if value is None:
            raise AttributeError(f"an object of class {self.torch_typename} has no {name!r}")
        return BoundMethod(value, self) if is_method else value

    def __setattr__(self, name: str, value: Any) -> None:
        self._operate("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._operate("set", name, None)

    def __getitem__(self, key: Any) -> Any:
        return self._operate("get", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._operate("set", key, value)

    def __call__(self, *args: Any) -> Any:
        return self._runtime._call(self._reference, args)

    def __repr__(self) -> str:
        return self._operate("text")

    def to_python(self) -> Any:
        """The same object in Python: a `legacy_nn` layer where the class is known.

        Its structure is copied, its tensors are shared.
        """
        return graphs.to_python(self._runtime, self)


class PlainObject(LuaObject):
    """A `LuaObject` that is no layer."""

    __slots__ = ("__weakref__", "_reference", "_runtime")
