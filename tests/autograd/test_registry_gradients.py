"""Every differentiable op of the registry: gradcheck and gradgradcheck."""

import importlib.util
import pathlib

import pytest

import relume as rl
from relume.autograd import gradcheck, gradgradcheck

_place = pathlib.Path(__file__).with_name("op_samples.py")
_spec = importlib.util.spec_from_file_location("op_samples", _place)
op_samples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(op_samples)

REGISTRY = rl._C.registry()
ON_THE_TAPE = [row for row in REGISTRY if "not_differentiable" not in row["traits"]]
RANDOM_FILLS = [row for row in ON_THE_TAPE if {"random", "in_place"} <= set(row["traits"])]
DIFFERENTIABLE = [row for row in ON_THE_TAPE if row not in RANDOM_FILLS]


def leaves(value):
    """The tensors in arguments that require a gradient."""
    if isinstance(value, rl.Tensor):
        return [value] if value.requires_grad else []
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return []


def replaced(value, new):
    """The arguments with the tensors that require a gradient taken from an iterator."""
    if isinstance(value, rl.Tensor):
        return next(new) if value.requires_grad else value
    if isinstance(value, list | tuple):
        return type(value)(replaced(item, new) for item in value)
    return value


def as_function(call, arguments, keywords, changes_first):
    """The op as a function of its differentiable inputs only."""

    def function(*inputs):
        own = list(replaced(arguments, iter(inputs)))
        if changes_first:  # an in-place op works on a tensor of the tape that is no leaf
            own[0] = own[0] * 1
        return call(*own, **keywords)

    return function, leaves(arguments)


@pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row["name"])
def test_has_a_derivative_or_says_that_it_has_none(row):
    marked = bool({"not_differentiable", "composite"} & set(row["traits"]))
    assert row["has_derivative"] or marked, f"{row['name']} has neither a derivative nor the mark"
    assert not (row["has_derivative"] and marked), f"{row['name']} has both"


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda row: row["name"])
def test_derivatives(row):
    samples = op_samples.samples_of(row)
    assert samples, f"op_samples.py has no sample for {row['schema']}"
    call = rl._C.ops[row["name"]]
    for arguments, keywords in samples:
        function, inputs = as_function(call, arguments, keywords, "in_place" in row["traits"])
        assert inputs, "a sample needs an input that requires a gradient"
        gradcheck(function, inputs)
        gradgradcheck(function, inputs)


@pytest.mark.parametrize("row", RANDOM_FILLS, ids=lambda row: row["name"])
def test_what_a_random_fill_replaces_gets_no_gradient(row):
    x = rl.ones(4, dtype=rl.float64).requires_grad_()
    arguments = [0.5] if row["name"] == "geometric_" else []
    h = x * 1
    rl._C.ops[row["name"]](h, *arguments)
    (h.sum() + x.sum()).backward()
    assert x.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    "row",
    [row for row in DIFFERENTIABLE if row["has_in_place_form"] and "internal" not in row["traits"]],
    ids=lambda row: row["name"] + "_",
)
def test_in_place_forms_have_the_same_derivative(row):
    arguments, keywords = op_samples.samples_of(row)[0]
    if not isinstance(arguments[0], rl.Tensor) or not arguments[0].requires_grad:
        pytest.skip("the first argument is no floating tensor")
    call = getattr(rl.Tensor, row["name"] + "_")
    function, inputs = as_function(call, arguments, keywords, True)
    gradcheck(function, inputs)
    gradgradcheck(function, inputs)


def test_samples_are_of_ops_that_exist():
    names = {row["name"] for row in REGISTRY}
    missing = set(op_samples.SAMPLES) - names
    assert not missing, f"samples of ops that are not registered: {sorted(missing)}"
