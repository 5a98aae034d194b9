"""`relume graph`: a drawing of the network in a file."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from relume.command_line.output import console, status
from relume.command_line.run import read_input
from relume.converters.atomic import replacing
from relume.converters.graph.drawing import Drawing
from relume.converters.graph.drawing import graph as draw

STANDARD_OUTPUT = Path("-")


def graph(
    file: Path,
    output: Path | None,
    *,
    forms: list[str],
    input: Path | None,
    select: str,
    json: bool,
) -> None:
    given = None if input is None else read_input(input)
    with status(f"tracing {file}"):
        drawing = draw(file, input=given, select=select)
    if drawing.warning:
        console(error=True).print(f"[yellow]{drawing.warning}[/]", highlight=False)
    if output == STANDARD_OUTPUT:
        print(text_of(drawing, forms[0] if forms else "html"))
        return
    written = []
    for path in destinations(file, output, forms):
        if path.suffix == ".svg":
            with replacing(path) as temporary:
                temporary.write_text(text_of(drawing, "svg"), encoding="utf-8")
        else:
            drawing.save(path)
        written.append(str(path))
    layers = sum(box.kind == "layer" for box in drawing.root.boxes())
    if json:
        parameters = drawing.root.count
        print(json_format.dumps({"files": written, "layers": layers, "parameters": parameters}))
    else:
        console().print(f"{', '.join(written)}: {layers} layers", highlight=False)


def text_of(drawing: Drawing, form: str) -> str:
    if form == "svg":
        return drawing.to_svg(graphviz=True)
    return drawing.to_dot() if form == "dot" else drawing.to_html()


def destinations(file: Path, output: Path | None, forms: list[str]) -> list[Path]:
    """Where the drawings go: one path for each form."""
    if output is not None and not forms:
        return [output]
    stem = Path(file.stem) if output is None else output.with_suffix("")
    return [stem.with_name(f"{stem.name}.{form}") for form in forms or ["html"]]
