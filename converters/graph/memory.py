"""What tensors hold while a trace runs, as values: writes and views without side effects.

Tensors that look at one memory share a `Memory`, which holds the value of the whole. Writing
into a view makes a new value of the whole; a view that is read afterwards is taken from it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from relume import Tensor
from relume.converters.graph.model import UntraceableError, Value

__all__ = ["Memories", "View", "ViewStep"]

Arguments = dict[str, Any]
# Makes a node: op, its arguments, shapes and dtypes of its outputs.
AddNode = Callable[[str, Arguments, list[tuple[tuple[int, ...], Any]]], list[Value]]


@dataclass
class Memory:
    """The value of a block of memory, and how often it was written."""

    value: Value | None
    version: int = 0


@dataclass
class ViewStep:
    """One call that made a view: an op, what it was given, and which of its outputs this is."""

    op: str
    arguments: Arguments  # without the tensor itself
    outputs: list[tuple[tuple[int, ...], Any]]
    index: int
    source_shape: tuple[int, ...]


@dataclass
class View:
    """What a tensor is: steps that lead from a memory to it, and its value at a version."""

    memory: Memory
    steps: tuple[ViewStep, ...]
    value: Value | None
    version: int
    tensor: Tensor | None = field(default=None, repr=False)  # kept alive: its identity is the key


class Memories:
    """The views and memories of one trace."""

    def __init__(self, add_node: AddNode) -> None:
        self.views: dict[int, View] = {}
        self.add_node = add_node

    def find(self, tensor: Tensor) -> View | None:
        return self.views.get(id(tensor))

    def place(self, tensor: Tensor, value: Value | None) -> View:
        """A tensor with memory of its own."""
        view = self.views[id(tensor)] = View(Memory(value), (), value, 0, tensor)
        return view

    def place_view(
        self, tensor: Tensor, source: View, step: ViewStep | None, value: Value | None
    ) -> View:
        """A tensor that looks at the memory of another."""
        steps = source.steps if step is None else (*source.steps, step)
        view = View(source.memory, steps, value, source.memory.version, tensor)
        self.views[id(tensor)] = view
        return view

    def read(self, view: View, layer: str) -> Value:
        """The value that a tensor has now."""
        if view.version != view.memory.version:
            view.value = self.after(view.memory, view.steps, layer)
            view.version = view.memory.version
        if view.value is None:
            raise UntraceableError(layer, "a tensor's content before it was written is not known")
        return view.value

    def write(self, view: View, value: Value, layer: str) -> None:
        """The tensor has a new value, and so has what it is a view of."""
        memory = view.memory
        whole = value
        for number in range(len(view.steps) - 1, -1, -1):
            source = self.after(memory, view.steps[:number], layer)
            whole = self.put_back(view.steps[number], source, whole, layer)
        memory.value = whole
        memory.version += 1
        view.value, view.version = value, memory.version

    def after(self, memory: Memory, steps: tuple[ViewStep, ...], layer: str) -> Value:
        """What one sees of a memory after some steps."""
        if memory.value is None:
            raise UntraceableError(layer, "a tensor's content before it was written is not known")
        value = memory.value
        for step in steps:
            value = self.add_node(step.op, {"input": value, **step.arguments}, step.outputs)[
                step.index
            ]
        return value

    def put_back(self, step: ViewStep, source: Value, value: Value, layer: str) -> Value:
        """The source of a view, with the view replaced by `value`."""
        put = WAYS_BACK.get(step.op)
        if put is None:
            raise UntraceableError(layer, f"writes into a view made by {step.op}()")
        op, arguments = put(step)
        given = {"input": value} if op in WHOLE else {"input": source, "src": value}
        return self.add_node(op, {**given, **arguments}, [(step.source_shape, source.dtype)])[0]


WHOLE = frozenset({"reshape", "permute"})  # of ways back: those that need no other elements


def reshape_back(step: ViewStep) -> tuple[str, Arguments]:
    return "reshape", {"shape": list(step.source_shape)}


def permute_back(step: ViewStep) -> tuple[str, Arguments]:
    dims = [int(dim) % len(step.source_shape) for dim in step.arguments["dims"]]
    return "permute", {"dims": [dims.index(i) for i in range(len(dims))]}


def transpose_back(step: ViewStep) -> tuple[str, Arguments]:
    rank = len(step.source_shape)
    dims = list(range(rank))
    if step.op == "t":
        first, second = 0, rank - 1
    else:
        first, second = (int(step.arguments[name]) % rank for name in ("dim0", "dim1"))
    dims[first], dims[second] = dims[second], dims[first]
    return "permute", {"dims": dims}


def scatter_back(step: ViewStep) -> tuple[str, Arguments]:
    """For a select, narrow, slice or one part of a split."""
    arguments, rank = step.arguments, len(step.source_shape)
    dim = int(arguments["dim"]) % rank
    size = step.source_shape[dim]
    if step.op in ("select", "unbind"):
        index = step.index if step.op == "unbind" else int(arguments["index"])
        return "select_scatter", {"dim": dim, "index": index % size}
    stride = 1
    if step.op == "narrow":
        start, length = int(arguments["start"]), int(arguments["length"])
    elif step.op == "slice":
        start, stop, stride = slice(
            arguments["start"], arguments["stop"], arguments["step"]
        ).indices(size)
        length = stop - start
    else:
        start = sum(shape[dim] for shape, _ in step.outputs[: step.index])
        length = step.outputs[step.index][0][dim]
    start %= max(size, 1)
    bounds = {"start": start, "end": start + length, "step": stride}
    return "slice_scatter", {"dim": dim, **bounds}


WAYS_BACK: dict[str, Callable[[ViewStep], tuple[str, Arguments]]] = {
    **dict.fromkeys(("reshape", "view", "flatten", "squeeze", "unsqueeze"), reshape_back),
    "permute": permute_back,
    "transpose": transpose_back,
    "t": transpose_back,
    **dict.fromkeys(("select", "narrow", "slice", "split", "chunk", "unbind"), scatter_back),
}
