"""The graph of a network: calls of registered ops, and the values that go from one to the next.

A graph has no side effects: an op that writes into a tensor is a node that gives a new value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relume import Tensor

__all__ = ["Axis", "Graph", "Node", "Size", "UntraceableError", "Value"]


class UntraceableError(ValueError):
    """A network that is no graph of ops.

    Attributes:
        layer: path of the layer where that shows.
        reason: what it does.
    """

    def __init__(self, layer: str, reason: str) -> None:
        self.layer = layer
        self.reason = reason
        super().__init__(f"{layer or 'the network'}: {reason}")


@dataclass(frozen=True)
class Axis:
    """Dimensions of inputs whose size is free.

    Attributes:
        name: "batch", "height", ...
        places: (number of the input, dimension), all of one size.
        size: what it was when the graph was made.
        is_of_images: are these inputs images or volumes?
    """

    name: str
    places: tuple[tuple[int, int], ...]
    size: int
    is_of_images: bool = False

    @property
    def is_spatial(self) -> bool:
        """Is it one of the dimensions of images or volumes?"""
        return self.name.partition("_")[0] in ("depth", "height", "width")


@dataclass(frozen=True)
class Size:
    """A whole number that follows free sizes: scale * size * size ... + offset.

    Attributes:
        axes: whose sizes are multiplied; empty for a number that changes in no known way.
        value: what it was when the graph was made.

    >>> batch = Axis("batch", ((0, 0),), 4)
    >>> str(Size((batch,), 3, 1, 13))
    '3*batch+1'
    """

    axes: tuple[Axis, ...]
    scale: int
    offset: int
    value: int

    @property
    def is_known(self) -> bool:
        """Is there a formula?"""
        return bool(self.axes)

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        if not self.axes:
            return "?"
        factors = "*".join(axis.name for axis in self.axes)
        scaled = factors if self.scale == 1 else f"{self.scale}*{factors}"
        return f"{scaled}{self.offset:+d}" if self.offset else scaled


Shape = tuple[int | Size, ...]


@dataclass(eq=False)
class Value:
    """A tensor that goes through the graph.

    Attributes:
        name: unique in its graph; of a parameter its path.
        shape: sizes; a `Size` where it is free.
        dtype: of its elements.
        tensor: what it holds, of a constant; None of others.
        names: further paths of the same parameter.
    """

    name: str
    shape: Shape
    dtype: Any
    tensor: Tensor | None = None
    names: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        return self.tensor is not None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        """How many elements it had when the graph was made."""
        return math.prod(int(size) for size in self.shape)

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Step(NamedTuple):
    """A step of a sequencer.

    Attributes:
        loop: the number of this run of a sequencer.
        number: of the step, from 1 on.
        layer, kind: the sequencer's path and class.
    """

    loop: int
    number: int
    layer: str
    kind: str


@dataclass(eq=False)
class Node:
    """A call of an op.

    Attributes:
        op: its name in the registry.
        arguments: by the names of its schema: a `Value` or a list of them, numbers (a `Size`
            where it is free) and lists of them, texts, dtypes, None.
        outputs: what it gives.
        layer: the path of the layer that called it, "" for the network itself.
        layer_class: Torch7's name of the layer's class.
        step: of a sequencer, in which the call was made; None outside.
    """

    op: str
    arguments: dict[str, Any]
    outputs: list[Value]
    layer: str = ""
    layer_class: str = ""
    step: Step | None = None

    def inputs(self) -> Iterator[Value]:
        """The values among its arguments."""
        for argument in self.arguments.values():
            if isinstance(argument, Value):
                yield argument
            elif isinstance(argument, list):
                yield from (element for element in argument if isinstance(element, Value))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={text_of(value)}" for name, value in self.arguments.items())
        return f"{', '.join(output.name for output in self.outputs)} = {self.op}({given})"


def text_of(argument: Any) -> str:
    if isinstance(argument, Value):
        return argument.name
    if isinstance(argument, list):
        return f"[{', '.join(map(text_of, argument))}]"
    return str(argument)


@dataclass
class Graph:
    """A network as nodes in the order in which they run.

    Attributes:
        inputs: what it takes, tables flattened.
        outputs: what it gives, tables flattened.
        nodes: the calls.
        axes: the sizes that are free.
        layers: path -> class of every layer that ran.
        layer_outputs: path -> what it gave, as far as that is in the graph.
    """

    inputs: list[Value]
    outputs: list[Value]
    nodes: list[Node]
    axes: list[Axis] = field(default_factory=list)
    layers: dict[str, str] = field(default_factory=dict)
    layer_outputs: dict[str, list[Value]] = field(default_factory=dict)

    def constants(self) -> list[Value]:
        """Parameters and other constants that nodes or outputs use, each once."""
        used = [value for node in self.nodes for value in node.inputs()] + self.outputs
        return list({id(value): value for value in used if value.is_constant}.values())

    def __str__(self) -> str:
        lines = [f"input {value!r}" for value in self.inputs]
        lines += [f"constant {value!r}" for value in self.constants()]
        lines += [repr(node) for node in self.nodes]
        lines += [f"output {value!r}" for value in self.outputs]
        return "\n".join(lines)
