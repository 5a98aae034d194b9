"""A graph whose modules follow `compute` runs on one tape: what it leaves behind is what a tape
for each module leaves."""

import numpy as np
import pytest
from training_ways import in_two_calls, twice_with_scale

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import nested


def cell(slow=False):
    """An LSTM cell; `slow` puts in a module with methods of its own."""
    rl.manual_seed(7)
    x, c, h = nn.Identity()(), nn.Identity()(), nn.Identity()()
    sums = nn.CAddTable()([nn.Linear(3, 8)(x), nn.Linear(2, 8)(h)])
    parts = nn.SplitTable(2)(nn.Reshape(4, 2)(sums)).split(4)
    i, f, o = (nn.Sigmoid()(part) for part in parts[:3])
    new = nn.CMulTable()([i, nn.Tanh()(parts[3])])
    next_c = nn.CAddTable()([nn.CMulTable()([f, c]), new])
    squashed = (OwnTanh() if slow else nn.Tanh())(next_c)
    next_h = nn.Dropout(0.5)(nn.CMulTable()([o, squashed]))
    scores = nn.LogSoftMax()(nn.Linear(2, 5)(next_h))
    return nn.gModule([x, c, h], [next_c, next_h, scores])


class OwnTanh(nn.Tanh):
    def updateOutput(self, input):
        return super().updateOutput(input)


def given():
    generator = np.random.default_rng(0)

    def draw(*shape):
        return rl.tensor(generator.standard_normal(shape))

    return [draw(4, 3), draw(4, 2), draw(4, 2)], [draw(4, 2), draw(4, 2), draw(4, 5)]


def flat(value):
    return [t.numpy().copy() for t in nested.tensors_in(value)]


def left_behind(net):
    found = flat([net.output, net.gradInput, *net.parameters()[1]])
    for module in net.modules:
        found += flat([module.output, module.gradInput])
    return found


def assert_same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def plain(net, x, g):
    net.forward(x)
    net.backward(x, g)


def weight_changed(net, x, g):
    net.forward(x)
    net.parameters()[0][0].mul_(2)
    net.backward(x, g)


def output_overwritten(net, x, g):
    net.forward(x)
    net.output[3].mul_(0)
    net.backward(x, g)


def input_overwritten(net, x, g):
    net.forward(x)
    x[0].mul_(2)
    net.backward(x, g)


def evaluated_between(net, x, g):
    net.forward(x)
    net.evaluate()
    net.backward(x, g)


def in_evaluation(net, x, g):
    net.evaluate()
    for _ in range(2):
        net.forward(x)
        net.backward(x, g)


def update_at_once(net, x, g):
    net.forward(x)
    net.backwardUpdate(x, g, 0.1)


def gradient_missing(net, x, g):
    net.forward(x)
    net.backward(x, [*g[:2], None])


WAYS = [
    plain, twice_with_scale, in_two_calls, weight_changed, output_overwritten, input_overwritten,
    evaluated_between, in_evaluation, update_at_once, gradient_missing,
]  # fmt: skip


@pytest.mark.parametrize("use", WAYS)
def test_leaves_behind_what_single_tapes_do(use):
    results = []
    for slow in (False, True):
        net = cell(slow)
        net.zeroGradParameters()
        rl.manual_seed(3)
        use(net, *given())
        assert (net._as_one_function() is None) == slow
        results.append(left_behind(net))
    assert_same(*results)


def test_agrees_with_the_modern_face():
    net = cell().evaluate()
    x, g = given()
    net.forward(x)
    net.zeroGradParameters()
    net.backward(x, g)
    leaves = [t.clone().requires_grad_() for t in x]
    outputs = list(net(leaves))
    wanted = rl.autograd.grad(outputs, [*leaves, *net.parameters()[0]], g)
    assert_same(flat([net.gradInput, *net.parameters()[1]]), flat(list(wanted)))


def test_evaluation_keeps_no_tape():
    net = cell()
    net.forward(given()[0])
    assert net._record is not None
    net.evaluate()
    assert net._record is None
    net.forward(given()[0])
    assert net._record is None


def test_other_weights_count_in_backward():
    net, (x, g) = cell().evaluate(), given()
    linear, other = net.find_modules("nn.Linear")[0], nn.Linear(3, 8)
    net.training()
    net.forward(x)
    linear.share(other, "weight")
    dropout = net.find_modules("nn.Dropout")[0]
    dropout.evaluate()
    result = flat(net.backward(x, g))[0]
    gradient = linear.output * 0 + net.find_modules("nn.CAddTable")[0].gradInput[1]
    np.testing.assert_allclose(result, gradient.numpy() @ other.weight.numpy(), rtol=1e-10)


def test_gradients_inside_can_be_dropped():
    net, (x, g) = cell(), given()
    plain(net, x, g)
    net.keepGradInputs(False)
    plain(net, x, g)
    assert all("gradInput" not in vars(module) for module in net.modules)
    assert [t.shape for t in net.gradInput] == [(4, 3), (4, 2), (4, 2)]


def test_an_object_with_a_method_of_its_own_is_asked():
    net, (x, _) = cell(), given()
    called = []
    tanh = net.find_modules("nn.Tanh")[0]
    tanh.updateOutput = lambda input: called.append(1) or type(tanh).updateOutput(tanh, input)
    net.forward(x)
    assert called == [1]


def test_compute_sees_tables_that_count_from_one():
    class First(nn.Module):
        parameter_names = ()

        def compute(self, input):
            return input[1] * 2

    a, b = nn.Identity()(), nn.Identity()()
    net = nn.gModule([a, b], [First()([a, b])])
    for mode in (net.training, net.evaluate):
        mode()
        assert net.forward([rl.ones(1), rl.zeros(1)]).tolist() == [2.0]


def test_an_error_names_layer_and_place():
    net, (x, _) = cell(), given()
    with pytest.raises(ValueError, match=r"nn\.Linear\(3 -> 8\).*4x7") as caught:
        net.forward([rl.ones(4, 7, dtype=rl.float64), *x[1:]])
    assert "modules" in str(caught.value) or caught.value.__notes__


def test_a_wrong_gradient_is_an_error():
    net, (x, g) = cell(), given()
    net.forward(x)
    with pytest.raises(ValueError, match="gradOutput"):
        net.backward(x, [*g[:2], rl.ones(4, 9, dtype=rl.float64)])


@pytest.mark.parametrize("given", [lambda g: g[:1], lambda g: [*g, g[0]], lambda g: g[0]])
def test_gradients_that_are_not_one_for_each_output_are_refused(given):
    first = nn.Identity()()
    net = nn.gModule([first], [nn.Tanh()(first), nn.Exp()(first)])
    x = rl.ones(2)
    net.forward(x)
    with pytest.raises(ValueError, match="one gradient for each of the 2 outputs"):
        net.backward(x, given([x, x]))
