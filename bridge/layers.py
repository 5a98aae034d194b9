"""Layers and criterions that live in Lua, as layers of `legacy_nn`.

They are `LuaObject`s: fields and methods are those of the object in Lua. Beyond that they are what
Python code takes for a layer: `net(x)` records on the tape, `parameters()` gives two lists, an
optimizer trains them, a container of `legacy_nn` holds them.
"""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.bridge.proxies import BoundMethod, LuaObject, LuaTable
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.protocol_function import apply_criterion

__all__ = ["LuaCriterionProxy", "LuaLayer"]

# What Python answers itself.
OWN_NAMES = ("torch_typename", "parameters", "children", "to_python", "find_modules", "walk")


class LivesInLua(LuaObject):
    """What layers and criterions in Lua have in common."""

    __slots__ = ()

    def __new__(cls: Any, runtime: Any, reference: Any) -> Any:
        return Module.__new__(cls)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in OWN_NAMES:
            return object.__getattribute__(self, name)
        value, is_method = self._operate("method", name)
        if value is None:  # Lua has no such thing; Python may
            return object.__getattribute__(self, name)
        return BoundMethod(value, self) if is_method else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") and hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            self._operate("set", name, value)

    def __str__(self) -> str:
        return repr(self)

    def children(self) -> list[Any]:
        """The layers directly inside, in order."""
        modules = self._operate("get", "modules")
        return list(modules) if isinstance(modules, LuaTable) else []

    def _before_cast(self, typename: str, tensors: Any) -> bool:
        self.type(typename)
        return False

    def _copy(self, shared_fields: tuple[str, ...]) -> Any:
        return self.clone(*shared_fields)


class LuaLayer(LivesInLua, Module):
    """A layer that lives in Lua: an `nn.Linear` there, or one of a class that Lua code defines.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     layer = lua.require("nn").Linear(3, 2)
    ...     x = rl.ones(1, 3, dtype=rl.float64, requires_grad=True)
    ...     layer(x).sum().backward()
    ...     isinstance(layer, rl.legacy_nn.Module), (x.grad == layer.weight.sum(0)).all().item()
    (True, True)
    """

    __slots__ = ("_reference", "_runtime")
    torch_typename: Any = LuaObject.torch_typename  # of the object, not of this class

    def __call__(self, *inputs: Any) -> Any:
        """The output for a tensor or a table of tensors, on the tape; else what Lua's call gives,
        such as a graph node."""
        if len(inputs) == 1 and nested.tensors_in(inputs[0]):
            return self._call_protocol(inputs[0])
        return self._runtime._call(self._reference, inputs)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters and their gradients, two lists; the tensors are Lua's own."""
        found = self._operate("method", "parameters")[0](self)
        if found is None:
            return [], []
        parameters, gradients = found
        return list(parameters), list(gradients)


class LuaCriterionProxy(LivesInLua, Criterion):
    """A criterion that lives in Lua.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     criterion = lua.require("nn").MSECriterion()
    ...     x = rl.ones(2, dtype=rl.float64, requires_grad=True)
    ...     criterion(x, rl.zeros(2, dtype=rl.float64)).backward()
    ...     x.grad.tolist()
    [1.0, 1.0]
    """

    __slots__ = ("_reference", "_runtime")
    torch_typename: Any = LuaObject.torch_typename  # of the object, not of this class

    def __call__(self, *arguments: Any) -> Any:
        """The value for an input and a target on the tape; else what Lua's call gives."""
        if len(arguments) == 2 and nested.tensors_in(arguments[0]):
            return apply_criterion(self, *arguments)
        return self._runtime._call(self._reference, arguments)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """A criterion has none."""
        return [], []


# Both have what they do in Lua, whatever this class says.
for _class in (LuaLayer, LuaCriterionProxy):
    _class._own_forward = _class._own_backward = True
