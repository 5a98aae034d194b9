"""Perl's regular expressions for the Lua package `rex_pcre`, through Python's `re`."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Expression"]

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
_FLAG_BITS = {1: "i", 2: "m", 4: "s", 8: "x", 16: "A", 2048: "u"}

# What stands in brackets for a class that POSIX names.
_POSIX_CLASSES = {
    "alnum": r"a-zA-Z0-9",
    "alpha": r"a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": r"0-9",
    "graph": r"\x21-\x7e",
    "lower": r"a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\s",
    "upper": r"A-Z",
    "word": r"\w",
    "xdigit": r"0-9a-fA-F",
}
# What Perl writes in another way than Python, outside brackets.
_PERL_ESCAPES = {
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "h": r"[ \t]",
    "H": r"[^ \t]",
    "R": r"(?:\r\n|[\n\v\f\r])",
    "N": r"[^\n]",
    "e": r"\x1b",
}
_TOKEN = re.compile(
    r"\\Q(?P<literal>.*?)(?:\\E|\Z)"
    r"|\\k[<{'](?P<reference>\w+)[>}']"
    r"|\\(?P<escape>.)"
    r"|\(\?(?:<|')(?P<group>[A-Za-z_]\w*)[>']"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])",
    re.DOTALL,
)


def _in_brackets(text: str) -> str:
    """A set of characters as Python writes it."""

    def replace(match: re.Match[str]) -> str:
        if match["name"] is None:
            return "\\["
        if match["name"] not in _POSIX_CLASSES:
            raise ValueError(f"unknown POSIX class name '{match['name']}'")
        return _POSIX_CLASSES[match["name"]]

    opening = re.match(r"\[\^?", text)
    assert opening is not None
    inside = re.sub(r"\[:(?P<name>\^?\w+):\]|(?<!\\)\[", replace, text[opening.end() : -1])
    return opening[0] + ("\\" + inside if inside.startswith("]") else inside) + "]"


def _in_python(pattern: str) -> str:
    """Perl's pattern as Python writes it."""

    def replace(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return re.escape(match["literal"])
        if match["reference"] is not None:
            return f"(?P={match['reference']})"
        if match["group"] is not None:
            return f"(?P<{match['group']}>"
        if match["set"] is not None:
            return _in_brackets(match["set"])
        return _PERL_ESCAPES.get(match["escape"], match[0])

    return _TOKEN.sub(replace, pattern)


def _octets(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


class Expression:
    """A compiled pattern.

    Positions are those of Lua: bytes from 1, the last one included. A match is a list of the
    first and the last byte of all of it and then of each group, both False for a group that
    took no part.

    Args:
        pattern: in Perl's syntax.
        flags: letters ("i", "m", "s", "x", "A" anchored, "u" UTF-8) or the sum of the numbers
            that the package's `flags()` has for them.

    Raises:
        ValueError: there is no such pattern.
    """

    def __init__(self, pattern: str | bytes, flags: Any = "") -> None:
        if isinstance(flags, (int, float)):
            flags = "".join(letter for bit, letter in _FLAG_BITS.items() if int(flags) & bit)
        self._is_anchored = "A" in flags
        self._has_characters = "u" in flags
        encoding = "utf-8" if self._has_characters else "latin-1"
        text = _in_python(_octets(pattern).decode(encoding))
        options = re.RegexFlag(0)
        for letter in flags:
            options |= _FLAGS.get(letter, re.RegexFlag(0))
        try:
            self._compiled: re.Pattern[Any] = (
                re.compile(text, options)
                if self._has_characters
                else re.compile(text.encode("latin-1"), options)
            )
        except re.error as error:
            place = -1 if error.pos is None else error.pos
            raise ValueError(f"{error.msg} (pattern offset: {place})") from None

    def group_count(self) -> int:
        """The number of groups."""
        return self._compiled.groups

    def group_names(self) -> dict[str, int]:
        """The numbers of the groups that have names."""
        return dict(self._compiled.groupindex)

    def find(self, subject: str | bytes, start: int) -> list[int | bool] | None:
        """The first match from a byte on."""
        text, start = self._prepared(subject, start)
        search = self._compiled.match if self._is_anchored else self._compiled.search
        match = search(text, start)
        return None if match is None else self._places(match)

    def find_all(self, subject: str | bytes) -> list[list[int | bool]]:
        """All matches."""
        text, _ = self._prepared(subject, 1)
        matches: list[list[int | bool]] = []
        for match in self._compiled.finditer(text):
            if self._is_anchored and match.start() != (matches[-1][1] if matches else 0):
                break
            matches.append(self._places(match))
        return matches

    def _prepared(self, subject: str | bytes, start: int) -> tuple[str | bytes, int]:
        octets = _octets(subject)
        if not self._has_characters:
            return octets, start - 1
        return octets.decode("utf-8"), len(octets[: start - 1].decode("utf-8"))

    def _places(self, match: re.Match[Any]) -> list[int | bool]:
        places: list[int | bool] = []
        for group in range(self._compiled.groups + 1):
            first, last = match.span(group)
            if first < 0:
                places += [False, False]
                continue
            if self._has_characters:
                first, last = (len(match.string[:place].encode()) for place in (first, last))
            places += [first + 1, last]
        return places
