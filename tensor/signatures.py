"""Python signatures of registered ops, from their schemas, for help() and editors."""

from __future__ import annotations

import inspect
import keyword
import re
from typing import Any

_DEFAULTS = {"None": None, "True": True, "False": False}


def _default(text: str) -> Any:
    if text in _DEFAULTS:
        return _DEFAULTS[text]
    if text.startswith("["):
        return [int(part) for part in text[1:-1].split(",") if part.strip()]
    if text.startswith("'"):
        return text[1:-1]
    return float(text) if re.search(r"[.e]|inf", text) else int(text)


def _split(arguments: str) -> list[str]:
    """Splits at the commas that are not inside brackets."""
    return [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|[^,\[])+", arguments)]


def signature(function: Any) -> inspect.Signature:
    """The signature of an op function.

    >>> import relume as rl
    >>> str(signature(rl.exp))
    "(input: 'Tensor') -> 'Tensor'"
    """
    parts = re.fullmatch(r"\w+\((.*)\) -> (.*)", function.schema)
    assert parts, function.schema
    arguments, result = parts.groups()
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in _split(arguments):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declaration, _, default = part.partition("=")
        type_name, name = declaration.split()
        if keyword.iskeyword(name):  # given as from_=
            name += "_"
        parameters.append(
            inspect.Parameter(
                name,
                kind,
                annotation=type_name,
                default=_default(default.strip()) if default else inspect.Parameter.empty,
            )
        )
    return inspect.Signature(parameters, return_annotation=result)
