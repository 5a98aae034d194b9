"""The classes of a generated file: their text, and one class for structures that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relume.converters.pytorch.formatting import BREAK, INDENT, LINE_LENGTH, fold
from relume.converters.pytorch.helper_sources import all_helpers
from relume.converters.pytorch.layers import Call

__all__ = ["ClassSource", "call_text", "merge_repeated"]


class ClassSource:
    """A class to be written: layers as attributes, and a forward function.

    Attributes:
        hint: what it might be called.
        documentation: what it stands for.
        attributes: the layers that it makes, by name.
        lines: the body of forward.
        ties: statements after the layers are made, for weights that are shared.
        name: given when all classes are known.
        parameters: names of the constructor's arguments.
        inputs: names of what forward takes.
    """

    def __init__(self, hint: str, documentation: str) -> None:
        self.hint = hint
        self.documentation = documentation
        self.attributes: dict[str, Call] = {}
        self.lines: list[str] = []
        self.ties: list[str] = []
        self.name = hint
        self.parameters: tuple[str, ...] = ()
        self.inputs: tuple[str, ...] = ("x",)

    def text(self) -> list[str]:
        """Its lines."""
        lines = [f"class {self.name}(nn.Module):"]
        lines += [f"{INDENT}{line}" if line else "" for line in docstring(self.documentation)]
        if self.attributes or self.parameters or self.ties:
            arguments = ", ".join(["self", *self.parameters])
            lines += ["", *fold(f"def __init__({arguments}):", INDENT)]
            body = ["super().__init__()"]
            body += [f"self.{name} = {call_text(call)}" for name, call in self.attributes.items()]
            body += self.ties
            lines += [line for statement in body for line in fold(statement, INDENT * 2)]
        lines += ["", f"{INDENT}def forward(self, {', '.join(self.inputs)}):"]
        lines += [line for statement in self.lines for line in fold(statement, INDENT * 2)]
        return lines


def docstring(text: str) -> list[str]:
    """A docstring of one line, cut when it is too long."""
    text = text.replace("\\", "/").replace('"', "'")
    longest = LINE_LENGTH - 2 * len(INDENT) - 6
    return [f'"""{text if len(text) <= longest else text[: longest - 3] + "..."}"""']


class Argument:
    """A value that the class gets from outside."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def call_text(call: Call) -> str:
    """A constructor as one line of text."""
    name = call.function if isinstance(call.function, str) else call.function.name
    parts = []
    for place, (argument, value) in enumerate(call.arguments.items()):
        text = value_text(value)
        parts.append(text if place < call.positional else f"{argument}={text}")
    opening = BREAK if name == "nn.Sequential" and len(parts) > 1 else ""
    return f"{name}({opening}{', '.join(parts)})"


def value_text(value: Any) -> str:
    if isinstance(value, Call):
        return call_text(value)
    if isinstance(value, list):
        return f"nn.ModuleList([{', '.join(map(value_text, value))}])"
    if isinstance(value, tuple):
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)


# ---- structures that repeat ----


def merge_repeated(root: ClassSource) -> list[ClassSource]:
    """Makes one class of those that differ in numbers only, which become its arguments.

    Returns:
        All classes, each after those that it uses; all have names.
    """
    by_height: dict[int, list[Call]] = {}
    measure(root, by_height)
    classes: list[ClassSource] = []
    names = {root.name, *all_helpers()}
    for height in sorted(by_height):
        groups: dict[Any, list[Call]] = {}
        for call in by_height[height]:
            groups.setdefault(signature(call.function), []).append(call)
        for calls in groups.values():
            merged = merge(calls)
            merged.name = free_name(merged.hint, names)
            names.add(merged.name)
            classes.append(merged)
    return [*classes, root]


def measure(source: ClassSource, by_height: dict[int, list[Call]]) -> int:
    """Sorts all uses of classes by how many levels of classes are in them; returns those of
    `source`."""
    height = 0
    for call in calls_in(source):
        if isinstance(call.function, ClassSource):
            below = measure(call.function, by_height)
            by_height.setdefault(below, []).append(call)
            height = max(height, below + 1)
    return height


def calls_in(source: ClassSource) -> Iterator[Call]:
    """The layers that a class makes, the ones inside of others too."""
    waiting = list(source.attributes.values())[::-1]
    while waiting:
        call = waiting.pop()
        yield call
        if isinstance(call.function, str):
            waiting += [layer for _, layer in call.layers()][::-1]


def free_name(hint: str, taken: set[str]) -> str:
    name, number = hint, 2
    while name in taken:
        name, number = f"{hint}{number}", number + 1
    return name


def signature(source: Any) -> Any:
    """The same for classes that can become one."""
    made = tuple((name, shape_of(call)) for name, call in source.attributes.items())
    return (made, tuple(source.lines), tuple(source.ties))


def shape_of(value: Any) -> Any:
    """A constructor without its numbers."""
    if isinstance(value, Call):
        function = value.function if isinstance(value.function, str) else value.function.name
        inside = tuple((name, shape_of(v)) for name, v in value.arguments.items())
        return (function, value.positional, inside)
    if isinstance(value, list):
        return tuple(shape_of(element) for element in value)
    return str if isinstance(value, str) else type(None) if value is None else int


def merge(calls: list[Call]) -> ClassSource:
    """One class for all of them; the calls give it the numbers in which they differ."""
    sources: list[Any] = [call.function for call in calls]
    first = sources[0]
    if len(sources) > 1:
        first.documentation += f" ({len(sources)} times)"
    columns = [list(leaves(source)) for source in sources]
    known: dict[tuple, Argument] = {}
    for place, (name, _, _) in enumerate(columns[0]):
        values = tuple(column[place][1] for column in columns)
        if all(same(value, values[0]) for value in values):
            continue
        argument = known.get(values)
        if argument is None:
            taken = {other.name for other in known.values()}
            argument = known[values] = Argument(free_name(name, taken))
        _, _, put = columns[0][place]
        put(argument)
    first.parameters = tuple(argument.name for argument in known.values())
    for place, call in enumerate(calls):
        call.weights = ()
        call.function = first
        call.positional = len(known)
        call.arguments = {argument.name: values[place] for values, argument in known.items()}
    return first


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def leaves(source: ClassSource) -> Iterator[tuple[str, Any, Any]]:
    """Every plain argument in a class: its name, its value and a function that replaces it."""
    for call in source.attributes.values():
        yield from leaves_of(call)


def leaves_of(call: Call) -> Iterator[tuple[str, Any, Any]]:
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield from leaves_of(value)
        elif isinstance(value, list):
            for element in value:
                yield from leaves_of(element)
        else:
            yield name, value, lambda new, name=name: call.arguments.__setitem__(name, new)
