"""A graph of modules whose ops are made again in one call leaves behind what its modules leave."""

import gc
import random
from weakref import ref

import numpy as np
import pytest
from golden_cases import TOLERANCE, copy_of, difference, load_cases
from training_ways import in_two_calls, twice_with_scale

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import nested
from relume.legacy_nn.replay import SAME_OPS, Replays


def cell():
    x, c, h = nn.Identity()(), nn.Identity()(), nn.Identity()()
    sums = nn.CAddTable()([nn.Linear(3, 8)(x), nn.Linear(2, 8)(h)])
    parts = nn.SplitTable(2)(nn.Reshape(4, 2)(sums)).split(4)
    i, f, o = (nn.Sigmoid()(part) for part in parts[:3])
    new = nn.CMulTable()([i, nn.Tanh()(parts[3])])
    next_c = nn.CAddTable()([nn.CMulTable()([f, c]), new])
    next_h = nn.CMulTable()([o, nn.Tanh()(next_c)])
    scores = nn.LogSoftMax()(nn.Linear(2, 5)(nn.MulConstant(0.5)(next_h)))
    return nn.gModule([x, c, h], [next_c, next_h, scores])


def draw(generator, *shape):
    return rl.tensor(generator.standard_normal(shape))


def given(generator, batch=4):
    x = [draw(generator, batch, 3), draw(generator, batch, 2), draw(generator, batch, 2)]
    g = [draw(generator, batch, 2), draw(generator, batch, 2), draw(generator, batch, 5)]
    return x, g


def flat(value):
    return [t.numpy().copy() for t in nested.tensors_in(value)]


def left_behind(net):
    found = flat([net.output, net.gradInput, *net.parameters()[0], *net.parameters()[1]])
    for module in net.modules:
        found += flat([module.output, module.gradInput])
    return found


def assert_same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)


class Without:
    """Within, no graph makes its ops again."""

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(Replays, "run", lambda *_: None)
        self.patch.setattr(Replays, "is_time_to_note", lambda *_: False)

    def __exit__(self, *_):
        self.patch.undo()


@pytest.fixture
def served(monkeypatch):
    """How often noted ops have served."""
    count = []
    real = Replays.run

    def run(self, input, recorded):
        found = real(self, input, recorded)
        count.append(found is not None)
        return found

    monkeypatch.setattr(Replays, "run", run)
    return lambda: sum(count)


# ---- what may happen to a network between two calls ----


def train(net, x, g):
    net.zeroGradParameters()
    net.forward(x)
    net.backward(x, g)
    net.updateParameters(0.1)


def look_only(net, x, g):
    net.forward(x)


def without_tape(net, x, g):
    with rl.no_grad():
        net.forward(x)
    net.backward(x, g)


def evaluate(net, x, g):
    net.evaluate()
    net.forward(x)


def back_in_evaluation(net, x, g):
    net.evaluate()
    net.forward(x)
    net.backward(x, g)


def training(net, x, g):
    net.training()
    net.forward(x)


def flatten(net, x, g):
    net.getParameters()
    train(net, x, g)


def weight_changed(net, x, g):
    net.forward(x)
    net.parameters()[0][0].mul_(2)
    net.backward(x, g)


def weight_replaced(net, x, g):
    linear = net.find_modules("nn.Linear")[-1]
    linear.weight = linear.weight.clone() * 0.5
    train(net, x, g)


def bias_dropped(net, x, g):
    net.find_modules("nn.Linear")[0].noBias()
    train(net, x, g)


def shared(net, x, g):
    net.find_modules("nn.Linear")[1].share(nn.Linear(2, 8), "weight")
    train(net, x, g)


def field_changed(net, x, g):
    net.find_modules("nn.MulConstant")[0].constant_scalar *= 1.5
    train(net, x, g)


def cast(net, x, g):
    net.float()
    net.forward([t.to(rl.float32) for t in x])
    net.double()
    train(net, x, g)


def output_overwritten(net, x, g):
    net.forward(x)
    net.output[3].mul_(0)
    net.backward(x, g)


def input_overwritten(net, x, g):
    net.forward(x)
    x[0].mul_(2)
    net.backward(x, g)


def run_inside(net, x, g):
    net.forward(x)
    net.find_modules("nn.Sigmoid")[1].forward(x[1])
    net.backward(x, g)


def watched(net, x, g):
    net.forward(x, trace=True)


def cleared(net, x, g):
    net.clearState()
    train(net, x, g)


def dropped(net, x, g):
    net.keepGradInputs(True)
    train(net, x, g)


def module_replaced(net, x, g):
    last = net.modules[-1]
    net.replace(lambda module: nn.SoftMax() if module is last else module)
    train(net, x, g)


EVENTS = [
    train, train, train, train, look_only, twice_with_scale, in_two_calls, without_tape, evaluate,
    back_in_evaluation, training, flatten, weight_changed, weight_replaced, bias_dropped, shared,
    field_changed, cast, output_overwritten, input_overwritten, run_inside, watched, cleared,
    dropped, module_replaced,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_leaves_behind_what_the_modules_do(seed, served):
    """Two networks live through the same events, one of them without replays."""
    choose, generator = random.Random(seed), np.random.default_rng(seed)
    rl.manual_seed(seed)
    net = cell()
    other = net.clone()
    for _ in range(40):
        event = choose.choice(EVENTS)
        x, g = given(generator, choose.choice([4, 4, 4, 1]))
        twins = [[t.clone() for t in x], [t.clone() for t in g]]
        state = rl.get_rng_state()
        event(net, x, g)
        rl.set_rng_state(state)
        with Without():
            event(other, *twins)
        assert_same(left_behind(net), left_behind(other))
    assert served() > 5


@pytest.mark.parametrize("event", EVENTS[4:], ids=lambda event: event.__name__)
def test_one_event_after_many_runs(event):
    results = []
    for without in (False, True):
        rl.manual_seed(1)
        net, generator = cell(), np.random.default_rng(0)
        for _ in range(4):
            train(net, *given(generator))
        last = given(generator)
        if without:
            with Without():
                event(net, *last)
        else:
            event(net, *last)
        results.append(left_behind(net))
    assert_same(*results)


def test_from_the_third_time_on(served):
    net, generator = cell(), np.random.default_rng(0)
    for expected in (0, 0, 1, 2):
        train(net, *given(generator))
        assert served() == expected
    net.evaluate()
    for expected in (2, 2, 3):
        net.forward(given(generator)[0])
        assert served() == expected
    net.training()
    train(net, *given(generator))
    assert served() == 4


def test_clones_that_share_weights_add_up_their_gradients(served):
    generator = np.random.default_rng(0)
    net = cell()
    clones = [net.clone("weight", "bias", "gradWeight", "gradBias") for _ in range(3)]
    for _ in range(4):
        net.zeroGradParameters()
        total = 0
        for clone in clones:
            x, g = given(generator)
            clone.forward(x)
            clone.backward(x, g)
            alone = net.clone()
            alone.zeroGradParameters()
            with Without():
                alone.forward(x)
                alone.backward(x, g)
            total = total + alone.parameters()[1][0].numpy()
        np.testing.assert_allclose(net.parameters()[1][0].numpy(), total, rtol=1e-10)
        net.updateParameters(0.1)
    assert served() == 6


def test_another_size_that_a_layer_is_told(served):
    x = nn.Identity()()
    net = nn.gModule([x], [nn.Reshape(2, 3)(x)])
    for _ in range(3):
        assert net.forward(rl.zeros(4, 6)).shape == (4, 2, 3)
    assert served() == 1
    net.modules[1].size.tensor().copy_(rl.tensor([3, 2]))
    assert net.forward(rl.zeros(4, 6)).shape == (4, 3, 2)


def test_dropout_is_replayed_in_evaluation_only(served):
    x = nn.Identity()()
    net = nn.gModule([x], [nn.Dropout(0.5)(nn.MulConstant(2)(x))])
    input = rl.ones(50)
    for _ in range(4):
        assert sorted(set(net.forward(input).tolist())) == [0, 4]
    assert served() == 0
    net.evaluate()
    for _ in range(4):
        assert net.forward(input).tolist() == [2] * 50
    assert served() == 2
    net.modules[2].training()
    assert sorted(set(net.forward(input).tolist())) == [0, 4]
    net.modules[2].evaluate()
    assert net.forward(input).tolist() == [2] * 50


def test_wrong_input_is_named_as_ever():
    net, generator = cell(), np.random.default_rng(0)
    messages = []
    for _ in range(2):
        x, _ = given(generator)
        with pytest.raises(ValueError) as caught:
            net.forward([x[0][:, :2], *x[1:]])
        messages.append(str(caught.value))
        for _ in range(4):
            net.forward(x)
    assert messages[0] == messages[1]
    assert "nn.Linear(3 -> 8)" in messages[0]


def test_a_method_of_its_own_is_asked():
    net, generator = cell(), np.random.default_rng(0)
    for _ in range(4):
        net.forward(given(generator)[0])
    called = []
    tanh = net.find_modules("nn.Tanh")[0]
    tanh.updateOutput = lambda input: called.append(1) or type(tanh).updateOutput(tanh, input)
    net.forward(given(generator)[0])
    assert called == [1]


def test_a_class_that_computes_something_else_is_asked(monkeypatch):
    net, x = cell(), given(np.random.default_rng(0))[0]
    for _ in range(4):
        net.forward(x)
    monkeypatch.setattr(nn.Sigmoid, "compute", lambda self, input: input * 0)
    assert np.all(net.forward(x)[2].numpy() == 0)


def test_classes_of_users_are_always_asked(served):
    class Twice(nn.Module):
        parameter_names = ()

        def compute(self, input):
            calls.append(1)
            return input * 2

    calls = []
    x = nn.Identity()()
    net = nn.gModule([x], [Twice()(x)])
    for _ in range(5):
        net.forward(rl.ones(2))
    assert len(calls) == 5
    assert served() == 0


def test_a_network_that_is_gone_leaves_nothing():
    net, generator = cell(), np.random.default_rng(0)
    for _ in range(4):
        train(net, *given(generator))
    gone = ref(net), ref(net.modules[1])
    del net
    gc.collect()  # nodes of a graph know each other
    assert [weak() for weak in gone] == [None, None]


# ---- every class that is taken at its word ----

MATRIX, PAIR = (4, 6), [(4, 6), (4, 6)]
ARGUMENTS = {
    "Linear": (6, 3), "LinearNoBias": (6, 3), "Add": (6,), "CMul": (6,), "CAdd": (6,),
    "JoinTable": (2,), "SplitTable": (2,), "NarrowTable": (1, 2), "SelectTable": (2,),
    "Reshape": (2, 3), "View": (3, 2), "Unsqueeze": (2,), "Replicate": (3,), "Select": (2, 3),
    "Narrow": (2, 2, 3), "Sum": (2,), "Mean": (1,), "Power": (2,), "MulConstant": (1.5,),
    "AddConstant": (1.5,), "Clamp": (-1, 1), "MM": (False, True),
}  # fmt: skip
INPUTS = {"MV": [(4, 6), (6,)], "Squeeze": (4, 1, 6)}


def run_with_ones(net, input):
    output = net.forward(input)
    net.backward(input, nested.map_tensors(rl.ones_like, output))


@pytest.mark.parametrize("name", sorted(name.removeprefix("nn.") for name in SAME_OPS))
def test_each_class_that_makes_the_same_ops(name, served):
    generator = np.random.default_rng(0)
    x = nn.Identity()()
    module = getattr(nn, name)(*ARGUMENTS.get(name, ()))
    net = nn.gModule([x], [nn.Identity()(module(x))])
    takes_table = name in ("MM", "DotProduct") or name.endswith("Table") != (name == "SplitTable")
    shapes = INPUTS.get(name, PAIR if takes_table else MATRIX)
    for _ in range(5):
        if type(shapes) is list:
            input = [rl.tensor(generator.uniform(-3, 3, shape)) for shape in shapes]
        else:
            input = rl.tensor(generator.uniform(-3, 3, shapes))
        if name in ("Log", "Sqrt"):
            input = input.abs()
        other = net.clone()
        run_with_ones(net, input)
        with Without():
            run_with_ones(other, input)
        assert_same(left_behind(net), left_behind(other))
    assert served() == 3


# ---- networks that Torch7 saved ----

GOLDEN = [
    pytest.param(name, index, id=f"{name}-{case.name}")
    for name in ("cells", "gModule")
    for index, case in enumerate(load_cases("nngraph", name))
    if case.protocol == "module" and isinstance(case.get("module"), nn.gModule)
]


@pytest.mark.parametrize(("name", "index"), GOLDEN)
def test_golden_graphs_give_their_numbers_every_time(name, index):
    case = load_cases("nngraph", name)[index]
    net, tolerance = case.module, TOLERANCE[case.type]
    gradients = net.parameters()[1]
    before = [gradient.clone() for gradient in gradients]
    for _ in range(4):
        for gradient, value in zip(gradients, before, strict=True):
            gradient.copy_(value)
        rl.manual_seed(int(case.seed))
        assert difference(net.forward(case.input), case.output) <= tolerance
        if case.get("nobackward"):
            continue
        gradInput = net.backward(case.input, copy_of(case.gradOutput))
        assert difference(gradInput, case.gradInput) <= tolerance
        if case.get("gradParams") is not None:
            assert difference(gradients, case.gradParams) <= tolerance
