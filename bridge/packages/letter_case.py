"""Upper and lower case beyond ASCII, for the Lua package `lua-utf8`."""

from __future__ import annotations

__all__ = ["change"]

_CHANGES = {"lower": str.lower, "upper": str.upper, "title": str.title, "fold": str.casefold}


def change(text: str | bytes, to: str) -> str | bytes:
    """A text in "lower", "upper", "title" or "fold" (for comparison) case.

    Bytes that are no UTF-8 stay as they are.

    >>> change("Ärger", "upper")
    'ÄRGER'
    """
    if isinstance(text, str):
        return _CHANGES[to](text)
    return _CHANGES[to](text.decode(errors="surrogateescape")).encode(errors="surrogateescape")
