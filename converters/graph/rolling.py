"""Loops in place of the steps that a sequencer was unrolled to.

A node `scan` runs its body once per step, as ONNX's Scan does: it takes the states before the first
step and sequences, whose first dimension is time, and gives the last states and what every step
gave, stacked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from relume import Tensor
from relume.converters.graph.model import Node, Step, Value
from relume.converters.graph.recording import Recording, traits
from relume.converters.graph.simplifying import without_unused

__all__ = ["SCAN", "roll"]

SCAN = "scan"
FEWEST = 2  # steps that a loop stands for
Place = tuple[int, int]  # a node's number in its step, and which of its outputs


class NoLoop(Exception):
    """Steps that are not the same over and over."""


def roll(recording: Recording) -> Recording:
    """A recording with loops, as far as its steps allow that; the last loop first, as it may take
    what each step of an earlier one gives."""
    loops = dict.fromkeys(n.step._replace(number=0) for n in recording.nodes if n.step is not None)
    for step in reversed(loops):
        for kept in (without_unused(copied(recording)), without_unused_outside(recording)):
            try:
                recording = Loop(kept, step).rolled()
                break
            except NoLoop:
                continue
    return without_unused(recording)


def copied(recording: Recording) -> Recording:
    return replace(recording, nodes=list(recording.nodes))


def without_unused_outside(recording: Recording) -> Recording:
    """Steps stay as they are: the last one computes states that nobody takes any more."""
    wanted = {id(value) for value in recording.outputs}
    kept = []
    for node in reversed(recording.nodes):
        if node.step is not None or any(id(output) in wanted for output in node.outputs):
            kept.append(node)
            wanted.update(id(value) for value in node.inputs())
    return replace(recording, nodes=kept[::-1])


@dataclass
class Body:
    """What the steps have in common.

    Attributes:
        first: the index of the first step that the loop stands for.
        states: place in the step before -> the value before the first of these steps.
        sequences: for columns of values that differ from step to step, these values.
        meant: for every value that the nodes of the first of these steps take, in order: the
            place of the state or the number of the sequence that it is; None of others.
    """

    first: int
    states: dict[Place, Value] = field(default_factory=dict)
    sequences: list[list[Value]] = field(default_factory=list)
    meant: list[Place | int | None] = field(default_factory=list)


class Loop:
    """One sequencer's steps in a recording, on their way to a node."""

    def __init__(self, recording: Recording, step: Step) -> None:
        self.recording = recording
        self.step = step
        self.hoist()
        numbered: dict[int, list[Node]] = {}
        for node in self.recording.nodes:
            if node.step is not None and node.step.loop == step.loop:
                numbered.setdefault(node.step.number, []).append(node)
        self.steps = [numbered[number] for number in sorted(numbered)]
        self.places: dict[int, tuple[int, Place]] = {
            id(output): (index, (number, position))
            for index, nodes in enumerate(self.steps)
            for number, node in enumerate(nodes)
            for position, output in enumerate(node.outputs)
        }
        self.added: list[Node] = []

    def is_in(self, node: Node) -> bool:
        return node.step is not None and node.step.loop == self.step.loop

    # ---- what does not change from step to step ----

    def hoist(self) -> None:
        """Takes what is made of constants only out of the steps, and makes it once."""
        known: dict[Any, Node] = {}
        same: dict[int, Value] = {}
        from_constants: set[int] = set()
        nodes = []
        for node in self.recording.nodes:
            node = with_values(node, lambda value: same.get(id(value), value)) if same else node
            if self.is_in(node) and is_invariant(node, from_constants):
                first = known.setdefault(key_of(node), node)
                if first is not node:
                    pairs = zip(node.outputs, first.outputs, strict=True)
                    same.update((id(output), known_output) for output, known_output in pairs)
                    continue
                if any(True for _ in node.inputs()):
                    from_constants.update(map(id, node.outputs))
                node = replace(node, step=None)
                known[key_of(node)] = node
            nodes.append(node)
        outputs = [same.get(id(value), value) for value in self.recording.outputs]
        self.recording = replace(self.recording, nodes=nodes, outputs=outputs)

    # ---- what the steps have in common ----

    def body(self) -> Body:
        try:
            return self.body_from(0)
        except NoLoop:  # the first step may be another one: it has no output of a step before
            return self.body_from(1)

    def body_from(self, first: int) -> Body:
        steps = self.steps[first:]
        if len(steps) < FEWEST or len({tuple(map(form_of, nodes)) for nodes in steps}) > 1:
            raise NoLoop
        body = Body(first)
        taken = [[value for node in nodes for value in node.inputs()] for nodes in steps]
        known: dict[tuple[int, ...], int] = {}
        for column in zip(*taken, strict=True):
            body.meant.append(self.meaning(body, list(column), known))
        return body

    def meaning(
        self, body: Body, column: list[Value], known: dict[tuple[int, ...], int]
    ) -> Place | int | None:
        """What one argument is in all steps."""
        if all(same_constant(column[0], value) for value in column):
            return None
        first = column[0]
        found = [self.places.get(id(value), (-1, (-1, -1))) for value in column]
        distances = {step - body.first - i for i, (step, _) in enumerate(found)}
        places = {place for _, place in found}
        if distances == {0} and len(places) == 1:
            return None
        later = [(i, *where) for i, where in enumerate(found) if i]
        if len({place for _, _, place in later}) == 1 and all(
            step == body.first + i - 1 for i, step, _ in later
        ):
            place = found[1][1]
            value = self.output_at(body.first, place)
            if body.states.setdefault(place, first) is not first:
                raise NoLoop
            if (value.shape, value.dtype) != (first.shape, first.dtype):
                raise NoLoop
            return place
        if any(step >= body.first for step, _ in found):
            raise NoLoop
        number = known.setdefault(tuple(map(id, column)), len(body.sequences))
        if number == len(body.sequences):
            body.sequences.append(column)
        return number

    def output_at(self, step: int, place: Place) -> Value:
        return self.steps[step][place[0]].outputs[place[1]]

    # ---- the node ----

    def rolled(self) -> Recording:
        """The recording with a loop.

        Raises:
            NoLoop: the steps differ, or somebody takes what a step in the middle gives.
        """
        body = self.body()
        inside = {id(node) for nodes in self.steps[body.first :] for node in nodes}
        last = max(i for i, node in enumerate(self.recording.nodes) if id(node) in inside)
        outer = [node for node in self.recording.nodes if id(node) not in inside]
        takers = [node for node in outer if any(self.is_rolled(v, body) for v in node.inputs())]
        taken = {id(node) for node in takers}
        before = [
            node
            for node in self.recording.nodes[:last]
            if id(node) not in inside and id(node) not in taken
        ]
        behind = [node for node in self.recording.nodes[last:] if id(node) not in inside]
        self.write(body, takers)
        nodes = [*before, *self.added, *(node for node in behind if id(node) not in taken)]
        made = {id(output) for node in nodes for output in node.outputs}
        made |= {id(value) for value in self.recording.inputs}
        layer_outputs = {
            path: values
            for path, values in self.recording.layer_outputs.items()
            if all(value.is_constant or id(value) in made for value in values)
        }
        return replace(self.recording, nodes=nodes, layer_outputs=layer_outputs)

    def is_rolled(self, value: Value, body: Body) -> bool:
        return self.places.get(id(value), (-1, None))[0] >= body.first

    def write(self, body: Body, takers: list[Node]) -> None:
        """Adds the loop, and in the places of those that take what it gives, nodes that take it
        from the stacked outputs."""
        wanted: dict[Place, Value] = {}
        lists = [self.list_of(node, body) for node in takers]
        ends = [value for value in self.recording.outputs if self.is_rolled(value, body)]
        ends += [v for node, found in zip(takers, lists, strict=True) if found is None
                 for v in node.inputs() if self.is_rolled(v, body)]  # fmt: skip
        for value in ends:
            if self.places[id(value)][0] not in (body.first, len(self.steps) - 1):
                raise NoLoop
        families = [self.places[id(value)][1] for value in ends]
        families += [found.place for found in lists if found is not None]
        count = len(self.steps) - body.first
        for place in families:
            value = self.output_at(body.first, place)
            shape = (count, *value.shape)
            wanted.setdefault(place, Value(f"{value.name}.steps", shape, value.dtype))
        self.add_scan(body, wanted, count)
        for value in {id(value): value for value in ends}.values():
            step, place = self.places[id(value)]
            index = 0 if step == body.first else -1
            self.add("select", {"input": wanted[place], "dim": 0, "index": index}, value)
        for node, found in zip(takers, lists, strict=True):
            if found is None:
                self.added.append(replace(node, step=None))
            else:
                self.add_joined(node, found, wanted[found.place])

    def add_scan(self, body: Body, wanted: dict[Place, Value], count: int) -> None:
        sequences = [self.sequence(column) for column in body.sequences]
        states = {
            place: Value(f"{first.name}.state", first.shape, first.dtype)
            for place, first in body.states.items()
        }
        elements: list[Value] = [
            Value(f"{column[0].name}.element", column[0].shape, column[0].dtype)
            for column in body.sequences
        ]
        known: dict[Any, Value] = {**states, **dict(enumerate(elements))}
        inner = iter([known.get(meaning) for meaning in body.meant])
        part = Recording(
            inputs=[*states.values(), *elements],
            outputs=[self.output_at(body.first, place) for place in (*states, *wanted)],
            nodes=[
                replace(with_values(node, lambda value: next(inner) or value), step=None)
                for node in self.steps[body.first]
            ],
        )
        part = without_unused(part)
        own = {id(value) for value in part.inputs}
        own |= {id(output) for node in part.nodes for output in node.outputs}
        used = [value for node in part.nodes for value in node.inputs()]
        outside = {id(value): value for value in used if id(value) not in own}
        arguments = {
            "states": list(body.states.values()),
            "sequences": sequences,
            "outside": list(outside.values()),
            "body": part,
            "steps": count,
            "batch": sequences[0].shape[1] if sequences and sequences[0].rank > 1 else 0,
        }
        finals = [
            Value(f"{state.name}.last", state.shape, state.dtype) for state in states.values()
        ]
        self.added.append(
            Node(SCAN, arguments, [*finals, *wanted.values()], self.step.layer, self.step.kind)
        )

    def add(self, op: str, arguments: dict[str, Any], output: Value) -> Value:
        self.added.append(Node(op, arguments, [output], self.step.layer, self.step.kind))
        return output

    def changed(self, op: str, source: Value, shape: list[int], **arguments: Any) -> Value:
        value = Value(f"{source.name}.{op}", tuple(shape), source.dtype)
        return self.add(op, {"input": source, **arguments}, value)

    # ---- sequences ----

    def sequence(self, column: list[Value]) -> Value:
        """The tensor whose elements along the first dimension are these values."""
        source, dim, numbers = self.elements_of(column)
        step = numbers[1] - numbers[0] if source is not None else 0
        if source is None or abs(step) != 1 or numbers != run_of(numbers[0], step, len(numbers)):
            together = (len(column), *column[0].shape)
            value = Value(f"{column[0].name}.all", together, column[0].dtype)
            self.added.append(Node("stack", {"tensors": column, "dim": 0}, [value]))
            return value
        start, count = min(numbers), len(numbers)
        shape = [int(size) for size in source.shape]
        if count != shape[dim]:
            shape[dim] = count
            source = self.changed("narrow", source, shape, dim=dim, start=start, length=count)
        if dim:
            dims = [dim, *(d for d in range(len(shape)) if d != dim)]
            shape = [shape[d] for d in dims]
            source = self.changed("permute", source, shape, dims=dims)
        return source if step == 1 else self.changed("flip", source, shape, dims=[0])

    def elements_of(self, column: list[Value]) -> tuple[Value | None, int, list[int]]:
        """The one tensor that values are elements of along a dimension, and their numbers."""
        makers = {id(o): (n, i) for n in self.recording.nodes for i, o in enumerate(n.outputs)}
        source, dim, numbers = None, 0, []
        for value in column:
            node, position = makers.get(id(value), (None, 0))
            if node is None or node.op not in ("select", "unbind"):
                return None, 0, []
            given = node.arguments["input"]
            place = int(node.arguments["dim"]) % given.rank
            if source is not None and (source is not given or dim != place):
                return None, 0, []
            source, dim = given, place
            number = position if node.op == "unbind" else int(node.arguments["index"])
            numbers.append(number % int(given.shape[dim]))
        return source, dim, numbers

    # ---- outputs ----

    def list_of(self, node: Node, body: Body) -> Joined | None:
        """The outputs of all steps that a node joins; None when it takes something else."""
        tensors = node.arguments.get("tensors")
        if node.op not in ("stack", "cat") or not isinstance(tensors, list):
            return None
        count = len(self.steps) - body.first
        for is_reversed in (False, True):
            values = tensors[::-1] if is_reversed else tensors
            head, tail = values[:-count], values[-count:]
            found = [self.places.get(id(value), (-1, (-1, -1))) for value in tail]
            steps = [step - body.first for step, _ in found]
            is_all = steps == list(range(count)) and len({place for _, place in found}) == 1
            if is_all and not any(self.is_rolled(value, body) for value in head):
                return Joined(found[0][1], head, is_reversed)
        return None

    def add_joined(self, node: Node, found: Joined, stacked: Value) -> None:
        """What a node made of the outputs of all steps, from the stacked outputs."""
        output = node.outputs[0]
        shape = [int(size) for size in stacked.shape]
        if found.head:
            ones = [
                self.changed("unsqueeze", value, [1, *map(int, value.shape)], dim=0)
                for value in found.head
            ]
            shape[0] += len(ones)
            whole = Value(f"{stacked.name}.all", tuple(shape), stacked.dtype)
            stacked = self.add("cat", {"tensors": [*ones, stacked], "dim": 0}, whole)
        if found.is_reversed:
            stacked = self.changed("flip", stacked, shape, dims=[0])
        rank = len(shape)
        dim = int(node.arguments["dim"]) % (rank if node.op == "stack" else rank - 1)
        if dim:
            dims = [*range(1, dim + 1), 0, *range(dim + 1, rank)]
            stacked = self.changed("permute", stacked, [shape[d] for d in dims], dims=dims)
        self.add("reshape", {"input": stacked, "shape": list(output.shape)}, output)


@dataclass(frozen=True)
class Joined:
    """What a node joins: outputs of all steps, behind some values from before the loop."""

    place: Place
    head: list[Value]
    is_reversed: bool


def run_of(first: int, step: int, count: int) -> list[int]:
    return [first + i * step for i in range(count)]


# ---- nodes ----


def is_invariant(node: Node, from_constants: set[int]) -> bool:
    """Does it take nothing but constants and what was made of constants?"""
    is_known = all(value.is_constant or id(value) in from_constants for value in node.inputs())
    return is_known and "random" not in traits().get(node.op, frozenset())


def key_of(node: Node) -> Any:
    """The same for nodes that give the same."""
    return (node.op, *(frozen(argument) for argument in node.arguments.values()))


def form_of(node: Node) -> Any:
    """The same for nodes that differ only in the values they take."""
    return (node.op, *(frozen(argument, values=False) for argument in node.arguments.values()))


def frozen(argument: Any, *, values: bool = True) -> Any:
    if isinstance(argument, Value):
        return ("value", id(argument)) if values else "value"
    if isinstance(argument, list):
        return tuple(frozen(element, values=values) for element in argument)
    return argument if isinstance(argument, (int, str, bool)) else repr(argument)


def same_constant(a: Value, b: Value) -> bool:
    if a is b:
        return True
    both = isinstance(a.tensor, Tensor) and isinstance(b.tensor, Tensor)
    if not both or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return a.tensor.detach().numpy().tobytes() == b.tensor.detach().numpy().tobytes()  # type: ignore[union-attr]


def with_values(node: Node, other: Callable[[Value], Value]) -> Node:
    """A node that takes other values; they are asked for in the order of its inputs."""

    def changed(argument: Any) -> Any:
        if isinstance(argument, Value):
            return other(argument)
        if isinstance(argument, list):
            return [changed(element) for element in argument]
        return argument

    return replace(node, arguments={k: changed(v) for k, v in node.arguments.items()})
