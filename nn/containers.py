"""Modules that hold other modules or parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from relume import Tensor
from relume.nn.module import Module, _indented, _layout
from relume.nn.parameter import Parameter
from relume.tensor.printing import size_text


def _position(index: Any, length: int, owner: Module) -> int:
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of range for {type(owner).__name__} of {length}")
    return position % length


class _NumberedModules(Module):
    """Modules in an order, under the names "0", "1", ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name_at(self, index: Any) -> str:
        return list(self._modules)[_position(index, len(self), self)]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._of_some(list(self._modules.items())[index])
        return self._modules[self._name_at(index)]

    def _of_some(self, items: list[tuple[str, Any]]) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def _keep(self, modules: Iterable[Any]) -> None:
        """Numbers these modules anew, as the only ones."""
        self.__dict__["_modules"] = {}
        for position, module in enumerate(modules):
            self.add_module(str(position), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index if isinstance(index, slice) else _position(index, len(self), self)]
        self._keep(modules)

    def append(self, module: Module) -> Any:
        """Adds a module at the end; returns itself."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end; returns itself."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Adds a module before a position."""
        modules = list(self)
        modules.insert(index, module)
        self._keep(modules)
        return self

    def pop(self, index: int = -1) -> Any:
        """Takes a module out and returns it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)(*self, *other)


class Sequential(_NumberedModules):
    """Applies modules one after another.

    Args:
        args: the modules, or one dict of them by name.

    >>> import relume as rl
    >>> from relume import nn
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> net(rl.ones(5, 3)).shape
    (5, 2)
    >>> net[0]
    Linear(in_features=3, out_features=4, bias=True)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _of_some(self, items: list[tuple[str, Any]]) -> Sequential:
        return type(self)(dict(items))


class ModuleList(_NumberedModules):
    """A list of modules, whose parameters are its own. It computes nothing.

    Args:
        modules: what it holds at first.

    >>> from relume import nn
    >>> layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    >>> len(list(layers.parameters()))
    6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _of_some(self, items: list[tuple[str, Any]]) -> ModuleList:
        return type(self)(module for _, module in items)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)([*self, *other])

    def __repr__(self) -> str:
        """Equal neighbours share a line: `(0-2): 3 x Linear(...)`."""
        groups: list[list[Any]] = []  # first, last, text
        for position, module in enumerate(self):
            if groups and groups[-1][2] == repr(module):
                groups[-1][1] = position
            else:
                groups.append([position, position, repr(module)])
        lines = []
        for first, last, text in groups:
            name, count = (first, "") if first == last else (f"{first}-{last}", last - first + 1)
            lines.append(f"({name}): {f'{count} x ' if count else ''}{_indented(text)}")
        return _layout(self._get_name(), self.extra_repr(), lines)


class ModuleDict(Module):
    """Modules by name, whose parameters are its own. It computes nothing.

    >>> from relume import nn
    >>> activations = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
    >>> activations["tanh"]
    Tanh()
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs (name, module)."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds modules from a mapping or from pairs (name, module)."""
        pairs = modules.items() if hasattr(modules, "items") else modules
        for name, module in pairs:
            self[name] = module


class ParameterList(Module):
    """A list of parameters and other values; tensors become parameters.

    >>> import relume as rl
    >>> from relume import nn
    >>> weights = nn.ParameterList([rl.ones(2), rl.zeros(3)])
    >>> [p.numel() for p in weights]
    [2, 3]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(self._size)))
        return getattr(self, str(_position(index, self._size, self)))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_position(index, self._size, self)), _as_parameter(value))

    def append(self, value: Any) -> ParameterList:
        """Adds a value at the end; returns itself."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds values at the end; returns itself."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(f"({i}): {_described(value)}" for i, value in enumerate(self))


class ParameterDict(Module):
    """Parameters and other values by name; tensors become parameters.

    >>> import relume as rl
    >>> from relume import nn
    >>> parameters = nn.ParameterDict({"scale": rl.ones(2)})
    >>> list(parameters.keys()), parameters["scale"].requires_grad
    (['scale'], True)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Pairs (name, value)."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Any:
        """The values."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return getattr(self, key) if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Takes all out."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Adds values from a mapping or from pairs (name, value)."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"({key}): {_described(value)}" for key, value in self.items())


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(value: Any) -> str:
    if isinstance(value, Parameter):
        return f"Parameter containing: [{value.dtype} of size {size_text(value.shape)}]"
    return repr(value)


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
