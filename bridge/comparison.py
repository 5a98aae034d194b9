"""What two modules compute, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import relume as rl
from relume import Tensor
from relume.bridge.proxies import LuaFunction
from relume.bridge.python_layers import layer_of, plain
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion

__all__ = ["Disagreement", "Report", "Run", "compare_runs"]


@dataclass
class Disagreement:
    """One thing that two modules do not agree on.

    Attributes:
        what: such as "output", "gradInput[2]" or "gradParameters[1]", counted from 1.
        input: which of the inputs, counted from 1.
        text: what is there and what was expected.
        largest: the largest distance of two numbers; infinite if they cannot be compared.
    """

    what: str
    input: int
    text: str
    largest: float

    def __str__(self) -> str:
        return f"{self.what} of input {self.input} {self.text}"


@dataclass
class Report:
    """What a comparison has found. It is true if nothing differs.

    Attributes:
        differences: all of them, in the order of computation; the first is what to look at.
        compared: the names of what was compared.
        inputs: how many inputs there were.
        tolerance: how far numbers could be apart.
        largest: the largest distance of two numbers.
    """

    tolerance: float
    inputs: int
    differences: list[Disagreement] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    largest: float = 0.0

    def __bool__(self) -> bool:
        return not self.differences

    @property
    def first(self) -> Disagreement | None:
        """The first difference, or None."""
        return self.differences[0] if self.differences else None

    def __str__(self) -> str:
        if self.differences:
            others = len(self.differences) - 1
            more = f" (and {others} more)" if others else ""
            return f"{self.differences[0]}{more}"
        count = f"{self.inputs} input{'s' if self.inputs > 1 else ''}"
        return f"equal within {self.tolerance:g}: {', '.join(self.compared)} of {count}"

    def compare(self, what: str, number: int, old: Any, new: Any) -> None:
        """Compares two values of one kind and notes how they differ."""
        if what not in self.compared:
            self.compared.append(what)
        for place, one, other in pairs_of(old, new):
            name = what + place
            if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
                if one != other:
                    self._note(name, number, f"was {shown(one)} and became {shown(other)}")
            elif one.shape != other.shape:
                self._note(name, number, f"was {shown(one)} and became {shown(other)}")
            elif one.numel():
                self._compare_numbers(name, number, one.double(), other.double())

    def _compare_numbers(self, what: str, number: int, old: Tensor, new: Tensor) -> None:
        distance = (old - new).abs()
        same = (old == new) | ((old != old) & (new != new))  # also inf and nan, where both are
        distance = rl.where(same, rl.zeros_like(distance), distance)
        finite = rl.where(old.isfinite(), old.abs(), rl.zeros_like(old))
        bound = self.tolerance * max(1.0, finite.max().item())
        is_apart = ~(distance <= bound)
        largest = distance.max().item()
        self.largest = max(self.largest, largest)
        if is_apart.any().item():
            place = is_apart.nonzero()[0].tolist()
            was, became = old[tuple(place)].item(), new[tuple(place)].item()
            self._note(what, number, f"differs at {place}: {was} became {became}", largest)

    def _note(self, what: str, number: int, text: str, largest: float = float("inf")) -> None:
        self.differences.append(Disagreement(what, number, text, largest))


def pairs_of(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The parts of two activations at the same places, None where one has none."""
    if not (nested.is_table(old) and nested.is_table(new)):
        yield place, old, new
        return
    count = max(len(nested.elements(old)), len(nested.elements(new)))
    parts = zip(nested.spread(old, count), nested.spread(new, count), strict=True)
    for number, (one, other) in enumerate(parts, 1):
        yield from pairs_of(one, other, f"{place}[{number}]")


def shown(value: Any) -> str:
    """A value in a report."""
    return (
        "absent"
        if value is None
        else nested.describe(value)
        if nested.tensors_in(value)
        else str(value)
    )


class Run:
    """One module, run forwards and backwards; what it had added up before stays."""

    def __init__(self, module: Any, seed: int) -> None:
        self.is_function = isinstance(module, LuaFunction)
        self.module: Any = module if self.is_function else layer_of(module)
        self.seed = seed

    def forward(self, input: Any) -> Any:
        rl.manual_seed(self.seed)
        if self.is_function:
            return copied(plain(self.module(input)))
        return copied(plain(self.module.forward(input)))

    def backward(self, input: Any, gradOutput: Any) -> tuple[Any, list[Tensor]]:
        """The gradients of the input and of the parameters."""
        _, gradients = self.module.parameters()
        held = [gradient.detach().clone() for gradient in gradients]
        with rl.no_grad():
            for gradient in gradients:
                gradient.zero_()
            rl.manual_seed(self.seed)
            gradInput = copied(plain(self.module.backward(input, gradOutput)))
            own = [gradient.detach().clone() for gradient in gradients]
            for gradient, value in zip(gradients, held, strict=True):
                gradient.copy_(value)
        return gradInput, own


def copied(value: Any) -> Any:
    """The values of now: modules use their buffers again."""
    return nested.map_tensors(lambda tensor: tensor.detach().clone(), value)


def random_like(output: Any, seed: int) -> Any:
    """A gradient for an output, the same each time."""
    rl.manual_seed(seed)
    return nested.map_tensors(lambda tensor: rl.randn_like(tensor), output)


def compare_runs(
    old: Any, new: Any, inputs: list, *, tolerance: float, seed: int, parameters: bool
) -> Report:
    """Runs both on every input and compares outputs and gradients."""
    report = Report(tolerance, len(inputs))
    state = rl.get_rng_state()
    runs = Run(old, seed), Run(new, seed)
    has_gradients = not any(run.is_function for run in runs)
    try:
        for number, input in enumerate(inputs, 1):
            _compare_one(report, runs, number, input, has_gradients, parameters)
    finally:
        rl.set_rng_state(state)
    return report


def _compare_one(
    report: Report,
    runs: tuple[Run, Run],
    number: int,
    input: Any,
    has_gradients: bool,
    parameters: bool,
) -> None:
    old, new = runs
    outputs = [run.forward(copied(input)) for run in runs]
    report.compare("output", number, *outputs)
    is_layer = not isinstance(old.module, Criterion) and not isinstance(new.module, Criterion)
    if not has_gradients or not is_layer or report.differences:
        return
    gradOutput = random_like(outputs[0], old.seed)
    results = []
    for run in runs:
        own_input = copied(input)
        run.forward(own_input)
        results.append(run.backward(own_input, copied(gradOutput)))
    (old_input, old_own), (new_input, new_own) = results
    report.compare("gradInput", number, old_input, new_input)
    if parameters and (old_own or new_own):
        report.compare("gradParameters", number, old_own, new_own)
