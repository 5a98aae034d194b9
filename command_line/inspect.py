"""`relume inspect`: what is in a file."""

from __future__ import annotations

import json as json_format
from collections import Counter
from pathlib import Path
from typing import Any

import relume
from relume import legacy_nn
from relume.command_line.output import bytes_text, console, print_lines, print_table, status
from relume.command_line.tree import Tree
from relume.converters import object_tree, t7
from relume.converters.object_tree import class_name, is_parameter
from relume.converters.t7 import TorchFile


def inspect(file: Path, *, depth: int, everything: bool, select: str, json: bool) -> None:
    with status(f"reading {file}"):
        content = read(file)
        root = content.objects[0] if len(content.objects) == 1 else content.objects
        if select:
            root = object_tree.select(root, select)
        nodes = object_tree.walk(root)
        tree = Tree(nodes)
        summary = {**describe_file(content), **summarise(tree)}
        summary["clones"] = [
            {"text": str(clones), "count": len(clones), "paths": clones.paths}
            for clones in legacy_nn.find_clones(root)
        ]
    if json:
        described = [describe(position, tree) for position in range(len(nodes))]
        print(json_format.dumps({"file": str(file), **summary, "objects": described}, default=str))
        return
    print_lines(tree.lines(depth, everything, guides=console().is_terminal))
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


def summarise(tree: Tree) -> dict[str, Any]:
    """Counts over the whole tree; what is shared counts once."""
    classes: Counter[str] = Counter()
    unknown: set[str] = set()
    tensors = size = 0
    for position, node in enumerate(tree.nodes):
        if node.same_as is not None:
            continue
        classes[class_name(node.value)] += 1
        if isinstance(node.value, relume.TorchObject):
            unknown.add(class_name(node.value))
        if isinstance(node.value, relume.Tensor):
            tensors += 1
            if position in tree.twins:
                continue
            size += node.value.nbytes
    counts = dict(sorted(classes.items(), key=lambda item: (-item[1], item[0])))
    return {
        "parameters": tree.parameters[0],
        "tensors": tensors,
        "tensor_bytes": size,
        "classes": counts,
        "classes_without_code": sorted(unknown),
    }


def describe(position: int, tree: Tree) -> dict[str, Any]:
    """One object, for JSON."""
    node = tree.nodes[position]
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
            parameter=is_parameter(node, tree.nodes),
        )
        if t7.origin(value):
            result["class_in_file"] = t7.origin(value)
        storage = value.storage()
        if storage is not None:
            result["storage"] = storage.data_ptr()
        if position in tree.twins:
            result["same_elements_as"] = tree.twins[position]
    elif isinstance(value, relume.Storage):
        result.update(dtype=str(value.dtype).removeprefix("relume."), size=len(value))
    elif isinstance(value, relume.LuaFunction):
        result.update(dialect=value.dialect, source=value.source)
    if node.values:
        result["values"] = {object_tree.key_text(k): plain(v) for k, v in node.values.items()}
    return result


def plain(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def print_summary(file: Path, summary: dict[str, Any]) -> None:
    print()
    unknown = set(summary["classes_without_code"])
    rows = [
        [name, count, "has no code here: can be kept and converted, not run" * (name in unknown)]
        for name, count in summary["classes"].items()
    ]
    print_table(["class", "objects", ""], rows, right=frozenset({"objects"}))
    for clones in summary["clones"]:
        print(
            f"\n{clones['text']}, which share its parameters: {', '.join(clones['paths'][:3])}, ..."
        )
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
