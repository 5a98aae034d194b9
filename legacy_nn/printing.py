"""The printed forms of containers, as Torch7 draws them."""

from __future__ import annotations

import threading
from typing import Any

TAB = "  "
DEEPEST = 100  # levels of modules in one another that are printed
_printing = threading.local()  # `level`: how deep the module that is being printed stands


def text_of(module: Any) -> str:
    """The printed form; the class alone where damaged fields (or a module inside itself) make
    that impossible: an error must not hide another one, nor one layer the whole network. Modules
    that stand too deep for anyone to read are left out."""
    level = getattr(_printing, "level", 0)
    if level >= DEEPEST:
        return f"{getattr(module, 'torch_typename', type(module).__name__)} {{...}}"
    _printing.level = level + 1
    try:
        return str(module)
    except Exception:
        return getattr(module, "torch_typename", type(module).__name__)
    finally:
        _printing.level = level


def first_line(module: Any) -> str:
    """The first line of a module's text, which names it.

    >>> from relume import legacy_nn as nn
    >>> first_line(nn.Sequential().add(nn.Tanh()))
    'nn.Sequential'
    """
    return text_of(module).split("\n")[0].removesuffix(" {")


def indented(module: Any, tab: str) -> str:
    """A module's text with `tab` before every line but the first."""
    return text_of(module).replace("\n", f"\n{tab}")


def chain(typename: str, modules: list[Any]) -> str:
    """How nn.Sequential prints: a line of arrows, then the modules."""
    arrows = "".join(f"({i}) -> " for i in range(1, len(modules) + 1))
    text = f"{typename} {{\n{TAB}[input -> {arrows}output]"
    for i, module in enumerate(modules, 1):
        text += f"\n{TAB}({i}): {indented(module, TAB)}"
    return text + "\n}"


def fan(typename: str, modules: list[Any]) -> str:
    """How containers print that give one input, or parts of it, to several modules."""
    text = f"{typename} {{\n{TAB}input"
    for i, module in enumerate(modules, 1):
        edge = " " if i == len(modules) else "|"
        text += f"\n    {edge}`-> ({i}): {indented(module, f'    {edge}    ')}"
    return text + "\n     ... -> output\n}"


def lua_number(value: Any) -> str:
    """A number as Lua prints it: 14 digits, integral ones without a point.

    >>> from relume.legacy_nn.printing import lua_number
    >>> lua_number(0.1), lua_number(3.0)
    ('0.1', '3')
    """
    return f"{value:.14g}"
