"""Python source as ruff and black leave it: long lines are broken at their brackets."""

from __future__ import annotations

import re

LINE_LENGTH = 88
INDENT = "    "
BREAK = "\n"  # after an opening bracket: one argument per line, even where they would fit
OPENING, CLOSING = "([{", ")]}"
STRING = re.compile(r"'[^']*'|\"[^\"]*\"")


def fold(line: str, indent: str = "") -> list[str]:
    """One logical line as the lines that it takes: one argument per line where it is too long.

    >>> fold("x = f(a, b)")
    ['x = f(a, b)']
    >>> call = "x = function(" + "first_argument_that_is_long, " * 3 + "last)"
    >>> for line in fold(call):
    ...     print(line)
    x = function(
        first_argument_that_is_long,
        first_argument_that_is_long,
        first_argument_that_is_long,
        last,
    )
    """
    bracket = last_bracket(line)
    fits = len(indent) + len(line) <= LINE_LENGTH and BREAK not in line
    if fits or bracket is None:
        return [indent + line]
    start, end = bracket
    lines = [indent + line[: start + 1]]
    for part in split_at_commas(line[start + 1 : end].removeprefix(BREAK)):
        folded = fold(part, indent + INDENT)
        folded[-1] += ","
        lines += folded
    return [*lines, indent + line[end:]]


def blank_strings(line: str) -> str:
    """The line with every string's characters replaced, so that brackets in them do not count."""
    return STRING.sub(lambda match: "_" * len(match.group()), line)


def last_bracket(line: str) -> tuple[int, int] | None:
    """Where the last outermost bracket that holds anything opens and closes."""
    depth, start, found = 0, 0, None
    for place, character in enumerate(blank_strings(line)):
        if character in OPENING:
            if depth == 0:
                start = place
            depth += 1
        elif character in CLOSING:
            depth -= 1
            if depth == 0 and place > start + 1:
                found = (start, place)
    return found


def split_at_commas(text: str) -> list[str]:
    """The parts between outermost commas."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(blank_strings(text)):
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [part for part in [*parts, text[start:].strip()] if part]
