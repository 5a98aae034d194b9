"""Networks with fields that no constructor would make, as damaged or hostile files hold them."""

import math

import pytest

import relume as rl
from relume import legacy_nn as nn

INPUT = rl.ones(2, 3, dtype=rl.float64)


@pytest.mark.parametrize("value", ["lost", 3, rl.Table([])], ids=["text", "number", "table"])
@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_parameter_that_is_no_tensor_is_named_with_its_layer_and_place(name, value):
    net = nn.Sequential().add(nn.Tanh()).add(nn.Linear(3, 2))
    vars(net.get(2))[name] = value
    with pytest.raises(TypeError, match=rf"nn\.Linear.*its {name} must be a tensor") as caught:
        net.forward(INPUT)
    assert "root.modules[2]" in str(caught.value)


@pytest.mark.parametrize("value", ["lost", rl.ones(2, 3, dtype=rl.int64)], ids=["text", "integer"])
def test_a_gradient_that_is_no_tensor_of_real_numbers_is_named(value):
    layer = nn.Linear(3, 2)
    layer.gradWeight = value
    output = layer.forward(INPUT)
    with pytest.raises(TypeError, match=r"nn\.Linear.*its gradWeight must be a tensor"):
        layer.backward(INPUT, output)


def test_a_missing_weight_is_named():
    net = nn.Sequential().add(nn.Linear(3, 2))
    del vars(net.get(1))["weight"]
    with pytest.raises(TypeError, match=r"nn\.Linear.*its weight is missing"):
        net.forward(INPUT)


def test_an_error_is_not_hidden_by_a_layer_that_cannot_be_printed():
    net = nn.Sequential().add(nn.Linear(3, 2))
    net.get(1).weight = rl.ones(6, dtype=rl.float64)
    with pytest.raises((ValueError, IndexError), match=r"nn\.Linear") as caught:
        net.forward(INPUT)
    assert "root.modules[1]" in str(caught.value)
    assert "(1): nn.Linear" in str(net)
    assert repr(net.get(1)) == "nn.Linear"


def test_an_infinite_whole_number_is_named():
    layer = nn.Collapse(2)
    layer.nInputDim = math.inf
    with pytest.raises(ValueError, match=r"nn\.Collapse"):
        layer.forward(INPUT)


def test_errors_of_a_layer_with_its_own_backward_are_named():
    layer = nn.Kmeans(2, 3)
    layer.forward(INPUT)
    layer.gradWeight = rl.ones(5, dtype=rl.float64)
    with pytest.raises(ValueError, match=r"nn\.Kmeans"):
        layer.backward(INPUT, INPUT)


def test_a_layer_that_asks_for_too_much_memory_is_named():
    with pytest.raises(MemoryError, match=r"nn\.Padding.*out of memory"):
        nn.Padding(1, 2**48).forward(INPUT)


def inside_itself():
    net = nn.Sequential().add(nn.Linear(3, 3))
    return net.add(nn.Concat(2).add(net))


@pytest.mark.parametrize(
    "use",
    [
        lambda net: net.listModules(),
        lambda net: net.getParameters(),
        lambda net: net.find_modules("nn.Linear"),
        lambda net: net.apply(lambda module: None),
        lambda net: net.keepGradInputs(False),
    ],
    ids=["listModules", "getParameters", "find_modules", "apply", "keepGradInputs"],
)
def test_walking_through_a_network_that_is_inside_itself_ends(use):
    with pytest.raises(ValueError, match="inside itself"):
        use(inside_itself())


def test_running_a_network_that_is_inside_itself_says_so():
    with pytest.raises(RecursionError, match="inside itself") as caught:
        inside_itself().forward(rl.ones(2, 3, dtype=rl.float64))
    assert len(str(caught.value)) < 300


def test_a_network_that_is_inside_itself_is_saved_and_read():
    copy = rl.loads(rl.dumps(inside_itself()))
    assert copy.get(2).get(1) is copy


def test_a_module_that_stands_in_two_places_is_not_inside_itself():
    shared = nn.Sequential().add(nn.Tanh())
    net = nn.Sequential().add(shared).add(nn.Concat(2).add(shared))
    names = [module.torch_typename.removeprefix("nn.") for module in net.walk()]
    assert names == ["Sequential", "Sequential", "Tanh", "Concat", "Sequential", "Tanh"]


@pytest.mark.parametrize("size", [(), (0,), (3,), (2, 3, 4)])
@pytest.mark.parametrize(
    ("make", "input", "dimensions"),
    [
        (lambda: nn.Linear(3, 2), rl.ones(2, 3).double(), 2),
        (lambda: nn.LookupTable(3, 2), rl.tensor([1, 3]), 2),
        (lambda: nn.Bilinear(2, 3, 2), [rl.ones(2, 2).double(), rl.ones(2, 3).double()], 3),
    ],
)
def test_weights_of_other_dimensions(make, input, dimensions, size):
    if len(size) == dimensions:
        return
    layer = make()
    layer.weight = rl.ones(size).double()
    with pytest.raises((TypeError, ValueError)) as caught:
        nn.Sequential().add(layer).forward(input)
    assert f"its weight must have {dimensions} dimensions, but is a torch" in str(caught.value)
    assert "in root.modules[1]" in str(caught.value)
    assert layer.torch_typename in repr(layer)


@pytest.mark.parametrize("field", ["g", "v", "outputDim", "viewOut", "eps"])
def test_texts_where_numbers_belong(field):
    layer = nn.WeightNorm(nn.Linear(3, 2))
    setattr(layer, field, "lost")
    with pytest.raises((TypeError, ValueError), match=f"its {field} is the text 'lost'"):
        layer.forward(rl.ones(2, 3).double())
