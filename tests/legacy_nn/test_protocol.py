"""Torch7's protocol: what the scripts of the golden file Module_methods did, and its corners."""

import pytest
from golden_cases import difference, load_cases

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import nested

EXACT = 1e-12


def script(name):
    for case in load_cases("nn", "Module_methods"):
        if case.name.startswith(name):
            rl.manual_seed(int(case.seed))
            return case.module, case.get("inputs"), case.results
    raise KeyError(name)


def copies(tensors):
    return [tensor.detach().clone() for tensor in tensors]


def test_get_parameters_gives_views():
    m, i, expected = script("getParameters: flat")
    assert difference(copies(m.parameters()[0]), expected.before) == 0
    p, g = m.getParameters()
    assert difference(p, expected.flat) == 0
    g.zero_()
    m.forward(i.x)
    m.backward(i.x, i.g)
    assert difference(g, expected.gradflat) < EXACT
    p.add_(g, alpha=-0.5)
    assert difference(m.parameters()[0], expected.after) < EXACT


def test_get_parameters_again_keeps_the_views():
    m, _, _ = script("getParameters: flat")
    p, _ = m.getParameters()
    part, _ = m.get(1).getParameters()
    again, _ = m.getParameters()
    again.fill_(3)
    assert p.tolist() == again.tolist() == [3.0] * 26
    assert part.tolist() == [3.0] * 16
    assert m.get(3).bias.tolist() == [3.0, 3.0]


def test_get_parameters_with_shared_layers():
    m, i, expected = script("getParameters with shared")
    p, g = m.getParameters()
    assert p.numel() == expected.n
    assert difference(p, expected.flat) == 0
    g.zero_()
    m.forward(i.x)
    m.backward(i.x, i.g)
    assert difference(g, expected.gradflat) < EXACT


def test_share_and_clone():
    m, i, expected = script("share(), clone()")
    a, b, c = m.clone(), m.clone("weight", "bias"), m.clone().share(m, "weight")
    m.get(1).weight.mul_(2)
    m.get(1).bias.fill_(0.25)
    assert (
        difference([x.get(1).weight for x in (a, b, c)], [expected.a, expected.b, expected.c]) == 0
    )
    biases = [expected.abias, expected.bbias, expected.cbias]
    assert difference([x.get(1).bias for x in (a, b, c)], biases) == 0
    b.forward(i.x)
    b.backward(i.x, i.g)
    assert difference(m.get(1).gradWeight, expected.mgrad) == 0
    assert difference(b.get(1).gradWeight, expected.bgrad) < EXACT


def test_update_while_going_back():
    m, i, expected = script("backwardUpdate")
    m.forward(i.x)
    m.backwardUpdate(i.x, i.g, 0.1)
    assert difference(copies(m.parameters()[0]), expected.p1) < EXACT
    m.forward(i.x)
    m.updateGradInput(i.x, i.g)
    m.accUpdateGradParameters(i.x, i.g, 0.2)
    assert difference(m.parameters()[0], expected.p2) < EXACT


def test_gradients_add_up():
    m, i, expected = script("gradients accumulate")
    p, g = m.parameters()
    m.forward(i.x)
    m.backward(i.x, i.g)
    assert difference(g, expected.one) < EXACT
    m.backward(i.x, i.g)
    assert difference(g, expected.two) < EXACT
    m.backward(i.x, i.g, 0.5)
    assert difference(g, expected.half) < EXACT
    m.zeroGradParameters()
    assert difference(g, expected.zero) == 0
    m.updateGradInput(i.x, i.g)
    m.accGradParameters(i.x, i.g, 2)
    assert difference(g, expected.scaled) < EXACT
    m.updateParameters(0.1)
    assert difference(p, expected.params) < EXACT


def test_containers():
    m, inputs, expected = script("containers")
    m.insert(nn.ReLU(), 2)
    assert str(m) == expected.inserted
    assert m.size() == expected.size
    assert m.get(2).torch_typename == expected.get2
    assert m.get(m.size()).torch_typename == expected.getlast
    m.remove(2)
    m.remove()
    assert str(m) == expected.removed
    m.add(nn.Sequential().add(nn.Linear(4, 3)).add(nn.Sigmoid()))
    nodes, containers = m.findModules("nn.Linear")
    assert len(nodes) == expected.nlinear
    assert [c.torch_typename for c in containers] == expected.container_types.as_list()
    names = []
    m.apply(lambda module: names.append(module.torch_typename))
    assert " ".join(names) == expected.applied
    assert " ".join(module.torch_typename for module in m.listModules()) == expected.list
    m.replace(lambda module: nn.SoftSign() if isinstance(module, nn.Tanh) else module)
    assert str(m) == expected.replaced
    assert difference(m.forward(inputs.x), expected.output) < EXACT


def test_modes_and_types():
    m, i, expected = script("training/evaluate")

    def modes():
        return [m.train, m.get(2).train, m.get(3).get(1).train]

    m.evaluate()
    assert modes() == expected.train1.as_list()
    assert difference(m.forward(i.x), expected.eval) < EXACT
    m.training()
    assert modes() == expected.train2.as_list()
    assert m.type() == expected.t0
    m.float()
    types = [m.type(), m.get(1).weight.torch_typename]
    assert [*types, m.get(3).get(1).running_mean.torch_typename] == expected.t1.as_list()
    m.evaluate()
    assert difference(m.forward(i.x.to(rl.float32)), expected.evalfloat) < 1e-5
    m.double()
    assert difference(m.forward(i.x), expected.evaldouble) < 1e-6


def test_reset_draws_torch7s_numbers():
    m, i, expected = script("reset(stdv)")
    rl.manual_seed(11)
    m.reset()
    assert difference(m.parameters()[0], expected.default) == 0
    rl.manual_seed(11)
    m.reset(i.s)
    assert difference(m.parameters()[0], expected.stdv) < 1e-15


# ---- what no golden file holds ----


def linear_and_input():
    rl.manual_seed(1)
    return nn.Linear(3, 2), rl.ones(4, 3, dtype=rl.float64)


def test_backward_without_forward_computes_it():
    m, x = linear_and_input()
    g = rl.ones(4, 2, dtype=rl.float64)
    assert difference(m.backward(x, g), rl.matmul(g, m.weight)) < EXACT


def test_backward_after_the_weights_changed_uses_the_new_ones():
    m, x = linear_and_input()
    g = rl.ones(4, 2, dtype=rl.float64)
    m.forward(x)
    m.weight.fill_(2)
    assert m.backward(x, g).tolist() == [[4.0] * 3] * 4


def test_modern_gradients_and_legacy_gradients_are_one_memory():
    m, x = linear_and_input()
    m.zeroGradParameters()
    y = m(x) + m(2 * x)
    y.sum().backward()
    assert m.weight.grad.tolist() == m.gradWeight.tolist() == [[12.0] * 3] * 2
    m.zeroGradParameters()
    assert m.weight.grad.tolist() == [[0.0] * 3] * 2


def test_modern_face_keeps_nothing():
    m, x = linear_and_input()
    before = dict(vars(m))
    m(x)
    assert vars(m) == before
    assert m.output.numel() == 0


def test_no_grad_records_nothing():
    m, x = linear_and_input()
    with rl.no_grad():
        assert not m(x).requires_grad
        assert m.forward(x).shape == (4, 2)
        assert m.backward(x, rl.ones(4, 2, dtype=rl.float64)).shape == (4, 3)


def test_casts_keep_ties():
    a = nn.Linear(3, 3)
    net = nn.Sequential().add(a).add(a.clone("weight", "bias", "gradWeight", "gradBias"))
    net.float()
    net.get(1).weight.fill_(5)
    assert net.get(2).weight.tolist() == [[5.0] * 3] * 3
    assert net.getParameters()[0].numel() == 12


class Scale(nn.Module):
    """A user's class that writes Torch7's methods."""

    def __init__(self, factor):
        super().__init__()
        self.weight = rl.full((1,), float(factor), dtype=rl.float64)
        self.gradWeight = rl.zeros(1, dtype=rl.float64)

    def updateOutput(self, input):
        self.output = input * self.weight.detach()
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradOutput * self.weight.detach()
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        self.gradWeight.add_((input * gradOutput).sum().reshape(1), alpha=scale)


class Shift(nn.Module):
    """A user's class that writes updateOutput alone: its derivative comes from the tape."""

    def __init__(self):
        super().__init__()
        self.bias = rl.zeros(3, dtype=rl.float64)
        self.gradBias = rl.zeros(3, dtype=rl.float64)

    def updateOutput(self, input):
        self.output = input * input + self.bias
        return self.output


@pytest.mark.parametrize("layer", [Scale(3), Shift()])
def test_user_classes_work_inside_containers(layer):
    x = rl.tensor([1.0, 2.0, 3.0], dtype=rl.float64)
    g = rl.ones(3, dtype=rl.float64)
    net = nn.Sequential().add(nn.MulConstant(2)).add(layer)
    net.zeroGradParameters()
    net.forward(x)
    legacy = net.backward(x, g)
    legacy_gradient = net.parameters()[1][0].clone()
    expected = [6.0] * 3 if isinstance(layer, Scale) else [8.0, 16.0, 24.0]
    assert legacy.tolist() == expected
    assert legacy_gradient.tolist() == ([12.0] if isinstance(layer, Scale) else [1.0] * 3)

    net.zeroGradParameters()
    leaf = x.clone().requires_grad_()
    y = net(leaf)
    y.backward(g)
    assert leaf.grad.tolist() == expected
    assert net.parameters()[1][0].tolist() == legacy_gradient.tolist()


@pytest.mark.parametrize("first", [nn.Dropout().evaluate(), nn.Narrow(1, 1, 2), nn.Dropout(0)])
def test_in_place_layers_do_not_reach_the_input(first):
    x = rl.tensor([[-1.0, 2.0], [3.0, -4.0]])
    nn.Sequential().add(first).add(nn.ReLU(True)).forward(x)
    assert x.tolist() == [[-1.0, 2.0], [3.0, -4.0]]


def test_in_place_chain_gives_the_gradients_of_its_copy():
    rl.manual_seed(3)
    x, g = rl.randn([4, 3], dtype=rl.float64), rl.randn([4, 2], dtype=rl.float64)

    def net(inplace):
        rl.manual_seed(5)
        layers = [nn.Linear(3, 2), nn.Sigmoid(), nn.MulConstant(2, inplace), nn.ELU(0.5, inplace)]
        chain = nn.Sequential()
        for layer in [*layers, nn.LeakyReLU(0.1, inplace), nn.HardTanh(-1, 1.2, inplace)]:
            chain.add(layer)
        return chain

    results = []
    for inplace in (False, True):
        chain = net(inplace)
        chain.zeroGradParameters()
        output = chain.forward(x).clone()
        results.append([output, chain.backward(x, g), *chain.parameters()[1]])
    assert difference(results[1], results[0]) < EXACT


def test_register_and_subclass():
    @nn.register("nn.AddScalarForTest")
    class AddScalarForTest(nn.Module):
        def compute(self, input):
            return input + 1

        parameter_names = ()

    assert nn.lookup("nn.AddScalarForTest") is AddScalarForTest
    assert str(AddScalarForTest()) == "nn.AddScalarForTest"
    assert AddScalarForTest().forward(rl.ones(1)).tolist() == [2.0]


# ---- errors ----


def test_errors_say_where_and_what():
    net = nn.Sequential().add(nn.Tanh()).add(nn.Sequential().add(nn.Linear(3, 2)))
    for run in (net.forward, net):
        with pytest.raises(ValueError, match="expected a vector of size 3") as caught:
            run(rl.ones(2, 4, dtype=rl.float64))
        assert "root.modules[2].modules[1] (nn.Linear)" in str(caught.value)


def test_unknown_modules_say_how_to_supply_them():
    unknown = rl.TorchObject("onmt.NoSuchEncoder", {})
    net = nn.Sequential().add(nn.Tanh()).add(unknown)
    with pytest.raises(nn.UnknownModuleError, match=r"onmt\.NoSuchEncoder") as caught:
        net.forward(rl.ones(2))
    assert "root.modules[2]" in str(caught.value)
    assert "OpenNMT" in str(caught.value)
    assert "register" in str(caught.value)


@pytest.mark.parametrize(
    ("layer", "input"),
    [
        (nn.SpatialConvolution(3, 4, 3, 3), rl.ones(2, 5, 5, dtype=rl.float64)),
        (nn.SpatialMaxPooling(2, 2), rl.ones(4, dtype=rl.float64)),
        (nn.BatchNormalization(4), rl.ones(2, 3, dtype=rl.float64)),
        (nn.CAddTable(), [rl.ones(2), rl.ones(3)]),
        (nn.Reshape(5), rl.ones(3)),
        (nn.JoinTable(1), [rl.ones(2, 3), rl.ones(2, 4)]),
        (nn.Select(1, 5), rl.ones(2, 3)),
        (nn.Max(3), rl.ones(2, 3)),
        (nn.SpatialReflectionPadding(5), rl.ones(1, 3, 3)),
        (nn.SoftMax(), rl.ones(1, 1, 1, 1, 1)),
        (nn.View(5), rl.ones(3)),
        (nn.MM(), [rl.ones(2, 2), rl.ones(2)]),
        (nn.LookupTable(3, 2), rl.tensor([1, 4])),
    ],
)
def test_wrong_inputs_name_the_layer(layer, input):
    with pytest.raises((ValueError, IndexError)) as caught:
        layer.forward(input)
    assert layer.torch_typename in str(caught.value)


def test_clones_keep_objects_of_unknown_classes():
    net = nn.Identity()
    net.seen = rl.TorchObject("my.Counter", {"steps": rl.ones(2)}, payload=b"x")
    copy = net.clone().seen
    assert copy is not net.seen and copy.torch_typename == "my.Counter"
    assert copy.steps.tolist() == [1, 1] and copy.payload == b"x"


@pytest.mark.parametrize(
    ("make", "input"),
    [
        (lambda: nn.SeqGRU(3, 2), rl.randn(4, 2, 3, dtype=rl.float64)),
        (lambda: nn.SeqLSTMP(3, 4, 2), rl.randn(4, 2, 3, dtype=rl.float64)),
        (
            lambda: nn.SharedParallelTable(nn.Linear(3, 2)),
            [rl.randn(2, 3, dtype=rl.float64) for _ in range(2)],
        ),
    ],
)
def test_backward_takes_the_weights_as_they_are_then(make, input):
    layer = make()
    other = layer.clone()
    output = layer.forward(input)
    with rl.no_grad():
        for parameter in [*layer.parameters()[0], *other.parameters()[0]]:
            parameter.mul_(0.5)
    gradient = nested.map_tensors(rl.ones_like, output)
    found = nested.tensors_in(layer.backward(input, gradient))
    other.forward(input)
    expected = nested.tensors_in(other.backward(input, gradient))
    assert all(rl.allclose(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("wrong", [None, 3, "text", []])
@pytest.mark.parametrize(
    ("make", "input"),
    [
        (lambda: nn.CReLU(1), rl.ones(3, dtype=rl.float64)),
        (lambda: nn.Repeater(nn.LSTM(3, 2), 2), rl.ones(2, 3, dtype=rl.float64)),
        (
            lambda: nn.IndexLinear(3, 2),
            [[rl.tensor([1])], [rl.ones(1, dtype=rl.float64)]],
        ),
        (lambda: nn.RecGRU(3, 2), rl.ones(2, 3, dtype=rl.float64)),
    ],
)
def test_a_wrong_gradient_names_the_layer(make, input, wrong):
    layer = make()
    layer.forward(input)
    with pytest.raises((TypeError, ValueError)) as caught:
        layer.backward(input, wrong)
    assert layer.torch_typename in str(caught.value) or "root.modules[" in str(caught.value)
