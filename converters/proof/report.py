"""What a conversion or a comparison found, for people (text, HTML) and programs (JSON)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from relume.converters.formats import Arrays
from relume.converters.proof.comparing import Proof

__all__ = ["ComparisonReport", "ConversionReport", "LayerRow", "ProofFailed"]


@dataclass(frozen=True)
class LayerRow:
    """A layer in the tree of a network.

    Attributes:
        path: "modules.1"; "" for the network.
        class_name: "nn.Linear".
        text: as Torch7 prints it, the first line.
        parameters: how many numbers it has learnt itself, without the layers inside.
        tensors: their names and shapes.
        depth: 0 for the network.
    """

    path: str
    class_name: str
    text: str
    parameters: int
    tensors: dict[str, list[int]]
    depth: int


@dataclass
class ComparisonReport:
    """Two sides and how they differ: what `relume.compare` gives.

    Attributes:
        source, destination: the two sides, in words.
        proofs: one per network.
        layers: the tree of the networks.
        warnings: what was not compared, and why.
        seconds: how long it took.
        draw: gives a drawing of the networks, as SVG, for the page.
    """

    source: str
    destination: str
    proofs: list[Proof] = field(default_factory=list)
    layers: list[LayerRow] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    draw: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    @property
    def agrees(self) -> bool:
        """Does all that was compared agree?"""
        return all(proof.agrees for proof in self.proofs)

    def __str__(self) -> str:
        lines = [*map(str, self.proofs), *(f"warning: {warning}" for warning in self.warnings)]
        return "\n".join(lines) or "nothing was compared"

    def as_dict(self) -> dict[str, Any]:
        """For JSON; numbers that JSON lacks (NaN) are None."""
        result = asdict(self)
        del result["draw"]
        result["agrees"] = self.agrees
        for proof, described in zip(self.proofs, result["proofs"], strict=True):
            described.update(
                agrees=proof.agrees,
                largest=proof.largest,
                relative=proof.relative,
                first_difference=proof.first_difference,
            )
        return finite(result)

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.as_dict())

    def to_html(self) -> str:
        """The report as one page that needs no other files."""
        from relume.converters.proof.page import page_of

        return page_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report: HTML, JSON or text, as the name ends.

        Raises:
            ValueError: the name ends otherwise.
        """
        from relume.converters.atomic import replacing

        forms = {".html": self.to_html, ".json": self.to_json, ".txt": self.__str__}
        check_report_path(path)
        ending = Path(path).suffix.lower()
        with replacing(path) as temporary:
            temporary.write_text(forms[ending](), encoding="utf-8")


def check_report_path(path: str | os.PathLike[str]) -> None:
    """Raises ValueError or OSError where a report cannot be written."""
    from relume.converters.atomic import target_of

    if Path(path).suffix.lower() not in ENDINGS:
        raise ValueError(f"a report's name ends in {', '.join(ENDINGS)}; got {str(path)!r}")
    target_of(path)


ENDINGS = (".html", ".json", ".txt")


@dataclass
class ConversionReport(ComparisonReport):
    """What a conversion wrote, and the proof that it computes the same.

    Attributes:
        format: "npz", "onnx", ...
        tensors: how many tensors were written.
        elements: how many numbers they have.
        bytes: the size of the file, with those that belong to it.
        aliases: names that share the tensor of another name.
        verified: whether it was proved that the file is right, as far as the format lets one: the
            weights that were read back are the source's, the networks compute the same.
        read_back: whether the weights were read back and are equal.
    """

    format: str = ""
    tensors: int = 0
    elements: int = 0
    bytes: int = 0
    aliases: dict[str, str] = field(default_factory=dict)
    verified: bool = False
    read_back: bool = False

    def __str__(self) -> str:
        shared = f", {len(self.aliases)} more names of them" if self.aliases else ""
        size = f"{self.tensors} tensors, {self.elements:,} numbers"
        lines = [f"{self.destination}: {size}{shared}; {self.verdict()}"]
        if self.proofs or self.warnings:
            lines.append(super().__str__())
        return "\n".join(lines)

    def verdict(self) -> str:
        if not self.agrees:
            return "NOT WRITTEN: it does not compute the same"
        if not self.verified:
            return "not verified"
        texts = ["read back: equal bit for bit"] * self.read_back
        if self.proofs:
            texts.append("both sides compute the same")
        return ", ".join(texts)


class ProofFailed(ValueError):
    """What was converted does not compute the same; nothing was written.

    Attributes:
        report: what was compared.
    """

    def __init__(self, report: ConversionReport) -> None:
        self.report = report
        super().__init__(str(report))


def finite(value: Any) -> Any:
    """The same with None for numbers that are none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(element) for key, element in value.items()}
    if isinstance(value, list):
        return [finite(element) for element in value]
    return value


def layer_rows(network: Any, path: str = "", depth: int = 0) -> list[LayerRow]:
    """The tree of a network, parents first; a layer that stands at several places has a row at
    each.

    >>> from relume import legacy_nn as nn
    >>> rows = layer_rows(nn.Sequential().add(nn.Linear(3, 2)))
    >>> rows[1].path, rows[1].parameters
    ('modules.1', 8)
    """
    waiting, rows = [(network, path, depth)], []
    while waiting:
        layer, path, depth = waiting.pop()
        rows.append(row_of(layer, path, depth))
        inner = layer.children() if hasattr(layer, "children") else []
        places = [
            f"{path}.modules.{i}" if path else f"modules.{i}" for i in range(1, len(inner) + 1)
        ]
        waiting += [(c, p, depth + 1) for c, p in zip(inner, places, strict=True)][::-1]
        if len(rows) >= MOST_ROWS:
            break
    return rows


MOST_ROWS = 20_000
MOST_DRAWN = 2000  # layers of a network that is drawn


def drawing_of(
    network: Any, inputs: Arrays, before: Callable[[], str] | None = None
) -> Callable[[], str]:
    """Draws a network when it is called, below what is drawn already."""

    def draw() -> str:
        from relume.converters.graph.drawing import graph

        above = before() if before is not None else ""
        if len(layer_rows(network)) > MOST_DRAWN:
            return above
        return above + graph(network, input=inputs).to_svg()

    return draw


def row_of(layer: Any, path: str, depth: int) -> LayerRow:
    from relume import Tensor
    from relume.legacy_nn.printing import first_line

    names = [*getattr(layer, "parameter_names", ()), "running_mean", "running_var"]
    if getattr(layer, "children", list)():
        names = []  # those of the layers inside
    found = {name: getattr(layer, name, None) for name in names}
    tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)}
    return LayerRow(
        path,
        getattr(layer, "torch_typename", type(layer).__name__),
        first_line(layer),
        sum(t.numel() for name, t in tensors.items() if not name.startswith("running_")),
        {name: list(tensor.shape) for name, tensor in tensors.items()},
        depth,
    )
