"""A whole graph run again: the ops that its modules come down to, made in one call.

Between small modules Python takes as long as their ops do. What ops a graph of well-known modules
comes down to depends only on the sizes of its input and on the fields of its modules. So when
inputs of the same sizes come a second time, the ops are noted, and from the third time on they
are made without asking the modules. When a field has changed, or anything else is not as it was,
the modules are asked again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from weakref import proxy

from relume import _C, Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.parameter_methods import gradient_name_of

# Modules whose ops depend on nothing but the sizes of their input and their fields, and that
# change nothing but their output.
SAME_OPS = frozenset(
    """
    nn.Identity nn.Linear nn.LinearNoBias nn.Add nn.Mul nn.CMul nn.CAdd
    nn.CAddTable nn.CSubTable nn.CMulTable nn.CDivTable nn.CMaxTable nn.CMinTable
    nn.JoinTable nn.SplitTable nn.NarrowTable nn.SelectTable nn.MM nn.MV nn.DotProduct
    nn.Reshape nn.View nn.Contiguous nn.Squeeze nn.Unsqueeze nn.Replicate nn.Select nn.Narrow
    nn.Sum nn.Mean nn.SoftMax nn.LogSoftMax nn.SoftMin
    nn.Tanh nn.Sigmoid nn.ReLU nn.Threshold nn.Abs nn.Square nn.Sqrt nn.Exp nn.Log nn.Power
    nn.MulConstant nn.AddConstant nn.LeakyReLU nn.ELU nn.HardTanh nn.Clamp nn.ReLU6 nn.SoftPlus
    nn.SoftSign nn.LogSigmoid nn.TanhShrink nn.SoftShrink nn.HardShrink
    """.split()
)
# The same of modules in evaluation mode.
SAME_OPS_IN_EVALUATION = frozenset(["nn.Dropout", "nn.SpatialDropout", "nn.VolumetricDropout"])
KEPT = 4  # of the replays of one graph: for training and evaluation, for a few sizes
ATTEMPTS = 16  # at noting the ops of one graph

Form = Any  # where the tensors of an activation are: a place, or a list of forms


def has_same_ops(module: Any) -> bool:
    cls = type(module)
    if not cls.__module__.startswith("relume."):
        return False
    name = cls.torch_typename
    return name in SAME_OPS or (name in SAME_OPS_IN_EVALUATION and not module.train)


def form_of(value: Activation, place_of: Callable[[Tensor], int]) -> Form:
    """The form of an activation.

    Raises:
        LookupError: it holds something else than tensors that have a place.
    """
    if type(value) is Tensor:
        place = place_of(value)
        if place < 0:
            raise LookupError
        return place
    if not nested.is_table(value) or (isinstance(value, Table) and not value.is_list()):
        raise LookupError
    return [form_of(element, place_of) for element in nested.elements(value)]


def places_in(form: Form) -> list[int]:
    return [form] if type(form) is int else [place for part in form for place in places_in(part)]


def numbered(form: Form, numbers: Iterator[int]) -> Form:
    """The same form with other places, in order."""
    return next(numbers) if type(form) is int else [numbered(part, numbers) for part in form]


def filled(form: Form, tensor_at: Callable[[int], Tensor]) -> Activation:
    """The activation of a form."""
    if type(form) is int:
        return tensor_at(form)
    return nested.table(
        [tensor_at(part) if type(part) is int else filled(part, tensor_at) for part in form]
    )


def shape_of(value: Activation) -> Any:
    """The structure of an activation and the shapes inside, for comparison."""
    if type(value) is Tensor:
        return value.shape
    return [shape_of(e) for e in nested.elements(value)] if nested.is_table(value) else None


class Replay:
    """The noted ops of a graph.

    Args:
        graph: a WholeGraph.
        routine: the ops.
        recorded: were they noted for the tape?
        input: the form of the input.
        values: the forms of what the graph calls its values.

    Attributes:
        out: the form of the output.
        modules: all that run.
        taken: the forms of what they take.
        taken_places: the places of all that.
        has_large: do they take what is too large to keep a gradient of?
        outputs, grad_inputs: what sets these attributes of the modules.
    """

    def __init__(
        self, graph: Any, routine: Any, recorded: bool, input: Form, values: list[Form]
    ) -> None:
        self.routine = routine
        self.recorded = recorded
        self.input = input
        self.values = values
        self.out = values[graph.out]
        modules = self.modules = graph.modules
        holders = [step.data for step, _ in graph.runs]
        self.watch = _C.Watch(modules, holders, changing_fields(modules))
        forms = [values[call.place] for _, call in graph.runs]
        self.outputs = Targets(modules, forms)
        self.taken = [
            values[c.takes] if type(c.takes) is int else [values[place] for place in c.takes]
            for _, c in graph.runs
        ]
        self.has_large: bool | None = None  # not known yet
        self.input_count = len(places_in(input))
        self.taken_places = places_in(self.taken)
        # Gradients of what modules took come one after the other.
        positions = itertools.count()
        forms = [numbered(form, positions) for form in self.taken]
        self.grad_inputs = Targets(modules, forms)

    def run(self, input: Activation, parameters: list, recorded: bool) -> ReplayedValues | None:
        """Makes the ops; None when this cannot serve."""
        if recorded is not self.recorded:
            return None
        tensors = matching(input, self.input)
        if tensors is None:
            return None
        tensors += parameters
        if not self.routine.fits(tensors) or not self.watch.unchanged():
            return None
        try:
            values = self.routine.run(tensors, recorded)
        except Exception:
            return None  # the modules will say what is wrong
        self.outputs.assign("output", values)
        return ReplayedValues(self, values, parameters)


class ReplayedValues:
    """What one run gave: the values of a graph's places, put together when asked for.

    Args:
        replay: what ran.
        tensors: a `_C.Values`.
        parameters: that it was given.
    """

    __slots__ = ("parameters", "replay", "tensors")

    def __init__(self, replay: Replay, tensors: Any, parameters: list) -> None:
        self.replay = replay
        self.tensors = tensors
        self.parameters = parameters

    def __getitem__(self, place: int) -> Activation:
        return filled(self.replay.values[place], self.tensors.at)

    def off_tape(self, place: int) -> Activation:
        return filled(self.replay.values[place], self.tensors.off_tape)


class Targets:
    """Modules with the forms of what an attribute of theirs is set to.

    Attributes:
        modules, places: where it is a tensor.
        tables: where it is a table.
    """

    def __init__(self, modules: list, forms: list[Form]) -> None:
        self.modules: list = []
        self.places: list[int] = []
        self.tables: list[tuple[Any, Form]] = []
        for module, form in zip(modules, forms, strict=True):
            if type(form) is int:
                self.modules.append(module)
                self.places.append(form)
            else:
                self.tables.append((module, form))

    def assign(self, name: str, values: Any) -> None:
        values.assign(name, self.modules, self.places)
        for module, form in self.tables:
            setattr(module, name, filled(form, values.off_tape))


def changing_fields(modules: list) -> frozenset[str]:
    """The fields that do not decide what ops modules come down to."""
    names = {"output", "gradInput"}
    if all(type(module).torch_typename in SAME_OPS for module in modules):
        names.add("train")
    for module in modules:
        names.update(module.parameter_names)
        names.update(map(gradient_name_of, module.parameter_names))
        names.update(module.unused_fields)
    return frozenset(names)


def matching(input: Activation, form: Form) -> list | None:
    """The tensors of an activation; None when it has another form."""
    if type(input) is Tensor:
        return [input] if type(form) is int else None
    if type(form) is int or not nested.is_table(input):
        return None
    elements = nested.elements(input)
    if len(elements) != len(form):
        return None
    tensors: list = []
    for element, part in zip(elements, form, strict=True):
        if type(part) is int and type(element) is Tensor:
            tensors.append(element)
            continue
        found = matching(element, part)
        if found is None:
            return None
        tensors += found
    return tensors


class Replays:
    """The replays of one graph, and when to note another.

    Args:
        graph: a WholeGraph.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = proxy(graph)  # which holds this
        self.known: list[Replay] = []
        self.last: Any = None  # the sizes of the last input that had to be computed
        self.attempts = ATTEMPTS

    def run(self, input: Activation, recorded: bool) -> tuple[Replay, ReplayedValues] | None:
        """The replay that served, with what it gave; None when there is none."""
        if not self.known:
            return None
        parameters = self.graph.parameters()
        for replay in self.known:
            values = replay.run(input, parameters, recorded)
            if values is not None:
                return replay, values
        return None

    def is_time_to_note(self, input: Activation, recorded: bool) -> bool:
        """Has an input of these sizes come before?"""
        if not self.attempts:
            return False
        last, self.last = self.last, (recorded, shape_of(input))
        return last == self.last and all(map(has_same_ops, self.graph.modules))

    def note(self, input: Activation, parameters: Any, record: Any) -> list[Activation]:
        """Runs the graph, like its `run`, and notes the ops."""
        self.attempts -= 1
        tensors = nested.tensors_in(input)
        routine = _C.Routine([*tensors, *parameters])
        if not routine.start():
            return self.graph.run(input, parameters, record)
        try:
            values = self.graph.run(input, parameters, record)
        finally:
            routine.stop()
        try:
            places = iter(range(len(tensors)))
            form = form_of(input, lambda _: next(places))
            forms = [form_of(value, routine.place_of) for value in values]
        except LookupError:
            return values
        replay = Replay(self.graph, routine, record is not None, form, forms)
        if routine.finish(places_in(forms)) and replay.watch.can_watch():
            self.known = [replay, *self.known[: KEPT - 1]]
        return values
