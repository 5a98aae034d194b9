"""What holds for every class of the registry: it runs, and wrong inputs are named."""

import pytest
from golden_cases import DATA
from layer_recipes import CRITERIONS, LAYERS, NOT_MADE
from wrong_forms import named_errors, wrong_forms, wrong_targets

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import nested
from relume.legacy_nn.documentation import alias_target, has_forward

SECTIONS = ("nn", "nngraph", "rnn", "dpnn")
# Through accUpdateGradParameters, and by a reward.
LEARN_OTHERWISE = ("nn.SparseKmax", "nn.CachingLookupTable", "nn.ReinforceGamma")
# Keeps its states until `resetStates`, whatever is forgotten.
REMEMBER = ("nn.LanguageModel",)
# The same, and a layer that changes its own gradients.
CHANGE_WITH_CALLS = (*REMEMBER, "nnx.QDRiemaNNLinear")
pytestmark = pytest.mark.filterwarnings("ignore")  # losses that say that they are left over


def has_golden_cases(name):
    return any((DATA / section / f"{name.removeprefix('nn.')}.t7").exists() for section in SECTIONS)


def test_every_class_that_runs_is_tried():
    """By a golden case, or by a recipe."""
    tried = {*LAYERS, *CRITERIONS, *NOT_MADE}
    for name in nn.registered_names():
        cls = nn.lookup(name)
        is_layer = isinstance(cls, type) and issubclass(cls, nn.Module) and has_forward(cls)
        if is_layer and cls.__module__.startswith("relume.legacy_nn") and alias_target(cls) is None:
            assert name in tried or has_golden_cases(name), name


@pytest.mark.parametrize("name", LAYERS)
def test_layers_run_forwards_and_backwards(name):
    make, input = LAYERS[name]
    layer = make()
    rl.manual_seed(1)
    output = layer.forward(input)
    if name in LEARN_OTHERWISE:
        return
    gradient = nested.map_tensors(rl.ones_like, output)
    layer.zeroGradParameters()
    layer.backward(input, gradient)
    once = [gradient.clone() for gradient in layer.parameters()[1]]
    if name not in CHANGE_WITH_CALLS:
        start_anew(layer)
        layer.forward(input)
        layer.backward(input, gradient, 0.5)
        for total, own in zip(layer.parameters()[1], once, strict=True):
            assert rl.allclose(total, own * 1.5, atol=1e-9), "scale"


def start_anew(layer):
    """As before the first call: nothing remembered, the same numbers drawn."""
    layer.forget()
    rl.manual_seed(1)


@pytest.mark.parametrize("name", LAYERS)
def test_copies_conversions_and_files(name):
    make, input = LAYERS[name]
    layer = make()
    layer.evaluate()
    rl.manual_seed(1)
    expected = nested.tensors_in(layer.forward(input))
    copies = [layer.clone()]
    if name != "nn.FunctionWrapper":  # Python's functions are in no file
        copies.append(rl.loads(rl.dumps(layer)))
    for copy in copies:
        assert type(copy) is type(layer)
        assert str(copy) == str(layer)
        if name not in REMEMBER:
            start_anew(copy)
            for own, other in zip(nested.tensors_in(copy.forward(input)), expected, strict=True):
                assert rl.allclose(own, other, atol=1e-9, equal_nan=True)
    layer.float()
    assert all(p.dtype == rl.float32 for p in layer.parameters()[0])
    layer.clearState()


@pytest.mark.parametrize("name", LAYERS)
def test_wrong_inputs_of_layers_are_named(name):
    make, input = LAYERS[name]
    for kind, wrong in wrong_forms(input):
        with named_errors(make(), kind) as layer:
            layer.forward(wrong)


@pytest.mark.parametrize("name", CRITERIONS)
def test_wrong_inputs_of_criterions_are_named(name):
    make, input, target = CRITERIONS[name]
    assert isinstance(make().forward(input, target), (int, float))
    for kind, wrong in wrong_forms(input):
        with named_errors(make(), kind) as criterion:
            criterion.forward(wrong, target)
    for kind, wrong in wrong_targets(target):
        with named_errors(make(), kind) as criterion:
            criterion.forward(input, wrong)
