"""One run of a network, as a graph with fixed sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import relume as rl
from relume import _C, Tensor
from relume.converters.graph.memory import Memories, View, ViewStep
from relume.converters.graph.model import Node, UntraceableError, Value
from relume.converters.graph.scopes import Scopes, entering
from relume.converters.graph.whole_layers import WholeLayer
from relume.converters.object_tree import memory_of, walk
from relume.legacy_nn import nested
from relume.legacy_nn.copying import clone
from relume.tensor.signatures import signature

__all__ = ["Recording", "Source", "record"]

# Ops whose output is their input; clone gives it memory of its own.
SAME_VALUE = frozenset({"detach", "contiguous", "clone"})
# Ops that write what is the same whatever was there before.
OVERWRITING = frozenset({"zero_", "fill_", "copy_"})
# Ops on packed sequences: where all are of one length, `batch` and `steps` say more than the
# list `batch_sizes`, which has an element for every step.
RECURRENT = frozenset({"lstm_layer", "gru_layer", "rnn_layer"})


@cache
def traits() -> dict[str, frozenset[str]]:
    return {row["name"]: frozenset(row["traits"]) for row in _C.registry()}


@cache
def argument_names(op: str) -> list[str]:
    return list(signature(_C.ops[op]).parameters)


class Source:
    """A network, which stays as it is: copies of it run.

    The copies share tensors with a first copy, unless a run was seen to change some.

    Attributes:
        tensors: paths and content of all its tensors, by what identifies them.
    """

    def __init__(self, network: Any) -> None:
        self.network = network
        self.paths: dict[str, tuple] = {}
        self.tensors: dict[tuple, tuple[list[str], Tensor]] = {}
        for path, tensor in tensors_of(network):
            key = self.paths[path] = memory_of(tensor)
            self.tensors.setdefault(key, ([], tensor))[0].append(path)
        self.writes = False
        self.make_template()

    def make_template(self) -> None:
        gradients = [  # what no forward touches
            node.value
            for node in walk(self.network)
            if isinstance(node.value, Tensor) and str(node.key).startswith("grad")
        ]
        self.template = clone(self.network, kept=gradients)
        self.template.evaluate()
        held = [node.value for node in walk(self.template)]
        self.shared = [value for value in held if isinstance(value, Tensor)]
        self.shapes = [tensor.shape for tensor in self.shared]

    def note_write(self) -> None:
        """A run changed a tensor of its copy."""
        self.writes = True

    def copy(self) -> RunnableCopy:
        """A copy in the state that the network is in."""
        if self.writes or self.shapes != [tensor.shape for tensor in self.shared]:
            self.writes = True
            self.make_template()
            self.shared = []
        return RunnableCopy(self, clone(self.template, kept=self.shared))


class RunnableCopy:
    """A copy of a network that knows what its tensors are in the original."""

    def __init__(self, source: Source, network: Any) -> None:
        self.source = source
        self.network = network
        self.tensors = {
            memory_of(tensor): source.tensors[source.paths[path]]
            for path, tensor in tensors_of(network)
            if path in source.paths
        }

    def original_of(self, tensor: Tensor) -> tuple[list[str], Tensor] | None:
        """Paths and content in the original."""
        return self.tensors.get(memory_of(tensor))


def tensors_of(network: Any) -> Iterator[tuple[str, Tensor]]:
    for node in walk(network, skip_scratch=True):
        if isinstance(node.value, Tensor) and node.value.numel():
            yield node.path, node.value


@dataclass
class Recording:
    """What one run gave.

    Attributes:
        inputs, outputs, nodes, layers, layer_outputs: see `Graph`; all sizes are integers.
    """

    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    layers: dict[str, str] = field(default_factory=dict)
    layer_outputs: dict[str, list[Value]] = field(default_factory=dict)


class Recorder:
    """Listens to ops and writes them down."""

    def __init__(self, copy: RunnableCopy, scopes: Scopes) -> None:
        self.recording = Recording()
        self.copy = copy
        self.scopes = scopes
        self.memories = Memories(self.add_node)
        self.constants: dict[tuple, View] = {}
        self.held: set[int] = set()  # memories of constants
        self.count = 0
        self.is_paused = False
        scopes.finished = self.note_layer
        scopes.record_whole = self.record_whole
        self.alive: list[Any] = []

    # ---- values ----

    def new_value(self, shape: tuple[int, ...], dtype: Any) -> Value:
        self.count += 1
        return Value(f"value_{self.count}", tuple(shape), dtype)

    def add_node(self, op: str, arguments: dict, outputs: list) -> list[Value]:
        made = [self.new_value(shape, dtype) for shape, dtype in outputs]
        layer, layer_class = self.scopes.current
        node = Node(op, arguments, made, layer, layer_class, self.scopes.step)
        self.recording.nodes.append(node)
        return made

    def add_input(self, tensor: Tensor, name: str) -> None:
        value = Value(name, tuple(tensor.shape), tensor.dtype)
        self.recording.inputs.append(value)
        self.memories.place(tensor, value)

    def view_of(self, tensor: Tensor, *, is_written: bool = False) -> View:
        """What is known of a tensor; one that was never seen is a constant."""
        view = self.memories.find(tensor)
        if view is not None:
            return view
        known = self.constants.get(memory_of(tensor))
        if known is not None:
            return self.memories.place_view(tensor, known, None, known.value)
        value: Value | None
        entry = self.copy.original_of(tensor)
        if entry is not None:
            paths, content = entry
            value = self.constant(content, paths[0])
            value.names = tuple(paths[1:])
        elif is_written:
            value = None
        else:
            value = self.constant(tensor.detach().clone(), "")
        view = self.memories.place(tensor, value)
        self.held.add(id(view.memory))
        self.constants[memory_of(tensor)] = view
        return view

    def constant(self, content: Tensor, name: str) -> Value:
        self.count += 1
        name = name or f"constant_{self.count}"
        return Value(name, tuple(content.shape), content.dtype, content)

    def read(self, tensor: Tensor) -> Value:
        return self.memories.read(self.view_of(tensor), self.scopes.current[0])

    def read_argument(self, argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return self.read(argument)
        if isinstance(argument, list):
            return [self.read_argument(element) for element in argument]
        return argument

    def note_layer(self, path: str, output: Any) -> None:
        """A layer gave an output: of several runs, the first one is noted."""
        if path not in self.recording.layer_outputs:
            tensors = [self.memories.find(tensor) for tensor in nested.tensors_in(output)]
            values = [self.memories.read(view, path) for view in tensors if view is not None]
            self.recording.layer_outputs[path] = values

    def record_whole(self, whole: WholeLayer, arguments: tuple, run: Callable[[], Any]) -> Any:
        """A layer that is one node: what it calls is not listened to."""
        given = {n: self.read_argument(a) for n, a in whole.arguments(*arguments).items()}
        self.is_paused = True
        try:
            result = run()
        finally:
            self.is_paused = False
        outputs = whole.outputs(result)
        self.alive.append(outputs)
        made = self.add_node(whole.op, given, [(tuple(o.shape), o.dtype) for o in outputs])
        for tensor, value in zip(outputs, made, strict=True):
            self.memories.place(tensor, value)
        return result

    # ---- calls ----

    def __call__(self, op: str, arguments: list, outputs: list[Tensor], writes: bool) -> None:
        if self.is_paused:
            return
        self.alive.append(outputs)
        names = argument_names(op)
        if writes:
            self.note_write(op, dict(zip(names, arguments, strict=True)), outputs)
            return
        if op in SAME_VALUE:
            self.note_same(op, arguments[0], outputs[0])
            return
        given = {n: self.read_argument(a) for n, a in zip(names, arguments, strict=True)}
        if op in RECURRENT and len(set(given["batch_sizes"])) == 1:
            sizes = given.pop("batch_sizes")
            given |= {"batch": sizes[0], "steps": len(sizes)}
        made = self.add_node(op, given, [(tuple(o.shape), o.dtype) for o in outputs])
        is_view = "view" in traits()[op]
        for index, (tensor, value) in enumerate(zip(outputs, made, strict=True)):
            if is_view and shares_memory(tensor, arguments[0]):
                source = self.view_of(arguments[0])
                rest = {n: given[n] for n in names[1:]}
                kinds = [(tuple(o.shape), o.dtype) for o in outputs]
                step = ViewStep(op, rest, kinds, index, tuple(arguments[0].shape))
                self.memories.place_view(tensor, source, step, value)
            else:
                self.memories.place(tensor, value)

    def note_same(self, op: str, source: Tensor, output: Tensor) -> None:
        if output is source:
            return
        value = self.read(source)
        if op != "clone" and shares_memory(output, source):
            self.memories.place_view(output, self.view_of(source), None, value)
        else:
            self.memories.place(output, value)

    def note_write(self, op: str, arguments: dict, outputs: list[Tensor]) -> None:
        """An op with its result in a tensor that was there before."""
        target = outputs[0]
        view = self.view_of(target, is_written=True)
        if id(view.memory) in self.held:
            self.copy.source.note_write()
        layer = self.scopes.current[0]
        kind = (tuple(target.shape), target.dtype)
        if op in OVERWRITING:
            value = self.overwritten(op, arguments, kind)
        else:
            given = {name: self.read_argument(value) for name, value in arguments.items()}
            plain = op.removesuffix("_")
            name = plain if plain in traits() and "random" not in traits()[op] else op
            made = self.add_node(name, given, [(tuple(o.shape), o.dtype) for o in outputs])
            for tensor, more in zip(outputs[1:], made[1:], strict=True):
                self.memories.write(self.view_of(tensor, is_written=True), more, layer)
            value = made[0]
        self.memories.write(view, value, layer)

    def overwritten(self, op: str, arguments: dict, kind: tuple) -> Value:
        shape, dtype = kind
        if op != "copy_":
            fill = 0 if op == "zero_" else arguments["value"]
            given = {"size": list(shape), "fill_value": fill, "dtype": dtype}
            return self.add_node("full", given, [kind])[0]
        value = self.read(arguments["source"])
        if value.dtype != dtype:
            value = self.add_node("to_dtype", {"input": value, "dtype": dtype}, [kind])[0]
        if value.shape != shape:
            value = self.add_node("expand", {"input": value, "shape": list(shape)}, [kind])[0]
        return value


def shares_memory(tensor: Tensor, other: Any) -> bool:
    return isinstance(other, Tensor) and tensor.storage() is other.storage()


def record(source: Source, inputs: Any) -> Recording:
    """Runs a network in evaluate mode and writes down what it calls.

    Args:
        source: the network.
        inputs: an activation; not changed.
    """
    given = nested.map_tensors(lambda tensor: tensor.detach().clone(), inputs)
    copy = source.copy()
    with entering(copy.network) as scopes, rl.no_grad():
        recorder = Recorder(copy, scopes)
        flat = nested.tensors_in(given)
        for name, tensor in zip(input_names(given), flat, strict=True):
            recorder.add_input(tensor, name)
        _C.start_tracing(recorder)
        try:
            output = copy.network.forward(given)
        finally:
            _C.stop_tracing()
        recording = recorder.recording
        recording.layers = scopes.seen
        for element in flat_output(output):
            if element is None:
                continue
            if not isinstance(element, Tensor):
                raise UntraceableError("", "its output is a number, no tensor")
            recording.outputs.append(recorder.read(element))
    return recording


def flat_output(output: Any) -> list[Any]:
    """What an activation holds, in order."""
    if nested.is_table(output):
        return [part for element in nested.elements(output) for part in flat_output(element)]
    return [output]


def input_names(inputs: Any, name: str = "input") -> list[str]:
    """Names of the tensors of an activation.

    >>> input_names([rl.ones(1), [rl.ones(1)]])
    ['input.1', 'input.2.1']
    """
    if isinstance(inputs, Tensor):
        return [name]
    if not nested.is_table(inputs):
        return []
    return [
        inner
        for position, element in enumerate(nested.elements(inputs), 1)
        for inner in input_names(element, f"{name}.{position}")
    ]
