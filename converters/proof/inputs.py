"""Inputs for a network, generated: candidates are tried until one runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import relume as rl
from relume.converters.formats import Arrays, flatten
from relume.converters.networks import types_of
from relume.converters.proof.candidates import Candidate, Numbers, generic, generic_tables
from relume.converters.proof.running import run
from relume.converters.proof.wanted import sizes_inside, wanted
from relume.legacy_nn import nested

__all__ = ["GeneratedInput", "NoInputFound", "generate", "numbers_like"]

SECONDS = 30.0  # that trying may take
SECONDS_FOR_BETTER = 1.5  # once something runs
MOST_SHOWN = 4  # of what was tried


class NoInputFound(ValueError):
    """No input was found that a network takes; the message says what was tried."""


@dataclass(frozen=True)
class GeneratedInput:
    """An input that a network takes.

    Attributes:
        arrays: an array, or nested lists of arrays for a table.
        text: its sizes, in words.
    """

    arrays: Arrays
    text: str


def generate(network: Any, *, seed: int = 1) -> GeneratedInput:
    """An input for a network, of a shape that it takes in evaluate mode.

    Args:
        network: a layer or network; it is run, in evaluate mode.
        seed: of the numbers.

    Raises:
        NoInputFound: none was found; the message says what was tried and how to give one.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.SpatialConvolution(3, 8, 5, 5)).add(nn.ReLU())
    >>> generate(net).text
    '2x3x32x32'
    """
    tried: list[str] = []
    poor: GeneratedInput | None = None  # it runs, but is no batch, or tells little
    started = time.perf_counter()
    for candidate in candidates(network):
        made, outputs = try_candidate(network, candidate, seed, tried)
        if made is not None and is_good(made.arrays, outputs):
            return made
        poor = poor or made
        if time.perf_counter() - started > (SECONDS if poor is None else SECONDS_FOR_BETTER):
            break
    if poor is not None:
        return poor
    raise NoInputFound(explanation(network, tried))


def try_candidate(
    network: Any, candidate: Candidate, seed: int, tried: list[str]
) -> tuple[GeneratedInput | None, list[np.ndarray]]:
    """The input that a candidate gives and its outputs, when the network takes it."""
    text = text_of(candidate)
    found: GeneratedInput | None = None
    outputs: list[np.ndarray] = []
    for low in (-1.0, 0.1):  # a logarithm or a root wants no negative numbers
        arrays = numbers_like(candidate, seed, low)
        try:
            outputs = run(network, arrays)
        except Exception as error:  # whatever a layer raises for an input it does not take
            tried.append(f"{text}: {first_line(error)}")
            break
        found = GeneratedInput(arrays, text)
        if tells_something(outputs):
            break
    return found, outputs


def is_good(inputs: Arrays, outputs: list[np.ndarray]) -> bool:
    """Is there as much in the outputs' first dimension as in the inputs', the batch?"""
    if not tells_something(outputs):
        return False
    first = flatten(inputs)[0].shape
    return bool(first) and outputs[0].shape[:1] == first[:1]


def candidates(network: Any) -> Iterator[Candidate]:
    """What may be tried, without repetitions: what the file remembers, what the layers say, and
    then anything."""
    seen = set()
    for source in (remembered, wanted, lambda network: generic(), sizes_inside, any_table):
        for candidate in source(network):
            if repr(candidate) not in seen:
                seen.add(repr(candidate))
                yield candidate


def any_table(network: Any) -> list[Candidate]:
    return generic_tables()


def remembered(network: Any) -> list[Candidate]:
    """The gradient of the last input has that input's shape; files keep it sometimes."""
    gradient = vars(network).get("gradInput")
    if gradient is None or not nested.tensors_in(gradient):
        return []
    if any(tensor.numel() == 0 for tensor in nested.tensors_in(gradient)):
        return []
    return [like(gradient)]


def like(value: Any) -> Candidate:
    if isinstance(value, rl.Tensor):
        return Numbers(tuple(value.shape))
    return [like(element) for element in nested.elements(value)]


def numbers_like(candidate: Candidate, seed: int, low: float = -1.0) -> Arrays:
    """Arrays for a candidate: uniform numbers from `low` to 1, or whole numbers.

    >>> numbers_like([Numbers((2,)), Numbers((3,), 5)], 1)[1].dtype
    dtype('int64')
    """
    random = np.random.default_rng(seed)

    def make(part: Candidate) -> Arrays:
        if isinstance(part, list):
            return [make(element) for element in part]
        if part.is_mask:
            return random.integers(0, 2, part.shape).astype(np.uint8)
        if part.largest:
            return random.integers(1, part.largest + 1, part.shape)
        return random.uniform(low, 1, part.shape).astype(np.float32)

    return make(candidate)


def tells_something(outputs: list[np.ndarray]) -> bool:
    """Is there an output, and are some of its numbers finite?"""
    return any(output.size and np.isfinite(output).any() for output in outputs)


def text_of(candidate: Candidate) -> str:
    if isinstance(candidate, list):
        return "{" + ", ".join(map(text_of, candidate)) + "}"
    return str(candidate)


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0][:160]


def explanation(network: Any, tried: list[str]) -> str:
    shown = [f"  {line}" for line in tried[:MOST_SHOWN]]
    if len(tried) > MOST_SHOWN:
        shown.append(f"  ... and {len(tried) - MOST_SHOWN} others")
    name = getattr(network, "torch_typename", type(network).__name__)
    types = types_of(network)
    if len(types) > 1:
        where = ", ".join(f"{name} at {path}" for name, path in types.items())
        shown.append(f"its layers have different types ({where}): network.float() gives it one")
    return "\n".join(
        [
            f"no input was found that this {name} takes; tried:",
            *(shown or ["  nothing: no layer says what it takes"]),
            "give one: --input X.npy (an .npz for a table), or input=array in Python",
        ]
    )
