"""Every layer with inputs of wrong shapes and kinds: it computes, or says what it cannot take."""

import re

import numpy as np
import pytest
from golden_cases import DATA, load_cases, values_of
from wrong_forms import named_errors, wrong_forms

import relume as rl
from relume import legacy_nn as nn

SECTIONS = ("nn", "nngraph", "rnn", "dpnn")


def right_case(section, name):
    """The place of the first case in double that gives one input; None for files of scripts."""
    for index, case in enumerate(load_cases(section, name)):
        is_double = case.get("type") == "torch.DoubleTensor"
        if is_double and case.protocol in ("module", "criterion", "steps"):
            return index
    return None


def classes():
    for section in SECTIONS:
        for path in sorted((DATA / section).glob("*.t7")):
            is_class = section == "nngraph" or nn.lookup(f"nn.{path.stem}") is not None
            index = right_case(section, path.stem) if is_class else None
            if index is not None:
                yield pytest.param(section, path.stem, index, id=f"{section}-{path.stem}")


def right_input(case):
    return values_of(case.inputs)[0] if case.protocol == "steps" else case.input


@pytest.mark.filterwarnings("ignore")  # GPU.t7 holds two objects
@pytest.mark.parametrize(("section", "name", "index"), list(classes()))
def test_wrong_inputs_are_named(section, name, index):
    for kind, wrong in wrong_forms(right_input(load_cases(section, name)[index])):
        case = load_cases(section, name)[index]
        is_criterion = case.protocol == "criterion"
        layer = case.criterion if is_criterion else case.module
        arguments = [wrong, case.get("target")] if is_criterion else [wrong]
        with named_errors(layer, kind):
            layer.forward(*arguments)


def test_errors_tell_the_printed_form_and_the_place():
    inner = nn.Sequential().add(nn.Tanh()).add(nn.SpatialConvolution(3, 4, 5, 5))
    net = nn.Sequential().add(nn.Identity()).add(inner)
    with pytest.raises(ValueError, match="3 planes") as caught:
        net.forward(rl.ones(2, 8, 8, dtype=rl.float64))
    message = str(caught.value)
    assert "2x8x8" in message
    assert "root.modules[2].modules[2] (nn.SpatialConvolution)" in message
    assert "nn.SpatialConvolution(3 -> 4, 5x5)" in message


def test_errors_of_users_code_stay_what_they_are():
    class Wrong(nn.Module):
        parameter_names = ()

        def compute(self, input):
            return input.no_such_method()

    with pytest.raises(AttributeError, match="no_such_method"):
        nn.Sequential().add(Wrong()).forward(rl.ones(2))


def test_names_of_pytorch_lead_to_those_of_torch7():
    with pytest.raises(AttributeError, match=r"nn.Linear has no .* 'eval'; .* have evaluate\(\)"):
        nn.Linear(2, 3).eval()
    assert not hasattr(nn.Linear(2, 3), "no_such_name")


def test_a_class_is_no_module():
    with pytest.raises(TypeError, match=r"nn.Sequential: add an object, Linear\(...\)"):
        nn.Sequential().add(nn.Linear)


def test_an_optimizer_wants_one_of_the_two_lists_of_parameters():
    with pytest.raises(TypeError, match=r"net.parameters\(\)\[0\]"):
        rl.optim.SGD(nn.Linear(2, 3).parameters(), lr=0.1)


def ones(*shape):
    return rl.ones(*shape, dtype=rl.float64)


@pytest.mark.parametrize("index", [0, -9, 9])
@pytest.mark.parametrize(
    ("layer", "input"),
    [
        (nn.Select, lambda index: (nn.Select(1, index), ones(2, 3))),
        (nn.Narrow, lambda index: (nn.Narrow(1, abs(index), 1), ones(2, 3))),
        (nn.SelectTable, lambda index: (nn.SelectTable(index), [ones(2), ones(3)])),
        (nn.NarrowTable, lambda index: (nn.NarrowTable(index, 1), [ones(2), ones(3)])),
        (nn.Index, lambda index: (nn.Index(1), [ones(2, 3), rl.tensor([1.0, index])])),
        (nn.OneHot, lambda index: (nn.OneHot(3), rl.tensor([1.0, index]))),
        (nn.LookupTable, lambda index: (nn.LookupTable(3, 2), rl.tensor([1.0, index]))),
        (nn.JoinTable, lambda index: (nn.JoinTable(index), [ones(2), ones(2)])),
        (nn.SplitTable, lambda index: (nn.SplitTable(index), ones(2, 3))),
        (nn.Sum, lambda index: (nn.Sum(index), ones(2, 3))),
        (nn.Max, lambda index: (nn.Max(index), ones(2, 3))),
    ],
    ids=lambda value: getattr(value, "__name__", "input"),
)
def test_indices_and_dimensions_count_from_one(layer, input, index):
    """What is not there is told in the caller's numbers, and 0 is never the last one."""
    module, value = input(index)
    with pytest.raises((IndexError, ValueError)) as error:
        module.forward(value)
    assert str(error.value).startswith(f"nn.{layer.__name__}")
    assert str(abs(index)) in str(error.value)


@pytest.mark.parametrize(
    ("layer", "input", "expected"),
    [
        (nn.Squeeze(5), ones(2, 1, 3), "no dimension 5, counted from 1, in 3"),
        (nn.CReLU(4), ones(2, 3), "expected 4 dimensions, or 5 for a batch"),
        (nn.PixelShuffle(2), ones(3, 2, 2), "C is a multiple of 4"),
        (nn.PixelShuffle(2), ones(3, 2), "expected CxHxW"),
        (nn.LayerNormalization(3), ones(2, 4), "expected a vector of size 3 or a batch Nx3"),
    ],
)
def test_what_was_expected(layer, input, expected):
    with pytest.raises((IndexError, ValueError)) as error:
        nn.Sequential().add(layer).forward(input)
    message = str(error.value)
    assert expected in message
    assert "x".join(map(str, input.shape)) in message
    assert f"in root.modules[1] ({layer.torch_typename})" in message


@pytest.mark.parametrize(
    ("label", "text"), [(np.nan, "nan"), (np.inf, "inf"), (0, "0"), (-2, "-2"), (1e30, "1e+30")]
)
def test_labels_that_are_none_are_told_as_they_are(label, text):
    labels = rl.tensor([1.0, label], dtype=rl.float64)
    with pytest.raises(IndexError, match=re.escape(f"target {text} is not a class: they are 1..3")):
        nn.ClassNLLCriterion().forward(ones(2, 3), labels)
    with pytest.raises(IndexError, match=re.escape(f"index {text} is not in 1..3")):
        nn.LookupTable(3, 2).forward(labels)


class ForeignTensor:
    """As a tensor of another library."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros((2, 3))


@pytest.mark.parametrize(
    ("array", "maker"), [(np.zeros((2, 3)), "from_numpy"), (ForeignTensor(), "from_dlpack")]
)
def test_arrays_of_other_libraries_are_told_how_to_become_tensors(array, maker):
    with pytest.raises(ValueError, match=f"relume.{maker} makes it a tensor"):
        nn.Linear(3, 2).forward(array)


def test_batches_without_samples():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.ReLU(True))
    net.add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(8, 3))
    images = rl.zeros(0, 1, 4, 4, dtype=rl.float64)
    assert net.forward(images).shape == (0, 3)
    assert net.backward(images, rl.zeros(0, 3, dtype=rl.float64)).shape == (0, 1, 4, 4)
    assert nn.View(2, -1).setNumInputDims(1).forward(rl.zeros(0, 6)).shape == (0, 2, 3)
