"""The rules: what every old class becomes. The tables of `families` fill the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relume.converters.pytorch.layers import Call
from relume.legacy_nn.registry import lookup

__all__ = ["Code", "Rule", "rule", "rule_of"]


@dataclass(frozen=True)
class Code:
    """A layer that becomes statements.

    Attributes:
        write: (scope, value) -> value.
        is_own_class: whether it should become a class of its own inside of other code.
        class_name: what that class might be called.
    """

    write: Callable[[Any, Any], Any]
    is_own_class: bool = False
    class_name: str = ""


Rule = Callable[[Any, Any], "Call | Code"]

_rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Makes a function the rule of these Torch classes (as written in files).

    The function gets the layer and its surroundings and returns a `Call` or `Code`.
    """

    def decorate(function: Rule) -> Rule:
        for name in names:
            _rules[name] = function
        return function

    return decorate


def rule_of(module: Any) -> Rule | None:
    """The rule of a layer: that of its class, or of the nearest class that it derives from and
    whose computation it has."""
    name = getattr(module, "torch_typename", None)
    is_variant = lookup(str(name)) not in (None, type(module))
    if is_variant:  # other packages have classes of this name; each has its rule under its file
        name = f"{type(module).__module__.rpartition('.')[2]}:{name}"
    if name in _rules:
        return _rules[name]
    for base in type(module).__mro__[1:]:
        if getattr(base, "compute", None) is not getattr(type(module), "compute", None):
            return None
        found = _rules.get(base.__dict__.get("torch_typename", ""))
        if found is not None:
            return found
    return None
