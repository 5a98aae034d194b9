"""Two models, or a model and what it once gave, on the same input: `relume.compare`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.conversion import as_arrays
from relume.converters.formats import Arrays, format_by_ending
from relume.converters.loading import load_any
from relume.converters.networks import find_network
from relume.converters.proof.comparing import Side, prove, side_of_file, side_of_network
from relume.converters.proof.inputs import generate
from relume.converters.proof.report import ComparisonReport, drawing_of, layer_rows
from relume.converters.proof.running import layer_path
from relume.legacy_nn import Module

__all__ = ["compare"]


def compare(
    a: Any,
    b: Any,
    input: Any = None,
    *,
    tolerance: float = 1e-4,
    gradients: bool = False,
    select: str = "",
) -> ComparisonReport:
    """Runs two models on the same input and compares what they and their layers give.

    Args:
        a: the one that is right: a network, the path of a file of any format that can be run
            (.t7, .onnx, .safetensors, ...), a function of arrays, or what layers once gave: arrays
            by the layers' paths, or the path of an .npz of them (`relume run --save-layers`).
        b: the other one, of any of these kinds.
        input: an array, or a list of them for a table; generated when it is None.
        tolerance: how much of the largest value may differ.
        gradients: compare gradients too, where both sides give them.
        select: the path of the network in files that hold several.

    Returns:
        A report: print it, or ask for `agrees`, `proofs[0].largest`, `to_json()`, `to_html()`.

    Raises:
        ValueError: there is no network in it, or no input was found that it takes.

    >>> import numpy as np
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    >>> compare(net, net.clone(), np.ones((4, 3))).agrees
    True
    >>> report = compare(net, lambda x: np.zeros((4, 2)), np.ones((4, 3)))
    >>> report.agrees
    False
    """
    started = time.perf_counter()
    network, right = side_of(a, select)
    other_network, other = side_of(b, select)
    model = network if network is not None else other_network
    inputs = as_arrays(input)
    if inputs is None:
        model = model if model is not None else network_in(a, b)
        if model is None:
            raise ValueError("neither side tells what it takes; give an input")
        inputs = generate(model).arrays
    proof = prove(
        right, other, inputs, path=select, tolerance=tolerance, gradients=gradients, layers=True
    )
    return ComparisonReport(
        source=right.name,
        destination=other.name,
        proofs=[proof],
        layers=[] if model is None else layer_rows(model),
        draw=None if model is None else drawing_of(model, inputs),
        seconds=time.perf_counter() - started,
    )


def network_in(*sides: Any) -> Any:
    """The network in the first file that one can be read from; None where there is none."""
    for side in sides:
        if isinstance(side, (str, os.PathLike)) and can_be_loaded(side):
            return find_network(load_any(side))
    return None


def can_be_loaded(path: str | os.PathLike[str]) -> bool:
    known = format_by_ending(path)
    return known is None or known.load is not None


def side_of(value: Any, select: str) -> tuple[Any, Side]:
    """The network, where there is one in Python, and the side that a value stands for."""
    if isinstance(value, Mapping):
        return None, side_of_activations("activations", value)
    if callable(value) and not isinstance(value, Module):
        return None, Side(getattr(value, "__name__", type(value).__name__), calling(value))
    if not isinstance(value, (str, os.PathLike)):
        network = find_network(value, select)
        return network, side_of_network(network)
    path = Path(value)
    known = format_by_ending(path)
    if known is not None and not known.any_object:
        return None, side_of_file(known, path)
    loaded = load_any(path)
    if isinstance(loaded, Mapping):  # arrays by name, and no objects that they belong to
        return None, side_of_activations(path.name, loaded)
    network = find_network(loaded, select)
    return network, side_of_network(network, path.name)


def calling(function: Any) -> Any:
    """A function of arrays, such as a PyTorch module around its tensors, as a side's `run`."""

    def run(inputs: Arrays) -> list[np.ndarray]:
        arguments = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        output = function(*arguments)
        several = output if isinstance(output, (list, tuple)) else [output]
        return [as_arrays(value) for value in several]

    return run


def side_of_activations(name: str, activations: Mapping[str, Any]) -> Side:
    """What layers once gave, by path; those of a table are named path[1], path[2], ..."""
    by_layer: dict[str, list[np.ndarray]] = {}
    for key, value in activations.items():
        layer, _, rest = str(key).rpartition("[")
        is_element = bool(rest.rstrip("]").isdigit()) and not layer.endswith("modules")
        path = layer_path(layer if is_element else str(key))
        by_layer.setdefault(path, []).append(as_arrays(value))

    def run(inputs: Arrays) -> list[np.ndarray]:
        return by_layer[""] if "" in by_layer else list(by_layer.values())[-1]

    return Side(name, run, layers=lambda inputs: by_layer)
