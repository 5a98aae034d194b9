"""Files that people saved with Torch7, against what a real Torch7 computed from them."""

import json
import warnings
from pathlib import Path

import pytest

import relume as rl
from relume import legacy_nn as nn

FOLDER = Path(__file__).parents[3] / "shared" / "legacy_files"
# Of the largest value; doubles, floats, gradients of floats.
DOUBLE, FLOAT, FLOAT_GRADIENT = 1e-9, 1e-5, 1e-3
ACTIVATION = 1e-4  # what the files' own Torch7 and today's differ by

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs ../shared/legacy_files")


def file_of(name):
    return next((FOLDER / "files").glob(f"{name}.*"), FOLDER / "files" / name)


def truths():
    return sorted((FOLDER / "truth").glob("*.t7")) if FOLDER.is_dir() else []


def all_runs():
    for path in truths():
        for index, case in enumerate(rl.load(path).cases):
            what = f"{path.stem}-{case.module_path}-{case.get('case')}"
            yield pytest.param(path.stem, index, id=what)


def load(name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files with something left over
        return rl.load(file_of(name), **options)


def at(root, path):
    for step in [] if path == "." else path.split("."):
        key = int(step) if step.isdigit() else step
        if isinstance(root, list):
            root = root[key - 1]
        else:
            root = root[key] if isinstance(root, rl.Table) else getattr(root, key)
    return root


def flat(value):
    if isinstance(value, rl.Tensor):
        return [value.detach().to(rl.float64).numpy()]
    if isinstance(value, (rl.Table, list)):
        return [array for element in value for array in flat(element)]
    return [rl.tensor([float(value)], dtype=rl.float64).numpy()]


def check(actual, expected, tolerance, what):
    actual, expected = flat(actual), flat(expected)
    assert len(actual) == len(expected)
    largest = max(abs(array).max() for array in expected if array.size)
    for one, other in zip(actual, expected, strict=True):
        assert one.shape == other.shape
        if one.size:
            error = abs(one - other).max() / max(largest, 1e-30)
            assert error <= tolerance, f"{what} differs by {error:.3g} of the largest value"


def ones_like(value):
    if isinstance(value, rl.Tensor):
        return rl.ones_like(value)
    return rl.Table([ones_like(element) for element in value])


@pytest.mark.parametrize(("name", "index"), list(all_runs()))
def test_run(name, index):
    case = list(rl.load(FOLDER / "truth" / f"{name}.t7").cases)[index]
    module = at(load(name), case.module_path)
    if isinstance(module, rl.LuaFunction):
        assert [rl.bridge.run_saved(module, *case.input)] == list(case.output)
        return
    assert not unknown_classes(module)
    is_float = case.type == "torch.FloatTensor"
    module.evaluate()
    module.zeroGradParameters()
    target = case.get("target")
    arguments = (case.input,) if target is None else (case.input, target)
    output = module.forward(*arguments)
    expected = (
        case.get("output64") if is_float and case.get("output64") is not None else case.output
    )
    check(output, expected, FLOAT if is_float else DOUBLE, "output")
    if case.get("gradInput") is None:
        return
    gradient = target if target is not None else ones_like(output)
    expected = case.get("gradInput64") if is_float else case.gradInput
    expected = case.gradInput if expected is None else expected
    found = module.backward(case.input, gradient)
    check(found, expected, FLOAT_GRADIENT if is_float else DOUBLE, "gradInput")
    gradients = module.parameters()[1]
    if module.find_modules("nn.SpatialClassifier"):
        # Torch7 does not list what is inside, which is last in these networks.
        gradients = gradients[:-2]
    check_sums(gradients, name, index, FLOAT_GRADIENT if is_float else DOUBLE)


def check_sums(gradients, name, index, tolerance):
    """The sums of the gradients of the parameters, which the json has."""
    truth = json.loads((FOLDER / "truth" / f"{name}.json").read_text())
    expected = truth["cases"][index].get("grad_parameters") or []
    if expected:
        assert len(gradients) == len(expected)
    for gradient, one in zip(gradients, expected, strict=False):
        assert list(gradient.shape) == one["size"]
        values = gradient.to(rl.float64)
        scale = max(one["abs_sum"], 1e-30)
        assert abs(values.sum().item() - one["sum"]) / scale <= tolerance
        assert abs(values.abs().sum().item() - one["abs_sum"]) / scale <= tolerance


def unknown_classes(module):
    """Names of what cannot run in a module, or of the module itself."""
    parts = module.walk() if isinstance(module, nn.Module) else [module]
    return {class_name(part) for part in parts if not isinstance(part, nn.Module)}


def class_name(value):
    return "function" if isinstance(value, rl.LuaFunction) else value.torch_typename


def stored_pairs():
    """Neighbours in a Sequential whose outputs are still in the file, where a real Torch7 in
    evaluation mode gives the second from the first."""
    for path in sorted((FOLDER / "truth").glob("*.json")) if FOLDER.is_dir() else []:
        for pair in json.loads(path.read_text()).get("activations") or []:
            if pair["mode"] == "evaluate" and pair["reproduces"]:
                where = (path.stem, pair["sequential"], pair["index"])
                yield pytest.param(*where, id="-".join(map(str, where)))


@pytest.mark.parametrize(("name", "path", "index"), list(stored_pairs()))
def test_activations_that_a_file_kept(name, path, index):
    modules = at(load(name), path).modules
    before, module = modules[index - 2].output, modules[index - 1]
    expected = rl.loads(rl.dumps(module.output))
    check(module.evaluate().forward(before), expected, ACTIVATION, "output")
