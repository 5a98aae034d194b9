"""Classes that users supply, and what is said about those that nobody has supplied."""

import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import registry

DOUBLE = {"dtype": rl.float64}


@pytest.fixture
def register(monkeypatch):
    """Registers a class for one test only."""
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    return nn.register


def make_add_scalar(register):
    @register("nn.AddScalar")
    class AddScalar(nn.Module):
        def __init__(self, scalar):
            super().__init__()
            raise AssertionError("reading a file does not call the constructor")

        def updateOutput(self, input):
            self.output = input + self.scalar
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = gradOutput
            return self.gradInput

    return AddScalar


def test_a_class_with_torch7s_methods_only(register):
    cls = make_add_scalar(register)
    layer = loaded("nn.AddScalar", scalar=2, train=True)
    assert type(layer) is cls
    net = nn.Sequential().add(nn.Square()).add(layer).add(nn.MulConstant(3))
    x = rl.tensor([1.0, 2.0], **DOUBLE)
    assert net.forward(x).tolist() == [9.0, 18.0]
    assert net.backward(x, rl.ones(2, **DOUBLE)).tolist() == [6.0, 12.0]
    leaf = x.clone().requires_grad_()
    net(leaf).sum().backward()
    assert leaf.grad.tolist() == [6.0, 12.0]
    assert net.clone().forward(x).tolist() == [9.0, 18.0]
    assert str(layer) == "nn.AddScalar"


def test_a_class_that_only_computes(register):
    @register("my.Gate")
    class Gate(nn.Module):
        parameter_names = ("weight",)

        def compute(self, input, weight):
            return input.sigmoid() * weight

    layer = loaded("my.Gate", weight=rl.ones(3, **DOUBLE) * 2)
    x = rl.randn(2, 3, **DOUBLE)
    layer.forward(x)
    layer.backward(x, rl.ones(2, 3, **DOUBLE))
    assert difference(layer.gradWeight, x.sigmoid().sum(0)) < 1e-12
    assert rl.autograd.gradcheck(layer, [x.clone().requires_grad_()])


def test_a_criterion_with_torch7s_methods_only(register):
    @register("nn.HalfSquares")
    class HalfSquares(nn.Criterion):
        def updateOutput(self, input, target):
            self.output = ((input - target) ** 2).sum().item() / 2
            return self.output

        def updateGradInput(self, input, target):
            self.gradInput = input - target
            return self.gradInput

    criterion = loaded("nn.HalfSquares")
    x, t = rl.tensor([3.0, 1.0], **DOUBLE), rl.tensor([1.0, 1.0], **DOUBLE)
    assert criterion.forward(x, t) == 2.0
    assert criterion.backward(x, t).tolist() == [2.0, 0.0]
    both = nn.MultiCriterion().add(criterion, 0.5).add(nn.MSECriterion())
    assert both.forward(x, t) == 3.0
    assert both.backward(x, t).tolist() == [3.0, 0.0]
    leaf = x.clone().requires_grad_()
    (criterion(leaf, t) * 2).backward()
    assert leaf.grad.tolist() == [4.0, 0.0]


def test_a_class_that_is_no_layer(register):
    @register("my.Vocabulary")
    class Vocabulary:
        def _load_fields(self, fields, version):
            self.words = list(fields["words"])

    assert loaded("my.Vocabulary", words=rl.Table(["a", "b"])).words == ["a", "b"]


def test_an_unknown_class_deep_inside_says_where_it_is_and_how_to_supply_it():
    unknown = loaded("nn.Mystery", modules=rl.Table())
    inner = nn.Sequential().add(nn.Tanh()).add(unknown)
    net = nn.Sequential().add(nn.Linear(2, 2)).add(nn.ConcatTable().add(inner))
    with pytest.raises(nn.UnknownModuleError) as caught:
        net.forward(rl.zeros(1, 2, **DOUBLE))
    message = str(caught.value)
    assert "root.modules[2].modules[1].modules[2] (nn.Mystery)" in message
    assert '@relume.legacy_nn.register("nn.Mystery")' in message
    assert 'relume.load(path, lua=["Mystery.lua"])' in message
    assert "the project that wrote the file" in message


@pytest.mark.parametrize("call", ["__call__", "forward", "backward", "updateOutput"])
def test_an_unknown_object_says_the_same_when_run_by_itself(call):
    unknown = rl.TorchObject("tnt.SequentialEngine", {"iterations": 3})
    with pytest.raises(nn.UnknownModuleError, match="torchnet package"):
        getattr(unknown, call)(rl.zeros(1))
    assert unknown.iterations == 3


@pytest.mark.parametrize(
    ("typename", "package"),
    [
        ("nn.SpatialColorTransform", "nnx"),
        ("nn.GroupKMaxPooling", "facebook/fbnn"),
        ("fbcunn.Anything", "facebook/fbcunn"),
        ("nn.HSM", "facebook/fbnn"),
        ("autograd.nn.AutoModule", "twitter/torch-autograd"),
        ("dp.Batch", "nicholas-leonard/dp"),
    ],
)
def test_public_packages_are_known_by_their_classes(typename, package):
    assert package in str(nn.errors.unknown_class(typename))


def test_an_object_read_before_its_class_was_registered(register):
    net = nn.Sequential().add(loaded("nn.Late", scalar=1))
    register("nn.Late")(type("Late", (nn.Module,), {}))
    with pytest.raises(nn.UnknownModuleError, match="load the file again"):
        net.forward(rl.zeros(1))


def test_the_parameters_are_those_that_compute_names():
    class Scale(nn.Module):
        def compute(self, input, weight):
            return input * weight

    class Twice(nn.Module):
        def compute(self, input):
            return input * 2

    assert (Scale.parameter_names, Twice.parameter_names) == (("weight",), ())
    scale = Scale()
    scale.weight = rl.tensor([3.0])
    x = rl.tensor([1.0, 2.0])
    assert nn.Sequential().add(scale).add(Twice()).forward(x).tolist() == [6, 12]
    assert scale.backward(x, rl.ones(2)).tolist() == [3, 3]
    assert scale.gradWeight.tolist() == [3]


@pytest.mark.parametrize(
    "name", ["nn.TVLoss", "nn.TotalVariation", "nn.maskSoftMax", "nn.MaskSoftMax", "Dict"]
)
@pytest.mark.filterwarnings("ignore:.*left over from training")
def test_second_names_of_a_class_stay_in_files(name):
    first = rl.dumps(rl.TorchObject(name, {"strength": 1.0}))
    value = rl.loads(first)
    assert value.torch_typename == name
    assert name.encode() in rl.dumps(value)
