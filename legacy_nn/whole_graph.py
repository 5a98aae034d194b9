"""A whole graph of modules as one function on one tape.

When nobody has changed how the modules of a graph work, each does what its `compute` says. Then
the graph is a list of calls of `compute`, and one tape for all of them gives in one backward run
what a tape for each would give, in much less time. Whatever does not fit (a weight changed in
between, a module that was run on its own, a gradient of another size) is left to the walk from
node to node.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import Any, NamedTuple
from weakref import proxy

from relume import _C, Tensor
from relume.converters.table import named
from relume.legacy_nn import nested, released_gradients
from relume.legacy_nn.errors import name_layer
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record, match
from relume.legacy_nn.replay import Replay, ReplayedValues, Replays, filled

# What decides how a module works. A class that writes one of these methods may do something
# else than its `compute` says.
METHODS = frozenset(
    """__call__ forward updateOutput _compute_output _set_output backward
    updateGradInput accGradParameters _differentiate _rerun _set_grad_input _accumulate
    _own_parameters _gradient
    """.split()
)
# Fields that let the methods do something else than `compute` when they are true.
SWITCHES = frozenset(["inplace", "stochastic_inference"])
# What an object rarely has of its own, and has to be looked at when it does.
DECIDING = METHODS | SWITCHES | {"compute"}


@cache
def class_follows_compute(cls: Any) -> bool:
    """Do the methods of a class do what `compute` says?

    Classes with methods of their own say in `follows_compute` that they do so unless a switch is
    on; a class below one of them that writes a method anew has to say it again.
    """
    for base in cls.__mro__:
        if "follows_compute" in vars(base):
            return base.follows_compute
        if not METHODS.isdisjoint(vars(base)):
            return base is Module
    return False


def follows_compute(module: Any) -> bool:
    """Do forward and backward of this object do just what `compute` says?"""
    fields = module.__dict__
    return DECIDING.isdisjoint(fields) or not any(
        name not in SWITCHES or fields[name] for name in DECIDING.intersection(fields)
    )


class Call(NamedTuple):
    """One call of a module's `compute`.

    The graph's input, the outputs of the calls and the elements of tables that nodes select have
    a place each in a list of values.

    Attributes:
        module: None where a node without one only makes a table of several values.
        takes: the place of what it gets; for a table, the places of its elements.
        place: of its output.
        first, after: where the module's parameters are among those of the graph.
        parts: places that are filled from its output.
    """

    module: Any
    takes: Any
    place: int
    first: int
    after: int
    parts: list[Part]


class Part(NamedTuple):
    """A place that is filled from another: with an element of it, which the step selects, or
    (step None) with the same under another name, so that it has a gradient of its own.
    """

    source: int
    step: Any
    place: int


def renamed(value: Activation) -> Activation:
    """The same values under names of their own on the tape, with gradients of their own."""
    if type(value) is Tensor:
        return value.view(value.shape)
    return nested.map_tensors(renamed, value)


class PartOfTape:
    """Stands where a module has its own record: the graph has recorded it with the others."""

    def is_of(self, input: Activation) -> bool:
        """Asked on its own, the module computes anew."""
        return False

    def has_tape(self) -> bool:
        return True


class GraphRecord(Record):
    """The tape of one forward of a graph.

    Attributes:
        values: by place.
        taken: what every module got, in the order of the calls.
        parameters: the caller's, of all modules.
        part: what the modules have as their record as long as this is their last forward.
    """

    __slots__ = ("parameters", "part", "taken", "values")
    values: list[Activation]

    def __init__(self, graph: WholeGraph, input: Activation) -> None:
        self.part = PartOfTape()
        self.taken: list[Activation] = []
        self.parameters = graph.parameters()
        super().__init__(input, self.parameters, partial(graph.compute, self))

    def differentiate(
        self, graph: WholeGraph, gradOutput: Activation, of_modules: bool, of_parameters: bool
    ) -> tuple[list, list, Any]:
        """The gradients of the input's tensors, of the parameters, and of what modules got."""
        leaves, split = self.leaves, self.input_count
        wanted = list(leaves[:split])
        if of_parameters:
            wanted += leaves[split:]
        after = len(wanted)
        if of_modules:
            for taken in self.taken:
                if type(taken) is Tensor:
                    wanted.append(taken)
                else:
                    wanted += nested.tensors_in(taken)
        found = self.gradients_of(wanted, graph.graph, gradOutput)
        return found[:split], found[split:after], found[after:]

    def has_large(self) -> bool:
        """Has a module got something whose gradient is one to let go?"""
        return any(map(released_gradients.is_large, self.taken))

    def set_grad_inputs(self, graph: WholeGraph, gradients: Any) -> None:
        """Sets every module's `gradInput`, from the gradients of what all of them got."""
        first = 0
        for (_, call), taken in zip(graph.runs, self.taken, strict=True):
            after = first + (1 if type(taken) is Tensor else len(nested.tensors_in(taken)))
            call.module._set_grad_input(taken, gradients[first:after])
            first = after


class ReplayedRecord(GraphRecord):
    """One forward of a graph whose ops were made again, in one call."""

    __slots__ = ("replay", "run")

    def __init__(self, replay: Replay, run: ReplayedValues) -> None:
        self.replay = replay
        self.run = run
        self.values = run  # type: ignore[assignment]
        self.parameters = run.parameters
        self.part = PartOfTape()

    @property
    def output(self) -> Activation:
        return filled(self.replay.out, self.run.tensors.at)

    @property
    def taken(self) -> list[Activation]:  # type: ignore[override]
        return [filled(form, self.run.tensors.at) for form in self.replay.taken]

    def differentiate(
        self, graph: WholeGraph, gradOutput: Activation, of_modules: bool, of_parameters: bool
    ) -> tuple[list, list, Any]:
        split = self.replay.input_count
        leaves = range(split + len(self.parameters) if of_parameters else split)
        outputs, gradients = match(graph.graph, self.output, gradOutput)
        inside = self.replay.taken_places if of_modules else []
        own, of_taken = self.run.tensors.gradients(outputs, gradients, list(leaves), inside)
        return own[:split], own[split:], of_taken

    def has_large(self) -> bool:
        if self.replay.has_large is None:
            self.replay.has_large = super().has_large()  # of these sizes, it always will
        return self.replay.has_large

    def set_grad_inputs(self, graph: WholeGraph, gradients: Any) -> None:
        self.replay.grad_inputs.assign("gradInput", gradients)


class WholeGraph:
    """The calls that a graph of modules comes down to.

    Args:
        graph: a gModule.

    Attributes:
        calls: in order.
        runs: those that run a module, with the steps they come from.
        modules: of these.
        owners: those whose modules have parameters, each module once.
        places: of what the steps pass on.
        out: the place of the output.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = proxy(graph)  # which holds this: without a cycle, memory is free at once
        self.calls: list[Call] = []
        self.runs: list[tuple[Any, Call]] = []
        self.owners: list[Call] = []
        self.places: list[int] = []
        self.first_parts: list[Part] = []  # of the input
        self.count = 1  # of the places: the input has the first
        self._parts = {0: self.first_parts}
        self._parameter_places: dict[int, tuple[int, int]] = {}
        self._parameter_count = 0
        steps, out = graph.steps(), graph._out_place()
        shared = steps_with_shared_values(steps, out)
        for step in steps:
            self.places.append(self._add(step, step.index in shared))
        self.out = self.places[out]
        self.modules = [call.module for _, call in self.runs]
        # Classes of users may want tables that count from 1; ours take lists as well.
        is_ours = all(type(c.module).__module__.startswith("relume.") for _, c in self.runs)
        self.collect = list if is_ours else nested.table
        self.replays = Replays(self)

    @staticmethod
    def of(graph: Any) -> WholeGraph | None:
        """That of a gModule, when all its modules follow `compute`."""
        modules = [named(step.data, "module") for step in graph.steps()]
        if modules[graph._out_place()] is not None:
            return None
        for module in modules:
            cls: Any = type(module)
            if module is not None and not (class_follows_compute(cls) and follows_compute(module)):
                return None
        return WholeGraph(graph)

    # ---- what is done, in order ----

    def _add(self, step: Any, is_shared: bool) -> int:
        """Adds what one step does; the place of what it passes on."""
        sources = [self.places[source] for source in step.sources] or [0]
        if is_shared:
            sources = [self._part(place, None) for place in sources]
        module = named(step.data, "module")
        takes: Any = sources if len(sources) > 1 else sources[0]
        if len(sources) > 1 and (module is None or step.select is not None):
            takes = self._call(None, sources).place
        if step.select is not None:
            takes = self._part(takes, step)
        if module is None:
            return takes
        call = self._call(module, takes)
        self.runs.append((step, call))
        return call.place

    def _new_place(self, parts: list[Part]) -> int:
        place = self.count
        self.count += 1
        self._parts[place] = parts
        return place

    def _part(self, source: int, step: Any) -> int:
        parts = self._parts[source]  # of the call that fills the source
        place = self._new_place(parts)
        parts.append(Part(source, step, place))
        return place

    def _call(self, module: Any, takes: Any) -> Call:
        parts: list[Part] = []
        first, after = self._place_parameters(module)
        call = Call(module, takes, self._new_place(parts), first, after, parts)
        if after > first and module not in [owner.module for owner in self.owners]:
            self.owners.append(call)
        self.calls.append(call)
        return call

    def _place_parameters(self, module: Any) -> tuple[int, int]:
        if module is None:
            return 0, 0
        places = self._parameter_places.get(id(module))
        if places is None:
            first = self._parameter_count
            self._parameter_count += len(module.parameter_names)
            places = self._parameter_places[id(module)] = first, self._parameter_count
        return places

    def is_current(self) -> bool:
        """Has the graph the same modules still, and do they follow `compute`?"""
        for step, call in self.runs:
            module = call.module
            if named(step.data, "module") is not module or not follows_compute(module):
                return False
        return True

    def parameters(self) -> list:
        return [p for call in self.owners for p in call.module._own_parameters()]

    # ---- forward ----

    def run_again(self, input: Activation, recorded: bool) -> ReplayedRecord | None:
        """Makes the ops that were noted for such an input; None when there are none."""
        found = self.replays.run(input, recorded)
        if found is None:
            return None
        replay, values = found
        record = ReplayedRecord(replay, values)
        _C.set_on_all(replay.modules, "_record", record.part if recorded else None)
        return record

    def run_without_tape(self, input: Activation) -> Any:
        """The values of all places."""
        was_enabled = _C.set_grad_enabled(False)
        try:
            parameters = self.parameters()
            if not self.replays.is_time_to_note(input, False):
                return self.run(input, parameters, None)
            # Noted tensors have names of their own.
            own = nested.map_tensors(Tensor.detach, input)
            return self.replays.note(
                own, [nested.map_tensors(Tensor.detach, p) for p in parameters], None
            )
        finally:
            _C.set_grad_enabled(was_enabled)

    def compute(self, record: GraphRecord, input: Activation, *parameters: Any) -> Activation:
        """What a record records: the output for an input and parameters."""
        notes = self.replays.is_time_to_note(input, True)
        run = self.replays.note if notes else self.run
        record.values = run(input, parameters, record)
        return record.values[self.out]

    def run(self, input: Activation, parameters: Any, record: GraphRecord | None) -> list:
        """The values of all places; the modules keep their outputs."""
        values: list[Activation] = [None] * self.count
        values[0] = input
        self._fill(self.first_parts, values, record)
        part = None if record is None else record.part
        for module, takes, place, first, after, parts in self.calls:
            if type(takes) is int:
                taken = values[takes]
            else:
                taken = self.collect([values[source] for source in takes])
            if module is None:
                values[place] = taken
            else:
                if record is not None:
                    record.taken.append(taken)
                try:
                    if first == after:
                        output = module.compute(taken)
                    else:
                        output = module.compute(taken, *parameters[first:after])
                except Exception as error:
                    name_layer(error, module, taken)
                    self.graph._locate(error, module)
                    raise
                values[place] = output
                module._record = part
                if type(output) is Tensor:
                    module.output = output.detach()
                else:
                    module._set_output(output)
            if parts:
                self._fill(parts, values, record)
        return values

    def _fill(self, parts: list[Part], values: list, record: GraphRecord | None) -> None:
        for source, step, place in parts:
            if step is not None:
                values[place] = self.graph._select(values[source], step)
            elif record is not None:
                values[place] = renamed(values[source])
            else:
                values[place] = values[source]

    def given(self, input: Activation, values: list[Activation]) -> list[Activation]:
        """What every step got, off the tape."""
        passed = [nested.map_tensors(Tensor.detach, values[place]) for place in self.places]
        given: list[Activation] = []
        for step in self.graph.steps():
            if not step.sources:
                given.append(input)
            elif len(step.sources) == 1:
                given.append(passed[step.sources[0]])
            else:
                given.append(nested.table([passed[source] for source in step.sources]))
        return given

    # ---- backward ----

    def is_of(self, record: GraphRecord) -> bool:
        """Was the record made by the last forward of every module, with its present parameters?"""
        if not _C.all_have(self.modules, "_record", record.part):
            return False
        now = self.parameters()
        return all(new is old for new, old in zip(now, record.parameters, strict=True))

    def releases(self, record: GraphRecord, drops: bool | None) -> bool:
        """Do the modules go without their `gradInput`? As `Container.keepGradInputs` says."""
        if drops is False or (drops is None and not record.has_large()):
            return False
        return released_gradients.release_all(self.modules, record.taken, bool(drops))

    def accumulate(self, gradients: list, scale: float) -> None:
        """Adds the gradients of all parameters to those of the modules."""
        for call in self.owners:
            call.module._accumulate(gradients[call.first : call.after], scale)


def steps_with_shared_values(steps: list, out: int) -> set[int]:
    """The steps that get a value which another one gets too (not counting the output)."""
    takers = Counter(source for step in steps for source in step.sources)
    selected = Counter((source, step.select) for step in steps for source in step.sources)
    shared = set()
    for step in steps:
        for source in step.sources:
            # Different elements are different values.
            alone = takers[source] == 1 or (
                step.select is not None
                and selected[source, step.select] == 1
                and not selected[source, None]
            )
            if not alone and step.index != out:
                shared.add(step.index)
    return shared
