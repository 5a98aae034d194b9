"""Two sides of a conversion on the same inputs: what they give, and how it differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.formats import Arrays, Format
from relume.converters.proof import running
from relume.legacy_nn.tracing import OutputDifference, difference_of
from relume.tensor.printing import size_text

__all__ = ["Proof", "Side", "prove", "side_of_file", "side_of_network"]

Outputs = list[np.ndarray]


@dataclass(frozen=True)
class Side:
    """Something that computes.

    Attributes:
        name: in words: a class, a file.
        run, gradients, layers: as of a `Format`, without the path; None where it cannot.
    """

    name: str
    run: Callable[[Arrays], Outputs]
    gradients: Callable[[Arrays, Outputs], dict[str, np.ndarray]] | None = None
    layers: Callable[[Arrays], Mapping[str, Outputs]] | None = None


def side_of_network(network: Any, name: str = "") -> Side:
    return Side(
        name or getattr(network, "torch_typename", type(network).__name__),
        lambda inputs: running.run(network, inputs),
        lambda inputs, output_gradients: running.gradients(network, inputs, output_gradients),
        lambda inputs: running.layers(network, inputs),
    )


def side_of_file(file_format: Format, path: Path) -> Side:
    def bound(function: Callable[..., Any] | None) -> Any:
        return None if function is None else lambda *arguments: function(path, *arguments)

    return Side(
        path.name,
        bound(file_format.run),
        bound(file_format.gradients),
        bound(file_format.layers),
    )


@dataclass
class Proof:
    """What came out of running two sides on the same inputs.

    Attributes:
        path: of the network in its file; "" for the whole.
        network: its class.
        inputs: the sizes of the inputs, in words.
        tolerance: how much of the largest value may differ.
        outputs, gradients, layers: one `OutputDifference` per tensor; empty where they
            were not asked for or could not be had.
        notes: what else is to be said.
    """

    path: str
    network: str
    inputs: str
    tolerance: float
    outputs: list[OutputDifference] = field(default_factory=list)
    gradients: list[OutputDifference] = field(default_factory=list)
    layers: list[OutputDifference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Do the outputs, and the gradients where they were compared, agree?"""
        return not any(difference.differs for difference in [*self.outputs, *self.gradients])

    @property
    def largest(self) -> float | None:
        """The largest absolute difference of the outputs; None when a shape differs."""
        return worst(difference.largest for difference in self.outputs)

    @property
    def relative(self) -> float | None:
        """The largest difference in terms of the largest value; None when a shape differs."""
        return worst(difference.relative for difference in self.outputs)

    @property
    def first_difference(self) -> str | None:
        """The path of the first layer that differs."""
        return next((d.name for d in self.layers if d.differs), None)

    def __str__(self) -> str:
        name = f"{self.path or 'the network'} ({self.network}) on {self.inputs}"
        if self.agrees:
            what = "outputs and gradients" if self.gradients else "outputs"
            lines = [f"{name}: {what} agree, largest difference {self.largest:.2g}"]
        else:
            lines = [f"{name}: DIFFERS"]
            wrong = [d for d in [*self.outputs, *self.gradients] if d.differs]
            lines += [f"  {difference_text(d, self.tolerance)}" for d in wrong[:10]]
            if self.first_difference is not None:
                lines.append(f"  the first layer that differs: {self.first_difference or 'root'}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def worst(values: Any) -> float | None:
    """The largest of numbers; None when one is None, NaN when one is."""
    found = list(values)
    if any(value is None for value in found):
        return None
    return float(np.max(found)) if found else 0.0


def difference_text(difference: OutputDifference, tolerance: float) -> str:
    if difference.largest is None:
        return f"{difference.name}: another shape"
    return (
        f"{difference.name}: differs by {difference.largest:.3g}, {difference.relative:.2g} of the "
        f"largest value; {tolerance:g} is allowed"
    )


def prove(
    reference: Side,
    other: Side,
    inputs: Arrays,
    *,
    path: str = "",
    tolerance: float = 1e-4,
    gradients: bool = False,
    layers: bool = False,
) -> Proof:
    """Runs both sides on inputs and compares what they give.

    Args:
        reference: the side that is right.
        other: the side that is to give the same.
        inputs: an array, or nested lists of arrays for a table.
        path: of the network, for the report.
        tolerance: how much of the largest value may differ.
        gradients: compare gradients of the inputs and parameters too.
        layers: compare what each layer gives even if the outputs agree.
    """
    proof = Proof(path, reference.name, shapes_text(inputs), tolerance)
    expected = reference.run(inputs)
    proof.outputs = differences("output", expected, other.run(inputs), tolerance)
    if any(not np.isfinite(array).any() for array in expected if array.size):
        proof.notes.append("an output has no finite number, so its agreement says little")
    if gradients:
        compare_gradients(proof, reference, other, inputs, expected)
    if layers or not proof.agrees:
        compare_layers(proof, reference, other, inputs)
    return proof


def compare_gradients(
    proof: Proof, reference: Side, other: Side, inputs: Arrays, outputs: Outputs
) -> None:
    if reference.gradients is None or other.gradients is None:
        name = reference.name if reference.gradients is None else other.name
        proof.notes.append(f"gradients were not compared: {name} gives none")
        return
    random = np.random.default_rng(2)
    given = [random.uniform(-1, 1, array.shape).astype(array.dtype) for array in outputs]
    try:
        right = reference.gradients(inputs, given)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, AttributeError) as error:
        proof.notes.append(f"gradients were not compared: {reference.name}: {error}")
        return
    found = other.gradients(inputs, given)
    for name, array in right.items():
        mine = found.get(name)
        if mine is None:
            proof.notes.append(f"the gradient of {name} was not compared: {other.name} has none")
        else:
            proof.gradients.append(
                difference_of(f"gradient of {name}", mine, array, proof.tolerance * 10)
            )


def compare_layers(proof: Proof, reference: Side, other: Side, inputs: Arrays) -> None:
    if reference.layers is None or other.layers is None:
        return
    try:
        right, found = reference.layers(inputs), other.layers(inputs)
    except (RuntimeError, ValueError, TypeError, KeyError) as error:
        proof.notes.append(f"layers were not compared: {error}")
        return
    for path, arrays in right.items():
        if path in found:
            proof.layers += differences(path, arrays, found[path], proof.tolerance)


def differences(
    name: str, expected: Outputs, found: Outputs, tolerance: float
) -> list[OutputDifference]:
    """One per array, named `name`, or name[1], name[2], ... of several."""
    if len(expected) != len(found):
        return [OutputDifference(name, None, None, True)]
    names = [name] if len(found) == 1 else [f"{name}[{i}]" for i in range(1, len(found) + 1)]
    return [difference_of(*three, tolerance) for three in zip(names, found, expected, strict=True)]


def shapes_text(inputs: Arrays) -> str:
    """The sizes of inputs, those of a table in braces.

    >>> shapes_text([np.ones((2, 3)), np.ones(1)])
    '{2x3, 1}'
    """
    if isinstance(inputs, (list, tuple)):
        return "{" + ", ".join(map(shapes_text, inputs)) + "}"
    return size_text(np.shape(inputs))
