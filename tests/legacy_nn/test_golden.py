"""Every case of the golden corpus that belongs to a class of legacy_nn."""

import re

import pytest
from golden_cases import (
    DATA,
    TOLERANCE,
    build,
    copy_of,
    difference,
    field,
    is_table,
    listed,
    load_cases,
    values_of,
)

import relume as rl
from relume import _C
from relume import legacy_nn as nn


def class_of(file_name):
    """Files are called by a class, and perhaps by what is special in them: Copy_function."""
    return file_name.partition("_")[0]


FILES = [
    (section, path.stem)
    for section in ("nn", "nngraph", "rnn", "dpnn")
    for path in sorted((DATA / section).glob("*.t7"))
    if section == "nngraph" or nn.lookup(f"nn.{class_of(path.stem)}") is not None
]
# Cases whose random numbers or memory are not the layer's own business.
SKIPPED = {
    ("nn", "Module_methods"),
    ("dpnn", "Module_methods"),
}


def test_only_the_listed_classes_are_missing():
    missing = {
        f"{section}/{path.stem}"
        for section in ("nn", "rnn", "dpnn")
        for path in (DATA / section).glob("*.t7")
        if (section, path.stem) not in FILES
    }
    assert missing == listed("layers_missing_in_python.txt")


def loaded_cases():
    for section, name in FILES:
        if (section, name) not in SKIPPED:
            for index, case in enumerate(load_cases(section, name)):
                yield section, name, index, case


def all_cases():
    for section, name, index, case in loaded_cases():
        if case.protocol in ("module", "criterion"):
            yield pytest.param(section, name, index, id=f"{name}-{case.name}")


def next_random():
    """Torch7's torch.random(): shows how many random numbers were used before."""
    return _C.default_generator().random()


def tolerance_of(case):
    """DontCast may hold a module of another type than its own."""
    return TOLERANCE[getattr(case.get("module"), "moduleType", case.type)]


def check(actual, expected, tolerance, what):
    found = difference(actual, expected)
    assert found <= tolerance, f"{what} differs by {found:.3g}"


@pytest.mark.parametrize(("section", "name", "index"), list(all_cases()))
def test_case(section, name, index):
    case = load_cases(section, name)[index]
    tolerance = tolerance_of(case)
    if case.protocol == "criterion":
        run_criterion(case, tolerance)
    else:
        run_module(case, tolerance)


def run_module(case, tolerance):
    module = case.module
    if case.get("printed"):
        assert str(module) == case.printed
    x = case.input
    rl.manual_seed(int(case.seed))
    check(module.forward(x), case.output, tolerance, "output")
    if case.get("nobackward"):
        return
    gradient = module.backward(x, copy_of(case.gradOutput))
    check(gradient, case.gradInput, tolerance, "gradInput")
    check(module.gradInput, case.gradInput, tolerance, "module.gradInput")
    if case.get("rng_next") is not None:
        assert next_random() == case.rng_next, "another number of random numbers was used"
    if case.get("input_after") is not None:
        check(x, case.input_after, tolerance, "input after forward")
    parameters, gradients = module.parameters()
    if case.get("gradParams") is not None:
        check(gradients, case.gradParams, tolerance, "gradParams")
    for path, value in (case.get("after") or {}).items():
        check(field(module, path), value, tolerance, path)
    second = case.get("second")
    if second is not None:
        rl.manual_seed(int(second.seed))
        check(module.forward(second.input), second.output, tolerance, "second output")
        gradient = module.backward(second.input, copy_of(second.gradOutput), second.scale)
        check(gradient, second.gradInput, tolerance, "second gradInput")
        if second.get("gradParams") is not None:
            check(module.parameters()[1], second.gradParams, tolerance, "second gradParams")
    elif case.get("params_after") is not None:
        check(parameters, case.params_after, tolerance, "parameters after the calls")
    if case.get("updated") is not None:
        module.updateParameters(case.lr)
        check(module.parameters()[0], case.updated, tolerance, "updated parameters")


def run_criterion(case, tolerance):
    criterion = case.criterion
    if case.get("printed"):
        assert str(criterion) == case.printed
    rl.manual_seed(int(case.seed))
    check(criterion.forward(case.input, case.get("target")), case.output, tolerance, "output")
    if case.get("nobackward"):
        return
    gradient = criterion.backward(case.input, case.get("target"))
    check(gradient, case.gradInput, tolerance, "gradInput")
    for path, value in (case.get("after") or {}).items():
        check(field(criterion, path), value, tolerance, path)
    second = case.get("second")
    if second is not None:
        check(criterion.forward(second.input, second.target), second.output, tolerance, "second")
        gradient = criterion.backward(second.input, second.target)
        check(gradient, second.gradInput, tolerance, "second gradInput")


def cases_with_initial_parameters():
    for section, name, index, case in loaded_cases():
        has_parameters = case.get("init_is_params") or case.get("init_params") is not None
        is_expression = not re.search(r"function|tables\.random", case.ctor or "")
        if section in ("nn", "rnn") and has_parameters and is_expression:
            yield pytest.param(section, name, index, id=f"{name}-{case.name}")


@pytest.mark.parametrize(("section", "name", "index"), list(cases_with_initial_parameters()))
def test_constructor_draws_torch7s_numbers(section, name, index):
    case = load_cases(section, name)[index]
    rl.manual_seed(int(case.ctor_seed))
    module = build(case.ctor, section)
    expected = case.params if case.get("init_is_params") else case.init_params
    assert difference(module.parameters()[0], expected) < 1e-15
    assert module.torch_typename == case.module.torch_typename
    if case.get("printed"):
        assert str(module) == case.printed


# Torch7 does not give the mathematical gradient here (see "Odd behaviour" in the corpus).
NOT_THE_DERIVATIVE = {
    ("Dropout", "stochastic inference"),
    ("MaskZero", "Linear"),
    ("MaskZero", "no batch, zero input"),
    ("MaskZero", "table input"),
    ("TrimZero", "no batch, zero input"),
}
# Torch7's gradInput or gradParams hold more, or are of another form, than the derivative.
OTHER_GRADIENTS = {"IndexLinear", "SparseLinear", "WeightNorm"}


def modern_cases():
    for section, name, index, case in loaded_cases():
        is_plain = not case.get("nobackward") and not case.get("inplace")
        if case.protocol == "module" and is_plain and (name, case.name) not in NOT_THE_DERIVATIVE:
            yield pytest.param(section, name, index, id=f"{name}-{case.name}")


@pytest.mark.parametrize(("section", "name", "index"), list(modern_cases()))
def test_modern_face_gives_the_same(section, name, index):
    case = load_cases(section, name)[index]
    tolerance = tolerance_of(case)
    module, x = case.module, as_leaves(case.input)
    rl.manual_seed(int(case.seed))
    y = module(x)
    check(y, case.output, tolerance, "output")
    outputs, gradients = recorded(y, case.gradOutput)
    if not outputs:  # nothing depends on the input: so Torch7 says too
        assert not any(gradient.any() for gradient in flat(case.gradInput))
        return
    if name in OTHER_GRADIENTS:
        return
    total = sum(
        (output * gradient).sum() for output, gradient in zip(outputs, gradients, strict=False)
    )
    total.backward()
    for leaf, expected in zip(flat(x), flat(case.gradInput), strict=False):
        if leaf.requires_grad and leaf.grad is None:
            assert not expected.any()
        elif leaf.grad is not None and leaf.dtype == expected.dtype:
            check(leaf.grad.reshape(expected.shape), expected, tolerance, "gradient of the input")
    if case.get("gradParams") is not None:
        check(module.parameters()[1], case.gradParams, tolerance, "gradParams")


def as_leaves(value):
    if isinstance(value, rl.Tensor):
        copy = value.detach().clone()
        return copy.requires_grad_() if copy.dtype in (rl.float32, rl.float64) else copy
    return [as_leaves(element) for element in values_of(value)] if is_table(value) else value


def flat(value):
    if isinstance(value, rl.Tensor):
        return [value]
    return [t for element in values_of(value) for t in flat(element)] if is_table(value) else []


def recorded(output, gradient):
    pairs = [(o, g) for o, g in zip(flat(output), flat(gradient), strict=False) if o.requires_grad]
    return [o for o, _ in pairs], [g for _, g in pairs]
