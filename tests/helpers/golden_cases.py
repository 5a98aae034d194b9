"""Reads cases of the golden corpus (what a real Torch7 computed) and compares with them."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.rnn.dropout import Dropout

DATA = Path(__file__).parent.parent / "data"
# Relative to max(1, |a|, |b|), as the corpus recommends.
TOLERANCE = {"torch.DoubleTensor": 1e-10, "torch.FloatTensor": 1e-5}


def load_cases(section, name):
    """The cases of a file, read anew: running a case changes it."""
    return rl.load(DATA / section / f"{name}.t7").cases.as_list()


def is_table(value):
    return isinstance(value, (rl.Table, list, tuple))


def values_of(table):
    return table.as_list() if isinstance(table, rl.Table) else list(table)


def difference_of_numbers(x, y):
    """Relative to max(1, |x|, |y|); infinite where one is no number or infinite and not the other,
    since a NaN would compare with every tolerance as if it were small."""
    if x == y or (math.isnan(x) and math.isnan(y)):
        return 0.0
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.inf
    return abs(x - y) / max(1, abs(x), abs(y))


def difference(actual, expected):
    """The largest relative difference of two (nested tables of) tensors or numbers."""
    if isinstance(expected, rl.Table) and not expected.is_list():
        assert set(actual.keys()) == set(expected.keys())
        return max(difference(actual[key], value) for key, value in expected.items())
    if is_table(expected):
        expected = values_of(expected)
        actual = values_of(actual)
        assert len(actual) == len(expected), f"{len(actual)} elements instead of {len(expected)}"
        return max((difference(a, b) for a, b in zip(actual, expected, strict=False)), default=0.0)
    if not isinstance(expected, rl.Tensor):
        if isinstance(actual, rl.Tensor):
            actual = actual.item()
        return difference_of_numbers(actual, expected)
    assert isinstance(actual, rl.Tensor), f"{type(actual)} instead of a tensor"
    assert tuple(actual.shape) == tuple(expected.shape)
    assert actual.dtype == expected.dtype
    a = actual.detach().to(rl.float64).numpy()
    b = expected.to(rl.float64).numpy()
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return max((difference_of_numbers(x, y) for x, y in pairs), default=0.0)


def copy_of(value):
    """A deep copy of tensors in tables."""
    if isinstance(value, rl.Tensor):
        return value.clone()
    return [copy_of(element) for element in values_of(value)] if is_table(value) else value


def field(module, path):
    """The value at a dotted path such as modules.2.running_mean."""
    for step in path.split("."):
        module = module[int(step) - 1] if step.isdigit() else getattr(module, step)
    return module


class _Braces:
    """torch.Tensor{1, 2} of Lua, written torch.Tensor[1, 2]."""

    def __init__(self, make):
        self.make = make

    def __getitem__(self, values):
        return self.make(list(values) if isinstance(values, tuple) else [values])


class _Torch:
    Tensor = _Braces(lambda values: rl.tensor(values, dtype=rl.float64))
    LongStorage = _Braces(list)

    @staticmethod
    def ones(*sizes):
        return rl.ones(sizes, dtype=rl.float64)


def build(expression, section="nn"):
    """Runs a Lua constructor expression as Python."""
    text = expression.replace("{", "[").replace("}", "]").replace("math.huge", "math.inf")
    text = re.sub(r":(\w+)\(", r".\1(", text)
    for lua, python in (("true", "True"), ("false", "False"), ("nil", "None")):
        text = re.sub(rf"\b{lua}\b", python, text)
    package = SimpleNamespace(**vars(nn))
    if section == "rnn":  # it replaces nn's
        package.Dropout = Dropout
    return eval(text, {"nn": package, "torch": _Torch, "math": math})


def listed(name):
    """The lines of a list in tests/data: what is known to be missing, and nothing else may be."""
    return set((DATA / name).read_text().split())


def check_clones_through_time(clones, golden, tolerance):
    """Runs a char-rnn's clones forward and backward, as the script of nngraph's `lstm_unrolled`."""
    inputs, expected = golden.inputs, golden.results
    xs, gs, first_state = inputs.x.as_list(), inputs.g.as_list(), inputs.state.as_list()
    states = [first_state]
    for clone, x, golden_output in zip(clones, xs, expected.outputs.as_list(), strict=True):
        output = clone.forward([x, *states[-1]])
        assert difference(output, golden_output) < tolerance
        states.append(output.as_list()[: len(first_state)])
    gradient_of_state = [s * 0 for s in first_state]
    for t in reversed(range(len(clones))):
        found = clones[t].backward([xs[t], *states[t]], [*gradient_of_state, gs[t]])
        assert difference(found, expected.gradInputs.as_list()[t]) < tolerance
        gradient_of_state = found.as_list()[1:]
    assert difference(clones[0].parameters()[1], expected.gradParams) < tolerance
