"""The graph of a network, from runs with example inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relume.converters.graph.merging import check_same, merge
from relume.converters.graph.model import Axis, Graph
from relume.converters.graph.recording import Recording, Source, record
from relume.converters.graph.rolling import SCAN, roll
from relume.converters.graph.simplifying import fold_constants, without_unused
from relume.converters.graph.variation import candidates, other_size, with_other_values, with_size

__all__ = ["Traces", "trace"]


class Traces:
    """The runs of a network that its graph is made of.

    Args:
        dynamic: look for these sizes.
        loops: make sequencers loops where their length is free then.

    Attributes:
        axes: the sizes that may be free: the network ran, and was the same graph, with another.
    """

    def __init__(
        self, network: Any, inputs: Any, *, dynamic: bool = True, loops: bool = False
    ) -> None:
        self.source = Source(network)
        self.inputs = inputs
        self.loops = dynamic and loops
        self.begin()
        self.check_values()
        if dynamic:
            self.find_axes()
        if self.loops and not self.has_free_loops():
            self.loops = False
            self.begin()
            self.find_axes()

    def begin(self) -> None:
        self.first = self.run(self.inputs)
        self.runs: dict[str, Recording] = {}
        self.sizes: dict[str, int] = {}
        self.axes: list[Axis] = []

    def run(self, inputs: Any) -> Recording:
        recording = record(self.source, inputs)
        return roll(recording) if self.loops else without_unused(recording)

    def has_free_loops(self) -> bool:
        """Has every loop another number of steps in some run?"""
        loops = [i for i, node in enumerate(self.first.nodes) if node.op == SCAN]

        def steps(run: Recording, loop: int) -> int:
            return run.nodes[loop].arguments["steps"]

        return all(
            any(steps(run, loop) != steps(self.first, loop) for run in self.runs.values())
            for loop in loops
        )

    def check_values(self) -> None:
        """Raises UntraceableError when the graph depends on what is in the inputs."""
        for inputs in with_other_values(self.inputs):
            try:
                run = self.run(inputs)
            except (IndexError, ValueError):  # the network does not take such values
                continue
            return check_same(self.first, run, sizes_differ=False)

    def find_axes(self) -> None:
        """Tries another size for every dimension of the inputs."""
        taken: set[tuple[int, int]] = set()
        for axis in candidates(self.inputs):
            if axis.size == 0 or taken.intersection(axis.places):
                continue
            size = other_size(axis)
            inputs = with_size(self.inputs, axis, size)
            try:
                run = self.run(inputs)
                check_same(self.first, run, sizes_differ=True)
            except Exception:  # whatever the network says to inputs of another size
                continue
            if axis.is_spatial and rows_of(run) != rows_of(self.first):
                continue  # pixels became samples: it runs, but that is no meaning of a size
            taken.update(axis.places)
            axis = self.named_by_layers(axis, run)
            self.axes.append(axis)
            self.runs[axis.name], self.sizes[axis.name] = run, size
        if set(self.runs) == {"length"}:
            self.rename("length", "batch")  # steps come first, and their number is fixed

    def rename(self, old: str, new: str) -> None:
        self.axes = [replace(a, name=new) if a.name == old else a for a in self.axes]
        self.runs[new], self.sizes[new] = self.runs.pop(old), self.sizes.pop(old)

    def named_by_layers(self, axis: Axis, run: Recording) -> Axis:
        """An axis of sequences is what the recurrent layers take it for."""
        name = axis.name
        for role, what in (("steps", "length"), ("batch", "batch")):
            for node, other in zip(self.first.nodes, run.nodes, strict=True):
                if "steps" in node.arguments and node.arguments[role] != other.arguments[role]:
                    name = what
        while name in self.runs:
            name += "_"
        return replace(axis, name=name)

    def graph(self, without: Sequence[str] = (), *, fold: bool = True) -> Graph:
        """The graph.

        Args:
            without: names of axes whose size is fixed after all.
            fold: compute what takes constants only.
        """
        axes = [axis for axis in self.axes if axis.name not in without]
        runs = [self.first, *(self.runs[axis.name] for axis in axes)]
        merged = merge(runs, axes, [self.sizes[axis.name] for axis in axes])
        return fold_constants(merged) if fold else merged


def rows_of(run: Recording) -> list[int]:
    return [int(value.shape[0]) for value in run.outputs if value.rank]


def trace(network: Any, inputs: Any, *, dynamic: bool = True) -> Graph:
    """The graph of a network in evaluate mode.

    Args:
        network: a legacy_nn module; it stays as it is.
        inputs: an example: a tensor, or a (nested) table of tensors.
        dynamic: find out which sizes of the inputs may be others.

    Raises:
        UntraceableError: what it computes depends on more than ops on its input.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    >>> print(trace(net, rl.ones(4, 3, dtype=rl.float64)))
    input input: relume.float64[batch, 3]
    constant modules.1.weight: relume.float64[2, 3]
    constant modules.1.bias: relume.float64[2]
    modules.1/linear = linear(input=input, weight=modules.1.weight, bias=modules.1.bias)
    modules.2/tanh = tanh(input=modules.1/linear)
    output modules.2/tanh: relume.float64[batch, 2]
    """
    return Traces(network, inputs, dynamic=dynamic).graph()
