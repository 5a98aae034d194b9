"""Drawings of networks: `relume.graph`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relume.converters.atomic import replacing
from relume.converters.graph.drawing.building import diagram_of_graph, diagram_of_tree
from relume.converters.graph.drawing.diagram import Box, Diagram, Edge, Group
from relume.converters.graph.drawing.dot import dot_of, drawn_by_graphviz
from relume.converters.graph.drawing.page import page_of
from relume.converters.graph.drawing.svg import svg_of
from relume.converters.graph.tracing import trace

__all__ = ["Box", "Diagram", "Drawing", "Edge", "Group", "graph"]


class Drawing(Diagram):
    """A network to be looked at. In a notebook it shows itself.

    >>> from relume import legacy_nn as nn
    >>> drawing = graph(nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()))
    >>> [box.title for box in drawing.root.boxes()]
    ['input', 'nn.Linear(3 -> 2)', 'nn.Tanh', 'output']
    """

    def to_svg(self, *, graphviz: bool = False) -> str:
        """The drawing as SVG.

        Args:
            graphviz: let Graphviz place the boxes, where it is installed.
        """
        return (drawn_by_graphviz(self) if graphviz else None) or svg_of(self)

    def to_dot(self) -> str:
        """The drawing in Graphviz' language."""
        return dot_of(self)

    def to_html(self) -> str:
        """The drawing as a page whose containers open and close; it needs no other files."""
        return page_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the drawing in the form that the path's ending tells: .svg, .dot or .html."""
        forms: dict[str, Callable[[], str]] = {
            ".svg": self.to_svg,
            ".dot": self.to_dot,
            ".gv": self.to_dot,
            ".html": self.to_html,
        }
        form = forms.get(Path(path).suffix.lower())
        if form is None:
            raise ValueError(f"{os.fspath(path)!r} should end in {', '.join(forms)}")
        content = form()
        with replacing(Path(path)) as temporary:
            temporary.write_text(content, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.to_svg()


def graph(
    network: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    input: Any = None,
    select: str = "",
) -> Drawing:
    """Draws a network: layers, shapes, parameters, and what is shared.

    Args:
        network: a legacy_nn module, or a file with one.
        path: where the drawing goes, as .svg, .dot or .html; nowhere when it is None.
        input: an example of its input, for the shapes; generated when it is None. A network that
            does not run is drawn without shapes.
        select: the path of the network in what the file holds.

    Raises:
        ValueError: there is no network, or several; an unknown ending.

    >>> import os, tempfile
    >>> from relume import legacy_nn as nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.svg")
    >>> graph(nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()), path).edges[0].shape
    'batch × 3'
    >>> os.path.exists(path)
    True
    """
    from relume.converters.loading import load_any
    from relume.converters.networks import find_network

    source = load_any(network) if isinstance(network, (str, os.PathLike)) else network
    made = diagram_of(find_network(source, select), input)
    drawing = Drawing(made.root, made.edges, made.warning)
    if path is not None:
        drawing.save(path)
    return drawing


def diagram_of(network: Any, input: Any) -> Diagram:
    from relume.converters.proof.inputs import generate
    from relume.converters.proof.running import activation

    try:
        arrays = generate(network).arrays if input is None else as_arrays(input)
        return diagram_of_graph(network, trace(network, activation(network, arrays)))
    except Exception as error:
        if input is not None:
            raise
        return diagram_of_tree(network, f"without shapes: {str(error).splitlines()[0]}")


def as_arrays(value: Any) -> Any:
    from relume.converters.conversion import as_arrays as arrays_of

    return arrays_of(value)
