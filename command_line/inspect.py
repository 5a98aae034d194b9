"""`relume inspect`: what is in a file."""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.text import Text

import relume
from relume.command_line.output import bytes_text, console, print_table, status
from relume.converters import object_tree, t7
from relume.converters.object_tree import (
    Node,
    class_name,
    is_parameter,
    is_scratch,
    is_table,
    memory_of,
)
from relume.converters.t7 import TorchFile

LONG_TABLE = 20  # entries of a table that are shown without --all
MANY_LAYERS = 200
LONG_TEXT = 60
FEW = 8  # numbers that are shown in one line


def inspect(file: Path, *, depth: int, everything: bool, select: str, json: bool) -> None:
    with status(f"reading {file}"):
        content = read(file)
        root = content.objects[0] if len(content.objects) == 1 else content.objects
        if select:
            root = object_tree.select(root, select)
        nodes = object_tree.walk(root)
        summary = {**describe_file(content), **summarise(nodes)}
    if json:
        twins = find_twins(nodes)
        described = [describe(node, nodes, twins.get(i)) for i, node in enumerate(nodes)]
        print(json_format.dumps({"file": str(file), **summary, "objects": described}, default=str))
        return
    out = console()
    for line in tree_lines(nodes, depth, everything, guides=out.is_terminal):
        out.print(Text.from_markup(line) if out.is_terminal else Text.from_markup(line).plain)
    print_summary(file, summary)


def read(path: Path) -> TorchFile:
    """A file with all its objects; with the first one only where what follows is none."""
    file = t7.read(path, all=False)
    if not file.left_over:
        return file
    try:
        return t7.read(path, all=True)
    except relume.FileFormatError:
        return file


def describe_file(file: TorchFile) -> dict[str, Any]:
    """How a file was written."""
    return {
        "encoding": file.encoding,
        "long_size": file.long_size,
        "byte_order": file.byte_order,
        "left_over_bytes": file.left_over,
    }


def summarise(nodes: list[Node]) -> dict[str, Any]:
    """Counts over the whole tree; what is shared counts once."""
    classes: Counter[str] = Counter()
    unknown: set[str] = set()
    parameters = tensors = size = 0
    twins = find_twins(nodes)
    for position, node in enumerate(nodes):
        if node.same_as is not None:
            continue
        classes[class_name(node.value)] += 1
        if isinstance(node.value, relume.TorchObject):
            unknown.add(class_name(node.value))
        if isinstance(node.value, relume.Tensor):
            tensors += 1
            if position in twins:
                continue
            size += node.value.nbytes
            if is_parameter(node, nodes):
                parameters += node.value.numel()
    counts = dict(sorted(classes.items(), key=lambda item: (-item[1], item[0])))
    return {
        "parameters": parameters,
        "tensors": tensors,
        "tensor_bytes": size,
        "classes": counts,
        "classes_without_code": sorted(unknown),
    }


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


def describe(node: Node, nodes: list[Node], twin: str | None) -> dict[str, Any]:
    """One object, for JSON; `twin` is the path of a tensor with the same elements."""
    value = node.value
    result: dict[str, Any] = {"path": node.path, "class": class_name(value)}
    if node.same_as is not None:
        return {**result, "same_as": node.same_as}
    if isinstance(value, relume.Tensor):
        result.update(
            dtype=str(value.dtype).removeprefix("relume."),
            shape=list(value.shape),
            strides=list(value.stride()),
            offset=value.storage_offset(),
            parameter=is_parameter(node, nodes),
        )
        if t7.origin(value):
            result["class_in_file"] = t7.origin(value)
        storage = value.storage()
        if storage is not None:
            result["storage"] = storage.data_ptr()
        if twin is not None:
            result["same_elements_as"] = twin
    elif isinstance(value, relume.Storage):
        result.update(dtype=str(value.dtype).removeprefix("relume."), size=len(value))
    elif isinstance(value, relume.LuaFunction):
        result.update(dialect=value.dialect, source=value.source)
    if node.values:
        result["values"] = {object_tree.key_text(k): plain(v) for k, v in node.values.items()}
    return result


def plain(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def tree_lines(nodes: list[Node], depth: int, everything: bool, guides: bool) -> Iterator[str]:
    """The lines of the tree, with markup."""
    twins = find_twins(nodes)
    totals = parameters_below(nodes, twins)
    is_cut = False
    waiting: list[tuple[int | str, str, str]] = [(0, "", "")]
    while waiting:
        entry, own_indent, indent = waiting.pop()
        if isinstance(entry, str):
            yield f"[dim]{own_indent}[/]{entry}"
            continue
        node = nodes[entry]
        entries = entries_of(node, nodes, everything)
        deeper = bool(entries) and node.depth >= depth
        is_cut = is_cut or deeper
        line = node_line(entry, nodes, totals[entry], twins, everything)
        yield f"[dim]{own_indent}[/]{line}{' ...' if deeper else ''}"
        if deeper:
            continue
        for number, below in reversed(list(enumerate(entries, start=1))):
            is_last = number == len(entries)
            branch = ("└─ " if is_last else "├─ ") if guides else "  "
            trunk = ("   " if is_last else "│  ") if guides else "  "
            waiting.append((below, indent + branch, indent + trunk))
    if is_cut:
        yield f"[dim]... there is more below depth {depth}: --depth {depth + 3} shows it[/]"


def entries_of(node: Node, nodes: list[Node], everything: bool) -> list[int | str]:
    """What to show below a node: lines for plain values and positions of nodes."""
    if node.same_as is not None:
        return []
    entries: list[int | str] = []
    # Plain values of layers, and numbers alone, stand in the line of the node itself.
    if is_table(node.value) and (everything or not only_numbers(node)):
        entries += [f"{key_markup(key)} {value_text(value)}" for key, value in node.values.items()]
    entries += [c for c in node.children if everything or not is_in_line(nodes[c], node)]
    limit = MANY_LAYERS if node.key == "modules" else LONG_TABLE
    if not everything and len(entries) > limit:
        hidden = len(entries) - limit
        entries[limit:] = [f"[dim]... {hidden} more; --all shows them[/]"]
    return entries


def is_in_line(child: Node, parent: Node) -> bool:
    """Does a layer's line say what there is to say about this field?"""
    if is_table(parent.value):
        return False
    return is_scratch(child.key) or isinstance(child.value, (relume.Tensor, relume.Storage))


def node_line(
    position: int, nodes: list[Node], parameters: int, twins: dict[int, str], everything: bool
) -> str:
    """One node in one line: its key, class, and what matters of its kind."""
    node = nodes[position]
    value = node.value
    key = f"{key_markup(node.key)} " if node.parent >= 0 else ""
    line = f"{key}[bold]{escape(class_name(value))}[/]"
    if node.same_as is not None:
        return f"{line} [magenta]same as {escape(node.same_as or 'the root')}[/]"
    if isinstance(value, relume.Tensor):
        return f"{line} {tensor_text(value, twins.get(position))}"
    if isinstance(value, relume.Storage):
        return f"{line} {storage_text(value)}"
    if isinstance(value, relume.LuaFunction):
        return f"{line} [dim]{escape(value.dialect)}, from {value_text(value.source)}[/]"
    if is_table(value):
        numbers = f": {numbers_text(node.values)}" if only_numbers(node) else ""
        return f"{line} [dim]of {len(node.values) + len(node.children)}[/]{numbers}"
    return layer_line(line, node, nodes, parameters, twins, everything)


def layer_line(
    line: str,
    node: Node,
    nodes: list[Node],
    parameters: int,
    twins: dict[int, str],
    everything: bool,
) -> str:
    """A layer's settings and weights."""
    parts = [
        f"{escape(str(name))}={value_text(value)}"
        for name, value in node.values.items()
        if everything or not (name == "train" or str(name).startswith("_"))
    ]
    fields = [] if everything else [p for p in node.children if not is_scratch(nodes[p].key)]
    for position in sorted(fields, key=lambda p: nodes[p].key != "weight"):
        child = nodes[position]
        if isinstance(child.value, relume.Tensor):
            twin = child.same_as or twins.get(position)
            parts.append(f"{key_markup(child.key)} {tensor_text(child.value, twin)}")
        elif isinstance(child.value, relume.Storage):
            parts.append(f"{escape(str(child.key))}={storage_text(child.value)}")
    total = f" [green]({parameters:,} parameters)[/]" if parameters else ""
    return " ".join([line, ", ".join(parts)] if parts else [line]) + total


def storage_text(storage: relume.Storage) -> str:
    if len(storage) <= FEW:
        return escape(str(storage.tolist()))
    return f"of {len(storage)} elements"


def tensor_text(tensor: relume.Tensor, twin: str | None) -> str:
    if twin is not None:
        return f"[magenta]same as {escape(twin)}[/]"
    if tensor.numel() == 0:
        return "empty"
    size = "x".join(str(n) for n in tensor.shape) or "a number"
    strides = "" if tensor.is_contiguous() else f" strides {tuple(tensor.stride())}"
    origin = t7.origin(tensor)
    return f"{size}[dim]{strides}{f' was {origin}' if origin else ''}[/]"


def only_numbers(node: Node) -> bool:
    """Is it a table of many numbers, such as a history of losses or a vocabulary?"""
    values = node.values.values()
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    return numbers and len(values) > FEW and not node.children


def numbers_text(values: dict[Any, Any]) -> str:
    """The first few of many numbers."""
    is_list = list(values)[:FEW] == list(range(1, FEW + 1))
    first = list(values.items())[:FEW]
    texts = [f"{v:g}" if is_list else f"{key_markup(k)} {v:g}" for k, v in first]
    return ", ".join([*texts, "..."])


def key_markup(key: Any) -> str:
    text = object_tree.key_text(key)
    return f"[cyan]{escape(text if text.isprintable() and text.strip() else repr(text))}[/]"


def value_text(value: Any) -> str:
    """A plain value, with markup; long strings are cut."""
    text = repr(plain(value)) if isinstance(value, (str, bytes)) else str(value)
    return escape(text if len(text) <= LONG_TEXT else f"{text[:LONG_TEXT]}...")


def print_summary(file: Path, summary: dict[str, Any]) -> None:
    print()
    unknown = set(summary["classes_without_code"])
    rows = [
        [name, count, "has no code here: can be kept and converted, not run" * (name in unknown)]
        for name, count in summary["classes"].items()
    ]
    print_table(["class", "objects", ""], rows, right=frozenset({"objects"}))
    form = summary["encoding"]
    if form == "binary":
        form += f" with {summary['long_size']}-byte longs, {summary['byte_order']}-endian"
    if summary["left_over_bytes"]:
        form += f", {summary['left_over_bytes']} bytes after the last object"
    print(f"\n{file}: {form}")
    print(
        f"{summary['parameters']:,} parameters, {summary['tensors']:,} tensors, "
        f"{bytes_text(summary['tensor_bytes'])}"
    )


def parameters_below(nodes: list[Node], twins: dict[int, str]) -> list[int]:
    """For every node, how many parameters it and what it holds have."""
    totals = [0] * len(nodes)
    for position in range(len(nodes) - 1, -1, -1):
        node = nodes[position]
        if node.same_as is None and position not in twins and is_parameter(node, nodes):
            totals[position] += node.value.numel()
        if node.parent >= 0:
            totals[node.parent] += totals[position]
    return totals
