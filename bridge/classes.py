"""Classes that Lua code defines, as Python classes: objects of a file whose class is written in
Lua run there, and are layers like all others here.

The fields are Python attributes, as with every layer. The object in Lua is made from them when it
is first needed; before each call it is told what changed here, after each call what changed there
comes back. Tensors are the same on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import relume as rl
from relume import Tensor
from relume.bridge import graphs
from relume.bridge.errors import LuaError
from relume.bridge.proxies import LuaFunction, LuaObject, LuaTable, pairs_of
from relume.bridge.runtime import Lua
from relume.converters.lua_function import LuaFunction as LuaFunctionRecord
from relume.converters.torch_object import TorchObject
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module

__all__ = ["classes_of"]

# What the classes of a file may be derived from.
PACKAGES = ("nn", "nngraph", "optim", "rnn", "dpnn")
# Methods of Torch7's protocol that a Lua class may write, and all its objects run in Lua.
MODULE_METHODS = (
    "updateOutput",
    "forward",
    "updateGradInput",
    "accGradParameters",
    "backward",
    "accUpdateGradParameters",
    "zeroGradParameters",
    "updateParameters",
    "reset",
    "training",
    "evaluate",
    "clearState",
)
CRITERION_METHODS = ("updateOutput", "forward", "updateGradInput", "backward", "clearState")


def classes_of(lua: Any) -> dict[str, type]:
    """Python classes for the classes that Lua code defines.

    Args:
        lua: the path of a Lua file, or several, which are run in a new runtime; or a runtime
            that has run them.

    Returns:
        The classes by Torch7 class name. An object is filled by its `_load_fields`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "Twice.lua")
    >>> with open(path, "w") as file:
    ...     _ = file.write(
    ...         "local Twice = torch.class('nn.Twice', 'nn.Module')\\n"
    ...         "function Twice:updateOutput(x) self.output = x * 2; return self.output end\\n"
    ...     )
    >>> Twice = classes_of(path)["nn.Twice"]
    >>> Twice().forward(rl.ones(2)).tolist()
    [2.0, 2.0]
    """
    if isinstance(lua, Lua):
        return {
            name: make_class(lua, name) for name in _names(lua) if not _is_known_to_python(name)
        }
    paths: Iterable[Any] = [lua] if isinstance(lua, (str, os.PathLike)) else lua
    runtime = Lua()
    for package in PACKAGES:
        _require_if_there(runtime, package)
    before = set(_names(runtime))
    for path in paths:
        runtime.run(path)
    return {name: make_class(runtime, name) for name in _names(runtime) if name not in before}


def _names(lua: Lua) -> list[str]:
    """All classes that are defined in a runtime."""
    return list(lua.execute("return require('torch.class').defined_names()"))


def _is_known_to_python(name: str) -> bool:
    from relume import legacy_nn

    return name.startswith("torch.") or legacy_nn.lookup(name) is not None


def _require_if_there(lua: Lua, package: str) -> None:
    try:
        lua.require(package)
    except LuaError as error:
        if "not found" not in str(error):
            raise


def make_class(lua: Lua, name: str) -> type:
    """A Python class for a Lua class."""
    ancestors = list(lua.execute("return require('torch.class').ancestors(...)", name))
    if "nn.Criterion" in ancestors:
        base: type = LuaCriterion
    elif "nn.Module" in ancestors:
        base = LuaModule
    else:
        base = LuaInstance
    members = {
        "torch_typename": name,
        "lua": lua,
        "__doc__": f"{name}, which is written in Lua.",
        "__module__": __name__,
        "__slots__": (),
    }
    return type(name.rpartition(".")[2], (base,), members)


class InLua:
    """What objects of Lua classes have in common."""

    __slots__ = ()
    lua: Lua
    torch_typename: str
    _in_lua: LuaObject | None  # the object there, once it is needed
    _sent: dict[str, Any]  # the fields as both sides know them

    def _make(self: Any, arguments: tuple) -> None:
        """Calls the class's constructor in Lua."""
        constructor = self.lua.eval(self.torch_typename)
        self._in_lua, self._sent = constructor(*arguments), {}
        self._pull()

    def _there(self: Any) -> LuaObject:
        """The object in Lua, with the fields that it has here."""
        if self._in_lua is None:
            self._complete()
            reference = graphs.to_lua(self.lua, self)
            self._in_lua = LuaObject(self.lua, reference)
            self._sent = dict(vars(self))
            return self._in_lua
        fields = vars(self)
        for name, value in fields.items():
            if self._sent.get(name, self) is not value and not isinstance(value, LuaFunctionRecord):
                self._in_lua[name] = value
                self._sent[name] = value
        for name in [name for name in self._sent if name not in fields]:
            del self._sent[name]
            self._in_lua[name] = None
        return self._in_lua

    def _complete(self) -> None:
        """Makes what a file left out and Lua code relies on."""

    def _pull(self) -> None:
        """Takes over what Lua code has changed in the fields."""
        assert self._in_lua is not None
        fields = vars(self)
        found = dict(pairs_of(self.lua, self._in_lua))
        for name, value in found.items():
            if isinstance(value, LuaFunction):
                continue
            if isinstance(value, (LuaTable, LuaObject)):
                if holds_objects(fields.get(name)):
                    continue  # layers inside: they are here already, and their tensors are shared
                value = as_python(value)
            fields[name] = self._sent[name] = value
        for name in [name for name in self._sent if name not in found]:
            del self._sent[name]
            if fields.get(name) is not None and not isinstance(fields[name], LuaFunctionRecord):
                del fields[name]

    def _run(self, method: str, *arguments: Any) -> Any:
        """Calls a method in Lua."""
        result = getattr(self._there(), method)(*arguments)
        self._pull()
        if isinstance(result, LuaObject) and result == self._in_lua:
            return self
        if isinstance(result, tuple):
            return tuple(as_python(value) for value in result)
        return as_python(result)

    def _before_cast(self: Any, typename: str, tensors: Any) -> bool:
        self._in_lua = None  # it is made anew from the converted fields
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._there(), name, None)
        if callable(method):
            return lambda *arguments: self._run(name, *arguments)
        return super().__getattr__(name)  # type: ignore[misc]

    def __str__(self) -> str:
        return self._there()._operate("text")

    __repr__ = __str__


def as_python(value: Any) -> Any:
    """What Lua code gave, with tables and objects rebuilt here."""
    return value.to_python() if isinstance(value, (LuaTable, LuaObject)) else value


def holds_objects(value: Any) -> bool:
    """Is it a layer or another object of a class, or a table of such?"""
    if isinstance(value, (dict, rl.Table)):
        return any(map(holds_objects, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(holds_objects, value))
    return isinstance(value, (InLua, Module, TorchObject))


# These give the object itself, whatever the Lua class says.
CHAINED = ("reset", "training", "evaluate", "clearState")


def in_lua(name: str) -> Callable:
    def method(self: Any, *arguments: Any) -> Any:
        result = self._run(name, *arguments)
        return self if name in CHAINED else result

    method.__name__ = name
    method.__doc__ = f"Runs the Lua class's {name}."
    return method


def new_object(cls: Any, *arguments: Any, **named: Any) -> Any:
    self: Any = Module.__new__(cls)
    self._in_lua, self._sent = None, {}
    return self


class LuaModule(InLua, Module):
    """A layer whose class is written in Lua."""

    __slots__ = ("_in_lua", "_sent")
    __new__ = new_object

    def __init__(self, *arguments: Any) -> None:
        self._make(arguments)

    def children(self) -> list[Any]:
        return list(self.__dict__.get("modules") or [])

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        result = self._run("parameters")
        if result is None:
            return [], []
        parameters, gradients = result
        return list(parameters), list(gradients)

    def _complete(self) -> None:
        for name in ("weight", "bias"):
            if isinstance(self.__dict__.get(name), Tensor):
                self._gradient(name)


class LuaCriterion(InLua, Criterion):
    """A criterion whose class is written in Lua."""

    __slots__ = ("_in_lua", "_sent")
    __new__ = new_object

    def __init__(self, *arguments: Any) -> None:
        self._make(arguments)


for _base, _names_of_methods in ((LuaModule, MODULE_METHODS), (LuaCriterion, CRITERION_METHODS)):
    for _name in _names_of_methods:
        setattr(_base, _name, in_lua(_name))
# These were not there yet when the classes were made.
LuaModule._own_forward = LuaModule._own_backward = True


class LuaInstance(InLua):
    """An object of a class that is no layer and is written in Lua."""

    __slots__ = ("__dict__", "__weakref__", "_in_lua", "_sent")

    def __new__(cls, *arguments: Any) -> LuaInstance:
        self = object.__new__(cls)
        self._in_lua, self._sent = None, {}
        return self

    def __init__(self, *arguments: Any) -> None:
        self._make(arguments)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)
