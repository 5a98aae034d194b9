"""Modules inside of modules: walks over the tree, searches in it, and replacements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relume.legacy_nn.errors import contains_itself


class ModuleTree:
    """A module seen as the root of the modules inside it."""

    __slots__ = ()

    torch_typename: str

    def children(self) -> list[Any]:
        """The modules directly inside, in order."""
        return []

    def walk(self) -> Iterator[Any]:
        """This module and all inside it, parents first; a shared one as often as it stands.

        Raises:
            ValueError: a module is inside itself.

        >>> from relume import legacy_nn as nn
        >>> [m.torch_typename for m in nn.Sequential().add(nn.Tanh()).walk()]
        ['nn.Sequential', 'nn.Tanh']
        """
        yield self
        around = {id(self): iter(list(self.children()))}  # this branch: what is left of each
        while around:
            innermost = next(reversed(around))
            for child in around[innermost]:
                yield child
                if isinstance(child, ModuleTree) and (children := child.children()):
                    if id(child) in around:
                        raise contains_itself(child)
                    around[id(child)] = iter(list(children))
                    break
            else:
                del around[innermost]

    def apply(self, function: Callable[[Any], Any]) -> Any:
        """Calls `function` with every module, parents first."""
        for module in list(self.walk()):
            function(module)
        return self

    def apply_to_modules(self, function: Callable[[Any], Any]) -> None:
        """Calls `function` with every module directly inside."""
        for child in self.children():
            function(child)

    applyToModules = apply_to_modules

    def listModules(self) -> list[Any]:
        """Every module once, parents first."""
        seen: dict[int, Any] = {}
        for module in self.walk():
            seen.setdefault(id(module), module)
        return list(seen.values())

    def find_modules(self, typename: str) -> list[Any]:
        """All modules of a Torch class, parents first.

        >>> from relume import legacy_nn as nn
        >>> len(nn.Sequential().add(nn.Tanh()).add(nn.Tanh()).find_modules("nn.Tanh"))
        2
        """
        return [m for m in self.walk() if getattr(m, "torch_typename", None) == typename]

    def findModules(self, typename: str) -> tuple[list[Any], list[Any]]:
        """Torch7's form: the modules found and, for each, the container it is in."""
        found, containers = [], []
        if self.torch_typename == typename:
            found, containers = [self], [self]
        for parent in list(self.walk()):
            if not isinstance(parent, ModuleTree):
                continue
            for child in parent.children():
                if getattr(child, "torch_typename", None) == typename:
                    found.append(child)
                    containers.append(parent)
        return found, containers

    def replace(self, function: Callable[[Any], Any]) -> Any:
        """Puts `function(module)` in the place of every module, parents first.

        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Tanh())
        >>> _ = net.replace(lambda m: nn.ReLU() if isinstance(m, nn.Tanh) else m)
        >>> net.get(1)
        nn.ReLU
        """
        replacement = function(self)
        if isinstance(replacement, ModuleTree):
            replacement.replace_children(lambda child: child.replace(function))
        return replacement

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        """Puts `function(child)` in the place of every module directly inside."""
