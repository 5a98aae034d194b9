"""Statements whose result is used once, written where it is used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from relume.converters.pytorch.formatting import CLOSING, OPENING, blank_strings
from relume.converters.pytorch.values import Statement, Value, Variable, variables_in

__all__ = ["CALL", "binding", "nested"]

PLACE = re.compile(r"\{(\d+)\}")
SUM, PRODUCT, CALL = 1, 2, 3  # how tightly an expression is bound
OPERATORS = {" + ": SUM, " - ": SUM, " * ": PRODUCT, " / ": PRODUCT, " @ ": PRODUCT}


def nested(statements: list[Statement], result: Value, longest: int) -> list[Statement]:
    """The statements with those written into others that give an unnamed result for one use.

    Args:
        result: what the function returns.
        longest: characters of an expression, without the names in it; 0 for no nesting.
    """
    uses = Counter(v for s in statements for value in s.values for v in variables_in(value))
    uses.update(variables_in(result))
    uses.update(variables_in(result))  # what is returned keeps a line of its own
    waiting: dict[Variable, Statement] = {}
    kept: list[Statement] = []
    for statement in statements:
        statement = with_inner(statement, waiting, longest)
        target = statement.targets[0]
        is_inner = len(statement.targets) == 1 and uses[target] == 1 and not target.hint
        if is_inner and len(statement.template) <= longest:
            waiting[target] = statement
        else:
            kept.append(statement)
    return with_leftovers(kept, waiting, statements)


def with_leftovers(
    kept: list[Statement], waiting: dict[Variable, Statement], order: Iterable[Statement]
) -> list[Statement]:
    """Puts back what found no place in another statement (inside of a tuple, say)."""
    needed = {v for s in kept for value in s.values for v in variables_in(value)}
    while True:
        missing = [v for v in waiting if v in needed]
        if not missing:
            break
        for variable in missing:
            statement = waiting.pop(variable)
            kept.append(statement)
            needed.update(v for value in statement.values for v in variables_in(value))
    places = {target: i for i, s in enumerate(order) for target in s.targets}
    return sorted(kept, key=lambda statement: places[statement.targets[0]])


def with_inner(statement: Statement, waiting: dict[Variable, Statement], longest: int) -> Statement:
    """A statement with the expressions of its values in their places, where they fit."""
    values: list[Value] = []
    pieces: list[str] = []
    end = 0
    counts = Counter(PLACE.findall(statement.template))
    for match in PLACE.finditer(statement.template):
        value = statement.values[int(match.group(1))]
        inner = waiting.get(value) if isinstance(value, Variable) else None
        pieces.append(statement.template[end : match.start()])
        end = match.end()
        fits = inner is not None and len(statement.template) + len(inner.template) <= longest
        if inner is None or not fits or counts[match.group(1)] > 1:
            pieces.append(f"{{{len(values)}}}")
            values.append(value)
            continue
        del waiting[value]
        text = renumbered(inner.template, len(values))
        needs_brackets = binding(inner.template) < wanted(statement.template, match)
        pieces.append(f"({text})" if needs_brackets else text)
        values += inner.values
    pieces.append(statement.template[end:])
    return Statement(statement.targets, "".join(pieces), tuple(values))


def renumbered(template: str, first: int) -> str:
    """A template whose places count from `first`.

    >>> renumbered("{0} + {1}", 2)
    '{2} + {3}'
    """
    return PLACE.sub(lambda match: f"{{{int(match.group(1)) + first}}}", template)


def outermost(template: str) -> str:
    """A template with everything in brackets taken out."""
    depth, kept = 0, []
    for character in blank_strings(PLACE.sub("_", template)):
        depth += character in OPENING
        kept.append(character if depth == 0 else "_")
        depth -= character in CLOSING
    return "".join(kept)


def binding(template: str) -> int:
    """How tightly an expression is bound.

    >>> binding("{0} + {1}"), binding("{0} * {1}"), binding("torch.tanh({0} + {1})")
    (1, 2, 3)
    """
    text = outermost(template)
    found = [bound for operator, bound in OPERATORS.items() if operator in text]
    return SUM if text.startswith("-") else min(found, default=CALL)


def wanted(template: str, place: re.Match[str]) -> int:
    """How tightly an expression must be bound to stand at a place without brackets."""
    before, after = template[: place.start()], template[place.end() :]
    if before.endswith(("(", ", ")) and after.startswith((")", ",")):
        return 0
    if not before and not after:
        return 0
    if after.startswith((".", "[")):
        return CALL
    own = binding(template)
    return own if not before else min(own + 1, CALL)
