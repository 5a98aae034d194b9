"""A diagram as SVG, with no other program."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise

from relume.converters.graph.drawing.diagram import Box, Diagram, Group
from relume.converters.graph.drawing.layout import Item, Layout, Passage, Route

__all__ = ["svg_of"]

LETTER, LINE = 6.6, 15.0  # size of a letter and of a line of text
PAD, GAP, ROW_GAP = 9.0, 18.0, 30.0
PASSAGE_WIDTH = 14.0
HEADER = 20.0  # of a group
# All below one class: in a page, these rules hold for the page too.
STYLE = """
.network { background: #fff; } .network text { font: 11px ui-monospace, monospace; fill: #1c2430; }
.network .group { fill: #3b7dd809; stroke: #9db7d8; }
.network .head { fill: #44546a; font-weight: 600; }
.network .layer { fill: #eef4fb; stroke: #3b7dd8; } .network .op { fill: #f4f4f6; stroke: #8a94a3; }
.network .input, .network .output { fill: #eef8f1; stroke: #1a7f4b; }
.network .soft { fill: #5c6878; } .network .shared { fill: #b3541e; }
.network .edge { fill: none; stroke: #5c6878; }
.network .back { stroke-dasharray: 4 3; stroke: #b3541e; }
"""


@dataclass
class Rectangle:
    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


class Page:
    """Sizes first, from the inside out, then places, from the outside in."""

    def __init__(self, diagram: Diagram) -> None:
        self.layout = Layout(diagram)
        self.places: dict[int, Rectangle] = {}
        self.parts: list[str] = []

    # ---- sizes ----

    def measure(self, item: Item) -> Rectangle:
        if isinstance(item, Passage):
            place = Rectangle(0, 0, PASSAGE_WIDTH, LINE)
        elif isinstance(item, Group):
            place = self.measure_group(item)
        else:
            width = max(len(line) for line in item.lines) * LETTER + 2 * PAD
            place = Rectangle(0, 0, width, len(item.lines) * LINE + 2 * PAD - 4)
        self.places[id(item)] = place
        return place

    def measure_group(self, group: Group) -> Rectangle:
        width, height = len(head_of(group)) * LETTER + 2 * PAD, HEADER + PAD
        for row in self.layout.rows[id(group)]:
            places = [self.measure(item) for item in row]
            width = max(width, sum(p.width for p in places) + GAP * (len(row) + 1))
            height += max(p.height for p in places) + ROW_GAP
        return Rectangle(0, 0, width, height)

    def put(self, group: Group, x: float, y: float) -> None:
        own = self.places[id(group)]
        own.x, own.y = x, y
        y += HEADER + PAD
        for row in self.layout.rows[id(group)]:
            places = [self.places[id(item)] for item in row]
            taken = sum(p.width for p in places) + GAP * (len(row) - 1)
            left, height = x + (own.width - taken) / 2, max(p.height for p in places)
            for item, place in zip(row, places, strict=True):
                place.x, place.y = left, y + (height - place.height) / 2
                if isinstance(item, Group):
                    self.put(item, place.x, place.y)
                left += place.width + GAP
            y += height + ROW_GAP

    # ---- drawing ----

    def draw_group(self, group: Group) -> None:
        place = self.places[id(group)]
        self.parts.append(rectangle(place, "group", group.path or "the network"))
        self.parts.append(text(place.x + PAD, place.y + 15, head_of(group), "head"))
        for row in self.layout.rows[id(group)]:
            for item in row:
                if isinstance(item, Group):
                    self.draw_group(item)
                elif isinstance(item, Box):
                    self.draw_box(item)

    def draw_box(self, box: Box) -> None:
        place = self.places[id(box)]
        tensors = {**box.parameters, **box.buffers}
        hover = "\n".join([box.path, *(f"{n}: {shape}" for n, shape in tensors.items())])
        self.parts.append(rectangle(place, box.kind, hover))
        shared = {f"{name} is {path}" for name, path in box.shared.items()}
        for number, line in enumerate(box.lines):
            kind = "shared" if line in shared else "" if number == 0 else "soft"
            y = place.y + PAD + 8 + number * LINE
            self.parts.append(text(place.x + PAD, y, line, kind))

    def draw_route(self, route: Route) -> None:
        source, target = self.places[id(route.edge.source)], self.places[id(route.edge.target)]
        title = f"<title>{escape(route.edge.shape)}</title>"
        if route.goes_back:
            right = max(source.x + source.width, target.x + target.width) + 26
            start = f"M {source.x + source.width:.1f} {source.y + source.height / 2:.1f}"
            end = f"{target.x + target.width:.1f} {target.y + target.height / 2:.1f}"
            middle = f"C {right:.1f} {source.y:.1f}, {right:.1f} {target.bottom:.1f}, {end}"
            path, kind = f"{start} {middle}", "edge back"
        else:
            points = [(source.center, source.bottom)]
            for passage in route.passages:
                place = self.places[id(passage)]
                points += [(place.center, place.y), (place.center, place.bottom)]
            points.append((target.center, target.y - 4))
            path, kind = curve(points), "edge"
        arrow = 'marker-end="url(#arrow)"'
        self.parts.append(f'<path class="{kind}" {arrow} d="{path}">{title}</path>')


def head_of(group: Group) -> str:
    return group.label + (f", {group.count:,} parameters" if group.count else "")


def rectangle(place: Rectangle, kind: str, hover: str) -> str:
    size = f'x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}"'
    return (
        f'<rect class="{kind}" rx="5" {size} height="{place.height:.1f}">'
        f"<title>{escape(hover)}</title></rect>"
    )


def text(x: float, y: float, line: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(line)}</text>'


def curve(points: list[tuple[float, float]]) -> str:
    """A line through points, which leaves and meets each of them upright."""
    parts = [f"M {points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        bend = (y1 - y0) / 2
        parts.append(f"C {x0:.1f} {y0 + bend:.1f}, {x1:.1f} {y1 - bend:.1f}, {x1:.1f} {y1:.1f}")
    return " ".join(parts)


def svg_of(diagram: Diagram) -> str:
    """The drawing.

    >>> from relume import legacy_nn as nn
    >>> from relume.converters.graph.drawing import graph
    >>> svg_of(graph(nn.Sequential().add(nn.Tanh()))).startswith("<svg")
    True
    """
    page = Page(diagram)
    whole = page.measure(diagram.root)
    page.put(diagram.root, 8, 8)
    page.draw_group(diagram.root)
    for route in page.layout.routes:
        page.draw_route(route)
    width, height = whole.width + 16, whole.height + 16
    body = "\n".join(page.parts)
    return (
        f'<svg class="network" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"><style>{STYLE}</style>\n'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5c6878"/></marker></defs>\n'
        f"{body}\n</svg>\n"
    )
