"""Python modules in Lua networks: there they are layers of class `nn.PythonModule`
(lua/nn/python_module.lua), which call what is here.

A layer of `legacy_nn` whose class Lua has is rebuilt there instead, and runs in Lua.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import relume as rl
from relume import Tensor
from relume.bridge.proxies import LuaTable
from relume.legacy_nn import copying, registry
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.known_packages import CLASSES, PREFIXES, RNN
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation

if TYPE_CHECKING:
    from relume.bridge.runtime import Lua

__all__ = ["PythonLayer", "is_in_lua", "layer_of", "side_of", "stays_here"]


@registry.register("relume.PythonLayer")
class PythonLayer(Module):
    """A layer of `legacy_nn` around a `relume.nn.Module` or a function of tensors.

    A file holds its weights and the name of what it calls, not the code.
    """

    __slots__ = ("_function",)
    parameter_names: tuple[str, ...] = ()
    _function: Callable | None

    def __new__(cls, *arguments: Any) -> PythonLayer:
        self: Any = Module.__new__(cls)
        self._function = None
        return self

    def compute(self, input: Activation, *parameters: Any) -> Activation:
        function = self._function
        if function is None:
            name = self.__dict__.get("python_name", "a Python module")
            raise NotImplementedError(
                f"this layer stands for {name}, of which a file holds the weights alone; put the "
                "module in its place with relume.bridge.swap(net, path, module)"
            )
        if isinstance(function, rl.nn.Module):
            values = dict(zip(self.parameter_names, parameters, strict=True))
            return rl.nn.utils.functional_call(function, values, (input,))
        return function(input)

    def training(self) -> Module:
        if isinstance(self._function, rl.nn.Module):
            self._function.train()
        return super().training()

    def evaluate(self) -> Module:
        if isinstance(self._function, rl.nn.Module):
            self._function.eval()
        return super().evaluate()

    def _before_cast(self, typename: str, tensors: Any) -> bool:
        if isinstance(self._function, rl.nn.Module):
            self._function.to(tensors.dtype)
            self._take_parameters()
        return True

    def _take_parameters(self) -> None:
        for name, parameter in self._function.named_parameters():  # type: ignore[union-attr]
            self.__dict__[name] = parameter

    def _copy(self, shared_fields: tuple[str, ...]) -> Module:
        twin = layer_of(copy.deepcopy(self._function) if self.parameter_names else self._function)
        twin.train = self.train
        return twin.share(self, *shared_fields)

    def clone(self, *shared_fields: str) -> Module:
        return self._copy(shared_fields)

    def _save_fields(self) -> dict:
        fields = super()._save_fields()
        if isinstance(self._function, rl.nn.Module):
            fields.update(self._function.named_buffers())
        return fields

    def is_from_file(self) -> bool:
        """Does it hold weights without the module that they are of?"""
        return self._function is None

    def give_weights(self, module: rl.nn.Module) -> None:
        """Gives a module the weights and the state that a file held for it.

        Raises:
            KeyError, ValueError: they do not fit it.
        """
        fields = self.__dict__
        state = {name: fields[name] for name in module.state_dict() if name in fields}
        module.load_state_dict(state)

    def __str__(self) -> str:
        return str(self.__dict__.get("python_name", "relume.PythonLayer"))


def layer_of(module: Any) -> Module:
    """The layer of `legacy_nn` that stands for a module or a function; itself, if it is one."""
    if isinstance(module, Module):
        return module
    if not callable(module):
        raise TypeError(f"expected a module or a function of tensors, not {type(module).__name__}")
    names: tuple[str, ...] = ()
    if isinstance(module, rl.nn.Module):
        names = tuple(name for name, _ in module.named_parameters())
    members = {
        "parameter_names": names,
        "torch_typename": PythonLayer.torch_typename,
        "__module__": __name__,
        "__slots__": (),
    }
    cls = type("PythonLayer", (PythonLayer,), members)
    layer = cls()
    layer._function = module
    name = getattr(module, "__qualname__", type(module).__qualname__)
    layer.python_name = f"{getattr(module, '__module__', '?')}.{name}"
    if names:
        layer._take_parameters()
        layer._type = layer.parameters()[0][0].torch_typename
    layer.train = bool(getattr(module, "training", True))
    return layer


class Side:
    """What Lua calls of a Python module.

    Attributes:
        original: the module that was given.
        layer: the layer of `legacy_nn` that stands for it.
    """

    __slots__ = ("__weakref__", "layer", "original")

    def __init__(self, original: Any) -> None:
        self.original = original
        self.layer = layer_of(original)

    @property
    def typename(self) -> str:
        """The Torch class of the layer."""
        return self.layer.torch_typename

    @property
    def is_criterion(self) -> bool:
        """Is it a criterion?"""
        return isinstance(self.layer, Criterion)

    def updateOutput(self, *arguments: Any) -> Activation:
        return self.layer.updateOutput(*map(plain, arguments))

    def updateGradInput(self, *arguments: Any) -> Activation:
        return self.layer.updateGradInput(*map(plain, arguments))

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self.layer.accGradParameters(plain(input), plain(gradOutput), scale)

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        return self.layer.backward(plain(input), plain(gradOutput), scale)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]] | None:
        parameters, gradients = self.layer.parameters()
        return (parameters, gradients) if parameters else None

    def call(self, method: str, *arguments: Any) -> Any:
        """Any other method; None where it gives the layer itself."""
        result = getattr(self.layer, method)(*map(plain, arguments))
        return None if result is self.layer else result

    def field(self, name: str) -> Any:
        """A field or an attribute that is no method; None where there is none."""
        value = getattr(self.layer, name, None)
        if value is None:
            value = getattr(self.original, name, None)
        return None if callable(value) and not isinstance(value, Tensor) else value

    def has_method(self, name: str) -> bool:
        """Has the layer a method of its class's own by this name?"""
        return not name.startswith("_") and callable(getattr(type(self.layer), name, None))

    def set_field(self, name: str, value: Any) -> None:
        """Sets a field of the layer."""
        setattr(self.layer, name, plain(value))

    def copy(self, *kept: Tensor) -> Side:
        """A copy of the module that shares some tensors."""
        if type(self.layer).clone is Module.clone:
            return side_of(copying.clone(self.layer, kept=kept))
        twin = self.layer.clone()
        for mine, theirs in zip(self.layer.parameters()[0], twin.parameters()[0], strict=True):
            if any(mine is tensor for tensor in kept):
                theirs.data = mine
        return side_of(getattr(twin, "_function", None) or twin)

    def saved(self) -> tuple[str, dict]:
        """The class name and the fields that a file gets."""
        return self.layer.torch_typename, self.layer._save_fields()

    def text(self) -> str:
        return str(self.original)


_sides: weakref.WeakValueDictionary[int, Side] = weakref.WeakValueDictionary()  # by module's id


def side_of(module: Any) -> Side:
    """The `Side` of a module, the same one as long as Lua holds it."""
    side = _sides.get(id(module))
    if side is None:
        side = _sides[id(module)] = Side(module)
    return side


# What Lua calls the packages that classes are known to come from.
_LUA_PACKAGES = {package: name for name, package in PREFIXES.items()} | {RNN: "rnn"}


def classes_of_package(name: str) -> dict[str, bool]:
    """The classes of a public package that Python has: is it a criterion, by Torch class name."""
    named = [one for one, package in CLASSES.items() if _LUA_PACKAGES.get(package) == name]
    named += [one for one in registry.registered_names() if one.startswith(name + ".")]
    found = {typename: registry.lookup(typename) for typename in named}
    return {typename: issubclass(cls, Criterion) for typename, cls in found.items() if cls}


def package_of(typename: str) -> str | None:
    """The Lua package that a Torch class is known to come from, such as "rnn"."""
    package = CLASSES.get(typename)
    return None if package is None else _LUA_PACKAGES.get(package)


def make(typename: str, *arguments: Any) -> Side:
    """The side of a new layer of a class that Python has."""
    cls: Any = registry.lookup(typename)
    named = named_arguments(cls, arguments)
    if named is not None:
        return side_of(cls(**named))
    return side_of(cls(*map(plain, arguments)))


def named_arguments(cls: type, arguments: tuple[Any, ...]) -> dict[str, Any] | None:
    """Arguments that Lua code gave in one table, by the names that the class has for them."""
    if len(arguments) != 1 or not isinstance(arguments[0], LuaTable):
        return None
    fields = dict(arguments[0].items())
    known = inspect.signature(cls).parameters
    if not fields or any(name not in known for name in fields):
        return None
    return {name: plain(value) for name, value in fields.items()}


def fill(typename: str, fields: Any) -> Side:
    """The side of a layer with the fields of a file."""
    cls: Any = registry.lookup(typename)
    layer = cls.__new__(cls)
    layer._load_fields(dict(fields.to_python().items()))
    return side_of(layer)


def is_in_lua(value: Any) -> bool:
    """Is it a Python module that stands in some Lua network?"""
    return id(value) in _sides


def stays_here(lua: Lua, value: Any) -> bool:
    """Does Lua get this layer as one that runs in Python?

    So it is when its class is written in Python alone, or otherwise than Lua's, and when it stands
    in a Lua network already.
    """
    if is_in_lua(value):
        return True
    if not isinstance(value, Module) or hasattr(value, "_in_lua"):
        return False
    cls, typename = type(value), value.torch_typename
    if lua._operate("runs_in_python", typename):
        return True
    if cls.__module__.startswith("relume.") and typename.startswith("nn."):
        return False  # one that Lua has too, once its package is loaded
    return not (registry.lookup(typename) is cls and lua._defines(typename))


def plain(value: Any) -> Any:
    """Lua's tables as tables of Python."""
    return value.to_python() if isinstance(value, LuaTable) else value
