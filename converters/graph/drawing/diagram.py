"""What a drawing shows: boxes for layers, groups for containers, edges for what goes between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Box", "Diagram", "Edge", "Group"]


@dataclass(eq=False)
class Box:
    """A layer, an input or an output.

    Attributes:
        path: of the layer in the network; "" for inputs and outputs.
        title: its class and settings, as it prints itself.
        kind: "layer", "op" (what a container does itself), "input" or "output".
        shape: of what it gives, as text.
        parameters, buffers: name -> shape of its own; buffers are not trained.
        shared: name -> path of the same parameter elsewhere.
        notes: layers behind it that only pass on what they get, such as dropout.
        runs: how often it ran.
    """

    path: str
    title: str
    kind: str = "layer"
    shape: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    runs: int = 1
    count: int = 0  # of numbers in its parameters

    @property
    def lines(self) -> list[str]:
        """What is written in the box, line by line."""
        title = f"{self.title} × {self.runs}" if self.runs > 1 else self.title
        lines = [title, *(f"then {note}" for note in self.notes)]
        if self.shape:
            lines.append(self.shape)
        if self.count:
            lines.append(f"{self.count:,} parameters")
        return lines + [f"{name} is {path}" for name, path in self.shared.items()]


@dataclass(eq=False)
class Group:
    """A container with what is in it, in the order in which that ran first."""

    path: str
    title: str
    members: list[Box | Group] = field(default_factory=list)
    label: str = ""  # what stands above it: its path from the group around it, and its title

    def boxes(self) -> Iterator[Box]:
        """All boxes in it, also those in groups in it."""
        for member in self.members:
            if isinstance(member, Group):
                yield from member.boxes()
            else:
                yield member

    def groups(self) -> Iterator[Group]:
        """Itself and all groups in it."""
        yield self
        for member in self.members:
            if isinstance(member, Group):
                yield from member.groups()

    @property
    def count(self) -> int:
        """Numbers in parameters."""
        return sum(box.count for box in self.boxes())


@dataclass(eq=False)
class Edge:
    """What goes from one box to another.

    Attributes:
        shape: as text.
    """

    source: Box
    target: Box
    shape: str = ""


@dataclass
class Diagram:
    """A network to be drawn.

    Attributes:
        root: everything.
        edges: between boxes, each pair once.
        warning: why there are no shapes, where there are none.
    """

    root: Group
    edges: list[Edge]
    warning: str = ""

    def chain(self, box: Box) -> list[Group]:
        """The groups that a box is in, outermost first."""
        return self.chains[id(box)]

    def __post_init__(self) -> None:
        self.chains: dict[int, list[Group]] = {}

        def note(group: Group, around: list[Group]) -> None:
            inside = [*around, group]
            for member in group.members:
                if isinstance(member, Group):
                    note(member, inside)
                else:
                    self.chains[id(member)] = inside

        note(self.root, [])
