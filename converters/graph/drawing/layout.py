"""Where things stand: the members of every group in rows, from the top down.

What comes later stands lower; where an edge skips rows there is a place in each of them for it to
pass (K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures", 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relume.converters.graph.drawing.diagram import Box, Diagram, Edge, Group

__all__ = ["Layout", "Passage", "Route"]

SWEEPS = 4


@dataclass(eq=False)
class Passage:
    """A place in a row through which edges pass."""


Item = Box | Group | Passage


@dataclass
class Route:
    """An edge with the places that it passes through.

    Attributes:
        goes_back: it leads to what ran before, as the states of recurrent networks do.
    """

    edge: Edge
    passages: list[Passage] = field(default_factory=list)
    goes_back: bool = False


class Layout:
    """The rows of all groups of a diagram, and the routes of its edges.

    Attributes:
        rows: by the identity of the group.
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.rows: dict[int, list[list[Item]]] = {}
        self.row_of: dict[int, int] = {}
        self.above: dict[int, list[Item]] = {}  # what an item is linked to in the row above
        self.passages: dict[tuple[int, int, int], Passage] = {}
        self.routes = [Route(edge) for edge in diagram.edges]
        inner: dict[int, list[tuple[Item, Item, Route]]] = {}
        for route in self.routes:
            source, target = self.ends_of(route)
            depth = self.depth_of_split(source, target)
            ends = source[depth + 1], target[depth + 1], route
            inner.setdefault(id(source[depth]), []).append(ends)
        for group in diagram.root.groups():
            self.fill_rows(group, inner.get(id(group), []))
        for route in self.routes:
            if not route.goes_back:
                self.lead(route)
        for group in diagram.root.groups():
            sort_rows(self.rows[id(group)], self.above)

    def ends_of(self, route: Route) -> tuple[list[Item], list[Item]]:
        """Source and target, each behind the groups that it is in."""
        edge = route.edge
        source: list[Item] = [*self.diagram.chain(edge.source), edge.source]
        return source, [*self.diagram.chain(edge.target), edge.target]

    def depth_of_split(self, source: list[Item], target: list[Item]) -> int:
        """How deep the innermost group with both ends is."""
        depth = 0
        while source[depth + 1] is target[depth + 1]:
            depth += 1
        return depth

    def fill_rows(self, group: Group, edges: Sequence[tuple[Item, Item, Route]]) -> None:
        """Every member one row below the last of those that it takes something from."""
        order = {id(member): number for number, member in enumerate(group.members)}
        before: dict[int, list[Item]] = {}
        for source, target, route in edges:
            route.goes_back = order[id(source)] > order[id(target)]
            if not route.goes_back:
                before.setdefault(id(target), []).append(source)
        rows: list[list[Item]] = []
        for member in group.members:  # in the order of running: sources come first
            above = [self.row_of[id(source)] for source in before.get(id(member), [])]
            row = self.row_of[id(member)] = max(above, default=-1) + 1
            if row == len(rows):
                rows.append([])
            rows[row].append(member)
        self.rows[id(group)] = rows

    def lead(self, route: Route) -> None:
        """Finds the places where an edge passes rows: those below the source in its groups, those
        between the two ends, those above the target in its groups."""
        source, target = self.ends_of(route)
        depth = self.depth_of_split(source, target)
        last: Item = route.edge.source
        for at in range(len(source) - 2, depth, -1):
            below = range(self.row_of[id(source[at + 1])] + 1, len(self.rows[id(source[at])]))
            last = self.pass_rows(route, source[at], below, last)
        first, end = self.row_of[id(source[depth + 1])], self.row_of[id(target[depth + 1])]
        last = self.pass_rows(route, source[depth], range(first + 1, end), last)
        for at in range(depth + 1, len(target) - 1):
            until = self.row_of[id(target[at + 1])]
            last = self.pass_rows(route, target[at], range(until), last)
        if self.row_of[id(target[-1])]:
            self.above.setdefault(id(target[-1]), []).append(last)

    def pass_rows(self, route: Route, group: Item, rows: range, last: Item) -> Item:
        """Places in rows of a group, which edges from one source share; gives the last one."""
        for row in rows:
            key = (id(route.edge.source), id(group), row)
            passage = self.passages.get(key)
            if passage is None:
                passage = self.passages[key] = Passage()
                self.rows[id(group)][row].append(passage)
                self.above.setdefault(id(passage), []).append(last)
            route.passages.append(passage)
            last = passage
        return last


def sort_rows(rows: list[list[Item]], above: dict[int, list[Item]]) -> None:
    """Brings what is linked near to each other: every item to the mean place of its links."""
    below: dict[int, list[Item]] = {}
    for row in rows:
        for item in row:
            for other in above.get(id(item), []):
                below.setdefault(id(other), []).append(item)
    for sweep in range(SWEEPS):
        links = above if sweep % 2 == 0 else below
        ordered = rows if sweep % 2 == 0 else rows[::-1]
        place = {id(item): at / max(len(row), 1) for row in rows for at, item in enumerate(row)}
        for row in ordered:
            means = {
                id(item): mean([place[id(o)] for o in links.get(id(item), []) if id(o) in place])
                for item in row
            }
            row.sort(key=lambda item: means[id(item)] if means[id(item)] >= 0 else place[id(item)])
            place.update((id(item), at / max(len(row), 1)) for at, item in enumerate(row))


def mean(places: list[float]) -> float:
    return sum(places) / len(places) if places else -1.0
