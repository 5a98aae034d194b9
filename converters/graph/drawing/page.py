"""A diagram as one HTML page that needs no other files; containers open and close.

The browser places boxes and containers, as rows in rows; the script of the page draws the edges
between them and hides what is closed.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from relume.converters.graph.drawing.diagram import Box, Diagram, Group
from relume.converters.graph.drawing.layout import Item, Layout, Passage

__all__ = ["page_of"]

MOST_OPEN = 60  # boxes that are shown at first


class Page:
    """Gives every item an id of its own, and writes it."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.layout = Layout(diagram)
        self.ids: dict[int, str] = {}
        self.about: dict[str, dict[str, Any]] = {}
        self.open = open_groups(diagram.root)

    def id_of(self, item: Item) -> str:
        return self.ids.setdefault(id(item), f"i{len(self.ids)}")

    def write(self, item: Item) -> str:
        name = self.id_of(item)
        if isinstance(item, Passage):
            return f'<div class="passage" id="{name}"></div>'
        self.about[name] = about(item)
        if isinstance(item, Box):
            return self.write_box(item, name)
        rows = "\n".join(
            f'<div class="row">{"".join(map(self.write, row))}</div>'
            for row in self.layout.rows[id(item)]
        )
        closed = "" if id(item) in self.open else " closed"
        head = f'<div class="head">{escape(item.label)}</div>'
        return f'<div class="group{closed}" id="{name}">{head}{rows}</div>'

    def write_box(self, box: Box, name: str) -> str:
        shared = {f"{parameter} is {path}" for parameter, path in box.shared.items()}
        lines = [
            f'<div class="{"shared" if line in shared else "soft" if number else ""}">'
            f"{escape(line)}</div>"
            for number, line in enumerate(box.lines)
        ]
        return f'<div class="box {box.kind}" id="{name}">{"".join(lines)}</div>'

    def edges(self) -> list[dict[str, Any]]:
        return [
            {
                "source": self.id_of(route.edge.source),
                "target": self.id_of(route.edge.target),
                "through": [self.id_of(passage) for passage in route.passages],
                "back": route.goes_back,
            }
            for route in self.layout.routes
        ]


def about(item: Box | Group) -> dict[str, Any]:
    """What the page tells of an item that was clicked on."""
    if isinstance(item, Group):
        rows = [["layers", f"{sum(1 for _ in item.boxes()):,}"]]
        rows += [["parameters", f"{item.count:,}"]]
    else:
        rows = [["gives", item.shape]] if item.shape else []
        rows += [["runs", str(item.runs)]] if item.runs > 1 else []
        rows += [["then", note] for note in item.notes]
        rows += [[name, shape] for name, shape in item.parameters.items()]
        rows += [[f"{name}, a buffer", shape] for name, shape in item.buffers.items()]
        rows += [[name, f"is {path}"] for name, path in item.shared.items()]
    return {"title": item.title, "path": item.path, "rows": rows}


def open_groups(root: Group) -> set[int]:
    """The groups that are open at first: level by level, until there are too many boxes."""
    opened, level, shown = {id(root)}, [root], len(root.members)
    while level:
        inner = [m for group in level for m in group.members if isinstance(m, Group)]
        shown += sum(len(group.members) for group in inner)
        if shown > MOST_OPEN:
            break
        opened.update(map(id, inner))
        level = inner
    return opened


def page_of(diagram: Diagram) -> str:
    """The page.

    >>> from relume import legacy_nn as nn
    >>> from relume.converters.graph.drawing import graph
    >>> page_of(graph(nn.Sequential().add(nn.Tanh()))).startswith("<!doctype html>")
    True
    """
    page = Page(diagram)
    body = page.write(diagram.root)
    layers = sum(box.kind == "layer" for box in diagram.root.boxes())
    summary = f"{layers:,} layers, {diagram.root.count:,} parameters"
    if diagram.warning:
        summary += f"; {diagram.warning}"
    data = json.dumps({"edges": page.edges(), "about": page.about}).replace("<", "\\u003c")
    template = files(__package__).joinpath("page.html").read_text("utf-8")
    places = {"title": escape(diagram.root.title), "summary": escape(summary)}
    places |= {"body": body, "data": data}
    return re.sub(r"\{(title|summary|body|data)\}", lambda match: places[match[1]], template)
