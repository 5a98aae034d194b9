"""What a training step holds: gradients that are let go, in-place layers that keep one copy."""

import gc
import weakref

import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn


def residual(inplace=True):
    rl.manual_seed(1)
    body = nn.Sequential().add(nn.Linear(4, 4)).add(nn.ReLU(inplace)).add(nn.Linear(4, 4))
    both = nn.ConcatTable().add(body).add(nn.Identity())
    net = nn.Sequential().add(nn.Linear(3, 4)).add(both).add(nn.CAddTable(inplace))
    return net.add(nn.ReLU(inplace)).add(nn.Linear(4, 2))


def graph():
    rl.manual_seed(1)
    x = nn.Identity()()
    h = nn.Tanh()(nn.Linear(3, 4)(x))
    return nn.gModule([x], [nn.CAddTable()([nn.Linear(4, 2)(h), nn.Linear(4, 2)(nn.Abs()(h))])])


@pytest.mark.parametrize("build", [residual, graph])
def test_gradients_of_inputs_are_let_go_when_asked(build):
    x = rl.randn([5, 3], dtype=rl.float64)
    g = rl.randn([5, 2], dtype=rl.float64)
    kept, dropped = build(), build().keepGradInputs(False)
    for net in (kept, dropped):
        net.zeroGradParameters()
        net.forward(x)
        net.backward(x, g)
    assert difference(dropped.gradInput, kept.gradInput) == 0
    assert difference(dropped.parameters()[1], kept.parameters()[1]) == 0
    inner = [m for m in dropped.walk() if isinstance(m, (nn.Linear, nn.ReLU))]
    held = [m for m in inner if "gradInput" in vars(m) and m.gradInput.numel()]
    assert not held
    assert all(m.gradInput.numel() for m in kept.walk() if isinstance(m, nn.Linear))
    dropped.keepGradInputs()
    dropped.forward(x)
    dropped.backward(x, g)
    assert all(m.gradInput.numel() for m in dropped.walk() if isinstance(m, nn.Linear))


def test_overwriting_layers_give_the_gradients_of_their_copies():
    x = rl.randn([5, 3], dtype=rl.float64)
    g = rl.randn([5, 2], dtype=rl.float64)
    results = []
    for inplace in (False, True):
        net = residual(inplace)
        net.zeroGradParameters()
        output = net.forward(x).clone()
        results.append([output, net.backward(x, g), net.backward(x, g), *net.parameters()[1]])
    assert difference(results[1], results[0]) < 1e-12


def test_overwriting_layers_keep_no_second_copy():
    for layer, given in ((nn.ReLU(True), rl.ones(3)), (nn.CAddTable(True), [rl.ones(3)] * 2)):
        layer.forward(given)
        assert layer._record is None
        layer.backward(given, rl.ones(3))
        assert layer._record is None


def large(own_class=False):
    """A network whose inner gradients are large, one of them small."""
    rl.manual_seed(1)
    middle = OwnTanh() if own_class else nn.Tanh()
    body = nn.Sequential().add(nn.Linear(64, 64)).add(nn.Dropout(0.5)).add(nn.ReLU(True))
    both = nn.ConcatTable().add(body).add(nn.Identity())
    net = nn.Sequential().add(nn.Linear(8, 64)).add(middle).add(both).add(nn.CAddTable(True))
    return net.add(nn.Linear(64, 2)).add(nn.LogSoftMax())


def large_graph():
    rl.manual_seed(1)
    x = nn.Identity()()
    h = nn.Dropout(0.5)(nn.Tanh()(nn.Linear(8, 64)(x)))
    joined = nn.CAddTable()([nn.Linear(64, 64)(h), h])
    return nn.gModule([x], [nn.LogSoftMax()(nn.Linear(64, 2)(joined))])


class OwnTanh(nn.Tanh):
    def updateGradInput(self, input, gradOutput):
        return super().updateGradInput(input, gradOutput)


def run_large(net):
    rl.manual_seed(2)
    x, g = rl.randn([1024, 8], dtype=rl.float64), rl.randn([1024, 2], dtype=rl.float64)
    net.zeroGradParameters()
    net.forward(x)
    net.backward(x, g)
    return x, g


def released(net):
    return [m for m in net.walk() if "gradInput" not in vars(m)]


@pytest.mark.parametrize("build", [large, large_graph])
def test_large_gradients_are_let_go_and_there_when_looked_at(build):
    kept, net = build().keepGradInputs(), build()
    for one in (kept, net):
        run_large(one)
    assert not released(kept)
    assert any(isinstance(module, nn.Tanh) for module in released(net))
    pairs = list(zip(kept.walk(), net.walk(), strict=True))
    before = [gradient.clone() for gradient in net.parameters()[1]]
    assert all(difference(mine.gradInput, theirs.gradInput) == 0 for theirs, mine in pairs)
    assert difference(net.parameters()[1], before) == 0
    assert not released(net)


def test_small_gradients_are_kept():
    net = large()
    run_large(net)
    assert "gradInput" in vars(net.find_modules("nn.LogSoftMax")[0])


def weights_changed(net, x, g):
    net.updateParameters(0.1)


def input_changed(net, x, g):
    x.mul_(2)


def other_forward(net, x, g):
    net.forward(x)


def mode_changed(net, x, g):
    net.evaluate()


def layer_run_alone(net, x, g):
    net.find_modules("nn.Tanh")[0].forward(rl.zeros(4, 64, dtype=rl.float64))


@pytest.mark.parametrize("build", [large, large_graph])
@pytest.mark.parametrize(
    "change", [weights_changed, input_changed, other_forward, mode_changed, layer_run_alone]
)
def test_gradients_that_would_be_others_are_an_error(build, change):
    net = build()
    change(net, *run_large(net))
    with pytest.raises(RuntimeError, match=r"nn\.Tanh.*keepGradInputs"):
        net.find_modules("nn.Tanh")[0].gradInput  # noqa: B018
    run_large(net.training())
    assert net.find_modules("nn.Tanh")[0].gradInput.shape == (1024, 64)


def test_all_gradients_are_kept_beside_classes_with_a_backward_of_their_own():
    net = large(own_class=True)
    run_large(net)
    assert not released(net)


def test_gradients_of_parameters_after_backward_find_what_they_need():
    kept, net = large().keepGradInputs(), large()
    for one in (kept, net):
        x, g = run_large(one)
        one.accGradParameters(x, g, 0.5)
    assert difference(net.parameters()[1], kept.parameters()[1]) == 0


def test_files_copies_and_cleared_networks_have_empty_gradients_in_their_place(tmp_path):
    net = large()
    x, _ = run_large(net)
    rl.save(net, tmp_path / "net.t7")
    loaded = rl.load(tmp_path / "net.t7")
    assert all("gradInput" in vars(module) for module in loaded.walk())
    assert loaded.find_modules("nn.Tanh")[0].gradInput.numel() == 0
    assert len(loaded.find_modules("nn.CAddTable")[0].gradInput) == 0
    copy = net.clone()
    assert all("gradInput" in vars(module) for module in copy.walk())
    assert len(copy.find_modules("nn.CAddTable")[0].gradInput) == 0
    given = weakref.ref(x)
    net.clearState()
    del x
    assert given() is None
    assert net.find_modules("nn.Tanh")[0].gradInput.numel() == 0


def test_a_network_that_let_go_is_free_at_once():
    net = large()
    run_large(net)
    gone = weakref.ref(net)
    gc.disable()
    try:
        del net
        assert gone() is None
    finally:
        gc.enable()
