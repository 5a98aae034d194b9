"""The code of a forward function: statements whose variables get their names at the end.

While a forward function is written every result is a variable of its own. Afterwards names are
given out: a result takes the name of an input that nothing needs any more, as people do when they
write `x = self.conv(x)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from relume.converters.pytorch.formatting import INDENT, LINE_LENGTH
from relume.converters.pytorch.nesting import CALL, binding, nested
from relume.converters.pytorch.values import Statement, Value, Variable, variables_in

__all__ = ["Body", "Value", "Variable", "identifier", "variables_in"]

RESERVED = frozenset(
    """False None True and as assert async await break class continue def del elif else except
    finally for from global if import in is lambda nonlocal not or pass raise return try while
    with yield self torch nn""".split()
)


def identifier(text: str) -> str:
    """A name that Python accepts, from any text; empty when nothing is left of it.

    >>> identifier("hidden state (t-1)"), identifier("for"), identifier("2nd")
    ('hidden_state_t_1', 'for_', 'x2nd')
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    if name and name[0].isdigit():
        name = f"x{name}"
    return f"{name}_" if name in RESERVED else name


# Characters of expressions that are written into others, without names; fewer where a line would
# be too long.
EXPRESSION_LENGTHS = (56, 36, 0)
ROOM = LINE_LENGTH - 2 * len(INDENT)


def is_easily_broken(line: str) -> bool:
    """Does a line fit, or have brackets to break it at and no operators around them?"""
    _, _, right = line.rpartition(" = ")
    return len(line) <= ROOM or binding(right.removeprefix("return ")) == CALL


class Body:
    """Statements from an input to a result."""

    def __init__(self) -> None:
        self.input = Variable("x")
        self.statements: list[Statement] = []
        self._unpacked: dict[Variable, tuple[Variable, ...]] = {}

    def assign(self, hint: str, template: str, *values: Value) -> Variable:
        """Writes one statement.

        Args:
            hint: what its result might be called; "" to let it take a name that is free.
            template: the right side, with {0}, {1}, ... for the values.
        """
        target = Variable(hint)
        self.statements.append(Statement((target,), template, values))
        return target

    def elements(self, value: Value, count: int) -> tuple[Value, ...]:
        """The elements of a table of so many, taken apart when it is a variable."""
        if isinstance(value, tuple):
            return value
        parts = self._unpacked.get(value)
        if parts is None or len(parts) != count:
            hint = "input" if value is self.input else "part"
            parts = tuple(Variable(f"{hint}{place}") for place in range(1, count + 1))
            template = "{0}" if count > 1 else "{0}[0]"
            self.statements.append(Statement(parts, template, (value,)))
            self._unpacked[value] = parts
        return parts

    def unpacked(self, *names: str) -> tuple[Variable, ...]:
        """The elements of the input, by these names."""
        parts = tuple(map(Variable, names))
        self.statements.append(Statement(parts, "{0}", (self.input,)))
        self._unpacked[self.input] = parts
        return parts

    def element(self, value: Value, index: int) -> Value:
        """Element `index`, from 0, of a table; negative ones count from the end."""
        if isinstance(value, tuple) and -len(value) <= index < len(value):
            return value[index]
        return self.assign("", "{0}[" + str(index) + "]", value)

    # ---- giving names ----

    def lines(self, result: Value) -> list[str]:
        """The statements as text, and the return statement."""
        needed = self._needed(result)
        kept = [s for s in self.statements if any(target in needed for target in s.targets)]
        for longest in EXPRESSION_LENGTHS:
            lines = self._written(nested(kept, result, longest), result)
            if all(is_easily_broken(line) for line in lines):
                break
        return lines

    def _written(self, statements: list[Statement], result: Value) -> list[str]:
        names = self._names(statements, result)
        written = [written_statement(statement, names) for statement in statements]
        final = written_value(result, names)
        if statements and statements[-1].targets == (result,):
            last = statements[-1]
            final = last.template.format(*(written_value(v, names) for v in last.values))
            written.pop()
        return [*written, f"return {final}"]

    def _needed(self, result: Value) -> set[Variable]:
        needed = set(variables_in(result))
        for statement in reversed(self.statements):
            if any(target in needed for target in statement.targets):
                for value in statement.values:
                    needed.update(variables_in(value))
        return needed

    def _names(self, statements: list[Statement], result: Value) -> dict[Variable, str]:
        last_use: dict[Variable, int] = {}
        for place, statement in enumerate(statements):
            for value in statement.values:
                for variable in variables_in(value):
                    last_use[variable] = place
        for variable in variables_in(result):
            last_use[variable] = len(statements)
        names = {self.input: "x"}
        taken = {"x"}
        for place, statement in enumerate(statements):
            used = [v for value in statement.values for v in variables_in(value)]
            free = [names[v] for v in dict.fromkeys(used) if last_use[v] == place]
            taken.difference_update(free)
            if len(set(used)) > 1:  # what combines several is none of them
                free = ["x"] if "x" in free else []
            for target in statement.targets:
                names[target] = choose_name(target.hint, free, taken)
                taken.add(names[target])
                free = [name for name in free if name != names[target]]
            taken.difference_update(names[t] for t in statement.targets if t not in last_use)
        return names


def choose_name(hint: str, free: list[str], taken: set[str]) -> str:
    """A name like the hint, or one that has just become free, or one of a, b, c, ..."""
    hint = identifier(hint)
    if not hint and free:
        return free[0]
    for candidate in candidates(hint):
        if candidate not in taken:
            return candidate
    raise AssertionError("there is no end of candidates")


def candidates(hint: str) -> Iterator[str]:
    if hint:
        yield hint
        number = 2
    else:
        yield from "xyzabcdefghpqrstuvw"
        hint, number = "v", 1
    while True:
        yield f"{hint}{number}"
        number += 1


def written_value(value: Value, names: dict[Variable, str]) -> str:
    """A value as text: a name, or a tuple of values."""
    if isinstance(value, Variable):
        return names[value]
    parts = [written_value(part, names) for part in value]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def written_statement(statement: Statement, names: dict[Variable, str]) -> str:
    targets = ", ".join(names[target] for target in statement.targets)
    right = statement.template.format(*(written_value(v, names) for v in statement.values))
    return f"{targets} = {right}"
