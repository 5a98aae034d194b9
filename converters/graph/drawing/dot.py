"""A diagram as text for Graphviz, and drawn by it where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from relume.converters.graph.drawing.diagram import Box, Diagram, Group
from relume.legacy_nn.gmodule import quoted

__all__ = ["dot_of", "drawn_by_graphviz"]

COLORS = {"layer": "#eef4fb", "op": "#f4f4f6", "input": "#eef8f1", "output": "#eef8f1"}
SECONDS = 60  # that Graphviz may take


def dot_of(diagram: Diagram) -> str:
    """The diagram in Graphviz' language, containers as clusters.

    >>> import relume
    >>> from relume import legacy_nn as nn
    >>> from relume.converters.graph.drawing import graph
    >>> print(dot_of(graph(nn.Tanh(), input=relume.ones(1, 2))).splitlines()[0])
    digraph network {
    """
    names = {id(box): f"n{number}" for number, box in enumerate(diagram.root.boxes())}
    lines = [
        "digraph network {",
        '  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=10];',
        '  edge [fontname="monospace", fontsize=9, color="#5c6878"];',
        *members(diagram.root, names, "  "),
    ]
    for edge in diagram.edges:
        ends = f"{names[id(edge.source)]} -> {names[id(edge.target)]}"
        lines.append(f"  {ends} [label={quoted(edge.shape)}];")
    return "\n".join([*lines, "}", ""])


def members(group: Group, names: dict[int, str], indent: str) -> Iterator[str]:
    for member in group.members:
        if isinstance(member, Box):
            label = quoted("\n".join(member.lines))
            color = quoted(COLORS[member.kind])
            yield f"{indent}{names[id(member)]} [label={label}, fillcolor={color}];"
            continue
        yield f"{indent}subgraph {quoted(f'cluster {member.path}')} {{"
        yield f"{indent}  label={quoted(member.label)};"
        yield from members(member, names, f"{indent}  ")
        yield f"{indent}}}"


def drawn_by_graphviz(diagram: Diagram) -> str | None:
    """The SVG that Graphviz draws; None where it is not installed, or fails."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=dot_of(diagram),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
