"""The tree that `relume inspect` shows: one line per table, tensor and layer.

A line is a list of pieces (text, style), joined as plain text in a pipe and coloured on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import relume
from relume.converters import object_tree, t7
from relume.converters.object_tree import (
    Node,
    class_name,
    is_parameter,
    is_scratch,
    is_table,
    memory_of,
)
from relume.tensor.printing import size_text

LONG_TABLE = 20  # entries of a table that are shown without --all
MANY_LAYERS = 200
LONG_TEXT = 60
FEW = 8  # numbers that are shown in one line

Pieces = list[tuple[str, str]]


class Tree:
    """What was loaded, with what the lines say about more than one node.

    Attributes:
        nodes: what `object_tree.walk` gave.
        twins: positions of tensors that look at the elements of an earlier one, with its path.
        parameters: for every node, how many parameters it and what it holds have.
    """

    def __init__(self, nodes: list[Node]):
        self.nodes = nodes
        self.twins = find_twins(nodes)
        self.parameters = [0] * len(nodes)
        for position in range(len(nodes) - 1, -1, -1):
            node = nodes[position]
            if node.same_as is None and position not in self.twins and is_parameter(node, nodes):
                self.parameters[position] += node.value.numel()
            if node.parent >= 0:
                self.parameters[node.parent] += self.parameters[position]

    def lines(self, depth: int, everything: bool, guides: bool) -> Iterator[Pieces]:
        """The lines from the root down to `depth`.

        Args:
            everything: also scratch buffers of layers, and all entries of long tables.
            guides: draw the branches.
        """
        is_cut = False
        waiting: list[tuple[int | Pieces, str, str]] = [(0, "", "")]
        while waiting:
            entry, own_indent, indent = waiting.pop()
            if not isinstance(entry, int):
                yield [(own_indent, "dim"), *entry]
                continue
            below = self.entries(entry, everything)
            deeper = bool(below) and self.nodes[entry].depth >= depth
            is_cut = is_cut or deeper
            line = self.line(entry, everything)
            yield [(own_indent, "dim"), *line, *([(" ...", "dim")] if deeper else [])]
            if deeper:
                continue
            for number in range(len(below) - 1, -1, -1):
                is_last = number == len(below) - 1
                branch = ("└─ " if is_last else "├─ ") if guides else "  "
                trunk = ("   " if is_last else "│  ") if guides else "  "
                waiting.append((below[number], indent + branch, indent + trunk))
        if is_cut:
            yield dim(f"... there is more below depth {depth}: --depth {depth + 3} shows it")

    def entries(self, position: int, everything: bool) -> list[int | Pieces]:
        """What to show below a node: lines for plain values and positions of nodes."""
        node = self.nodes[position]
        if node.same_as is not None:
            return []
        entries: list[int | Pieces] = []
        # Plain values of layers, and numbers alone, stand in the line of the node itself.
        if is_table(node.value) and (everything or not only_numbers(node)):
            entries += [[key_piece(k), (f" {value_text(v)}", "")] for k, v in node.values.items()]
        entries += [c for c in node.children if everything or not self.is_in_line(c)]
        limit = MANY_LAYERS if node.key == "modules" else LONG_TABLE
        if not everything and len(entries) > limit:
            entries[limit:] = [dim(f"... {len(entries) - limit} more; --all shows them")]
        return entries

    def is_in_line(self, position: int) -> bool:
        """Does its layer's line say what there is to say about this field?"""
        node = self.nodes[position]
        if is_table(self.nodes[node.parent].value):
            return False
        return is_scratch(node.key) or isinstance(node.value, (relume.Tensor, relume.Storage))

    def line(self, position: int, everything: bool) -> Pieces:
        """One node in one line: its key, class, and what matters of its kind."""
        node = self.nodes[position]
        value = node.value
        key = [key_piece(node.key), (" ", "")] if node.parent >= 0 else []
        start: Pieces = [*key, (class_name(value), "bold"), (" ", "")]
        if node.same_as is not None:
            return [*start, (f"same as {node.same_as or 'the root'}", "magenta")]
        if isinstance(value, relume.Tensor):
            return [*start, *tensor_pieces(value, self.twins.get(position))]
        if isinstance(value, relume.Storage):
            return [*start, (storage_text(value), "")]
        if isinstance(value, relume.LuaFunction):
            source = value_text(value.source) if value.source else "an unnamed source"
            return [*start, (f"{value.dialect}, from {source}", "dim")]
        if is_table(value):
            numbers = numbers_pieces(node.values) if only_numbers(node) else []
            return [*start, (f"of {len(node.values) + len(node.children)}", "dim"), *numbers]
        return start[:-1] + self.layer_pieces(position, everything)

    def layer_pieces(self, position: int, everything: bool) -> Pieces:
        """A layer's settings and weights."""
        node = self.nodes[position]
        parts: list[Pieces] = [
            [(f"{name}={value_text(value)}", "")]
            for name, value in node.values.items()
            if everything or not (name == "train" or str(name).startswith("_"))
        ]
        fields = [] if everything else [c for c in node.children if not is_scratch(self.key(c))]
        for child in sorted(fields, key=lambda c: self.key(c) != "weight"):
            value = self.nodes[child].value
            if isinstance(value, relume.Tensor):
                twin = self.nodes[child].same_as or self.twins.get(child)
                parts.append([key_piece(self.key(child)), (" ", ""), *tensor_pieces(value, twin)])
            elif isinstance(value, relume.Storage):
                parts.append([(f"{self.key(child)}={storage_text(value)}", "")])
        pieces: Pieces = []
        for number, part in enumerate(parts):
            pieces += [(" " if number == 0 else ", ", ""), *part]
        count = self.parameters[position]
        return pieces + ([(f" ({count:,} parameters)", "green")] if count else [])

    def key(self, position: int) -> Any:
        return self.nodes[position].key


def find_twins(nodes: list[Node]) -> dict[int, str]:
    """Positions of tensors that look at the elements of an earlier one, with its path."""
    first: dict[tuple[Any, ...], str] = {}
    twins = {}
    for position, node in enumerate(nodes):
        if node.same_as is None and isinstance(node.value, relume.Tensor):
            path = first.setdefault(memory_of(node.value), node.path)
            if path != node.path:
                twins[position] = path
    return twins


def dim(text: str) -> Pieces:
    return [(text, "dim")]


def tensor_pieces(tensor: relume.Tensor, twin: str | None) -> Pieces:
    if twin is not None:
        return [(f"same as {twin}", "magenta")]
    if tensor.numel() == 0:
        return [("empty", "")]
    size = size_text(tensor.shape)
    strides = "" if tensor.is_contiguous() else f" strides {tuple(tensor.stride())}"
    origin = t7.origin(tensor)
    return [(size, ""), (f"{strides}{f' was {origin}' if origin else ''}", "dim")]


def storage_text(storage: relume.Storage) -> str:
    return str(storage.tolist()) if len(storage) <= FEW else f"of {len(storage)} elements"


def only_numbers(node: Node) -> bool:
    """Is it a table of many numbers, such as a history of losses or a vocabulary?"""
    if len(node.values) <= FEW or node.children:
        return False
    values = node.values.values()
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def numbers_pieces(values: dict[Any, Any]) -> Pieces:
    """The first few of many numbers."""
    first = list(values.items())[:FEW]
    is_list = [key for key, _ in first] == list(range(1, FEW + 1))
    pieces: Pieces = [(": ", "")]
    for key, value in first:
        pieces += [] if is_list else [key_piece(key), (" ", "")]
        pieces.append((f"{value:g}, ", ""))
    return [*pieces, ("...", "")]


def key_piece(key: Any) -> tuple[str, str]:
    text = object_tree.key_text(key)
    return (text if text.isprintable() and text.strip() else repr(text)), "cyan"


def value_text(value: Any) -> str:
    """A plain value; long strings are cut."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONG_TEXT else f"{text[:LONG_TEXT]}..."
