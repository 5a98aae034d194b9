"""PyTorch source that relume writes, run in PyTorch: the outputs and gradients of real Torch7."""

import numpy as np
import pytest
from golden_cases import DATA, is_table, load_cases

import relume as rl
from relume.converters import formats
from relume.converters.pytorch import file as pytorch_file
from relume.converters.pytorch import generate
from relume.legacy_nn import nested

torch = pytest.importorskip("torch")
FORMAT = formats.format_of("net.py")
TOLERANCE = {"torch.DoubleTensor": 1e-9, "torch.FloatTensor": 1e-4}
FLOAT_INSIDE = {"DontCast", "Convert"}  # layers of another type than the network
# Classes whose golden cases are refused, all or some, and what stands against them.
REFUSED = {
    "nn.SpatialFractionalMaxPooling": "random regions",
    "nn.VolumetricFractionalMaxPooling": "random regions",
    "nn.IndexLinear": "normalize notes the largest inputs",
    "nn.NCECriterion": "no helper yet",
}
# What real Torch7 gives there is no gradient in the usual sense.
OWN_GRADIENTS = {
    ("nn", "WeightNorm"),  # begins with gradients of its own
    ("nn", "MapTable"),  # a clone keeps its gradients to itself
    ("nn", "IndexLinear"),  # of the whole vector
    ("nn", "SparseLinear"),
    ("rnn", "MaskZero"),  # weights see gradients before they are masked
    ("rnn", "TrimZero"),
    ("rnn", "LookupTableMaskZero"),
}


FILES = [
    pytest.param(section, path.stem, id=f"{section}-{path.stem}")
    for section in ("nn", "nngraph", "rnn", "dpnn")
    for path in sorted((DATA / section).glob("*.t7"))
]


def cases_of(section, name):
    """The cases of a file that can be compared: drawing random numbers is left out."""
    for case in load_cases(section, name):
        is_random = case.get("random") and case.get("train") is not False
        is_random = is_random or "stochastic" in case.name
        if case.protocol in ("module", "criterion") and not is_random:
            yield case


def layer_of(case):
    return case.module if case.protocol == "module" else case.criterion


def given_to(case):
    """The arguments of forward."""
    given = as_torch(case.input, requires_grad=True)
    return (given,) if case.protocol == "module" else (given, as_torch(case.get("target")))


def as_torch(value, requires_grad=False):
    """Tensors of relume as tensors of PyTorch, tables as tuples."""
    if is_table(value):
        return tuple(as_torch(element, requires_grad) for element in nested.elements(value))
    if not isinstance(value, rl.Tensor):
        return value
    tensor = torch.from_numpy(value.detach().numpy().copy())
    return tensor.requires_grad_(requires_grad and tensor.is_floating_point())


def relative_difference(actual, expected):
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.size == expected.size
    if actual.size == 0:
        return 0
    actual = actual.reshape(expected.shape)
    return float(np.max(np.abs(actual - expected) / np.maximum(1, np.abs(expected))))


def check(actual, expected, case, what):
    found = relative_difference(actual, expected)
    name = "torch.FloatTensor" if case["class"] in FLOAT_INSIDE else case.type
    assert found <= TOLERANCE[name], f"{case.name}: {what} differs by {found:.3g}"


def written(module, folder):
    """The network that a written file gives, and the source that it was made from."""
    FORMAT.write(module, folder / "net.py", formats.Options())
    network = pytorch_file.load_module(folder / "net.py").load()
    return network.train(module.train is not False), generate(module)


@pytest.mark.parametrize(("section", "name"), FILES)
def test_golden_cases(section, name, tmp_path):
    for case in cases_of(section, name):
        refusals = FORMAT.check(layer_of(case))
        if refusals:
            assert {refusal.class_name for refusal in refusals} <= REFUSED.keys()
        else:
            check_case(case, tmp_path, (section, name) not in OWN_GRADIENTS)


def check_case(case, folder, has_gradients):
    network, source = written(layer_of(case), folder)
    given = given_to(case)
    outputs = pytorch_file.flat(network(*given))
    expected = pytorch_file.flat(as_torch(case.output))
    assert len(outputs) == len(expected)
    for output, value in zip(outputs, expected, strict=True):
        check(getattr(output, "detach", lambda v=output: v)(), value, case, "the output")
    if has_gradients and not case.get("nobackward"):
        check_gradients(case, network, source, given, outputs)


def check_gradients(case, network, source, given, outputs):
    is_loss = case.protocol == "criterion"
    of_outputs = [torch.ones(1)] if is_loss else pytorch_file.flat(as_torch(case.gradOutput))
    pairs = [
        (output, torch.as_tensor(gradient).reshape(output.shape).to(output.dtype))
        for output, gradient in zip(outputs, of_outputs, strict=True)
        if isinstance(output, torch.Tensor) and output.requires_grad
    ]
    if pairs:
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
    of_inputs = pytorch_file.flat(as_torch(case.gradInput))
    for tensor, value in zip(pytorch_file.flat(given[0]), of_inputs, strict=False):
        if isinstance(tensor, torch.Tensor) and tensor.grad is not None and value.numel():
            check(tensor.grad, value, case, "gradInput")
    own = {
        p.data_ptr(): g
        for p, g in zip(layer_of(case).parameters()[0], case.get("gradParams") or [], strict=False)
    }
    for parameter_name, parameter in network.named_parameters():
        weight = source.weights[parameter_name]
        if parameter.grad is None or not all(t.data_ptr() in own for t in weight.tensors):
            continue
        value = weight.form.join(
            [own[t.data_ptr()].numpy().reshape(t.shape) for t in weight.tensors]
        )
        check(parameter.grad, value, case, f"the gradient of {parameter_name}")
