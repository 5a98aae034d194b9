"""Clones that share parameters become one cell: same numbers, less memory."""

import pytest
from golden_cases import check_clones_through_time, difference, load_cases

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.clones import storage_bytes

SHARED = ("weight", "bias", "gradWeight", "gradBias")
TOLERANCE = 1e-10


@pytest.mark.parametrize("index", range(3))
def test_collapsed_char_rnn_gives_what_torch7s_clones_gave(index):
    golden = load_cases("nngraph", "lstm_unrolled")[index]
    clones = golden.module
    assert len(nn.find_clones(clones)[0]) == len(clones.as_list())
    clones = nn.collapse_clones(clones).as_list()
    assert len({id(clone.cell) for clone in clones}) == 1
    check_clones_through_time(clones, golden, TOLERANCE)
    assert difference(clones[-1].parameters()[1], golden.results.gradParams) < TOLERANCE


def cell(size, dropout=0.0):
    """A small recurrent cell as a graph: {x, h} -> h."""
    x, h = nn.Identity()(), nn.Identity()()
    total = nn.CAddTable()([nn.Linear(size, size)(x), nn.Linear(size, size)(h)])
    return nn.gModule([x, h], [nn.Dropout(dropout)(nn.Tanh()(total))])


def unrolled(steps, size, dropout=0.0):
    """A graph in which every step is a clone of one cell."""
    rl.manual_seed(4)
    first = cell(size, dropout)
    inputs = [nn.Identity()() for _ in range(steps + 1)]
    h = inputs[0]
    for t in range(steps):
        h = (first if t == 0 else first.clone(*SHARED))([inputs[t + 1], h])
    return nn.gModule(inputs, [h])


def run(net, inputs, gradient, scale=1.0):
    net.zeroGradParameters()
    rl.manual_seed(9)
    output = net.forward(inputs)
    return [output, *net.backward(inputs, gradient, scale).as_list(), *net.parameters()[1]]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_unrolled_graph_becomes_one_cell(dropout):
    steps, size = 5, 6
    rl.manual_seed(2)
    inputs = [rl.randn([3, size], dtype=rl.float64) for _ in range(steps + 1)]
    gradient = rl.randn([3, size], dtype=rl.float64)
    expected = [t.clone() for t in run(unrolled(steps, size, dropout), inputs, gradient, 0.5)]
    net = unrolled(steps, size, dropout)
    groups = nn.find_clones(net)
    assert [str(group) for group in groups] == ["5 clones of one RNN cell"]
    assert nn.collapse_clones(net) is net
    assert not nn.find_clones(net)
    assert difference(run(net, inputs, gradient, 0.5), expected) < TOLERANCE
    # Inputs that are copies are run again, with the random numbers of the forward.
    net.zeroGradParameters()
    rl.manual_seed(9)
    net.forward(inputs)
    for use in net.find_modules("nn.CellUse"):
        use._record = None
    assert difference(net.backward(inputs, gradient, 0.5), expected[1 : steps + 2]) < TOLERANCE
    # The modern face.
    leaves = [x.clone().requires_grad_() for x in inputs]
    rl.manual_seed(9)
    y = net(leaves)
    y.backward(gradient * 0.5)
    assert difference([leaf.grad * 2 for leaf in leaves], expected[1 : steps + 2]) < TOLERANCE


def test_collapse_saves_the_memory_of_the_clones():
    net = unrolled(12, 40)
    inputs = [rl.ones([20, 40], dtype=rl.float64) for _ in range(13)]
    net.forward(inputs)
    net.backward(inputs, rl.ones([20, 40], dtype=rl.float64))
    before = storage_bytes(net)
    net = nn.collapse_clones(net)
    after = storage_bytes(net)
    parameters = 2 * 2 * (40 * 40 + 40) * 8  # two layers, with gradients
    assert after < before / 3
    ends = 2 * 13 * 20 * 40 * 8  # output and gradInput of the 13 nodes where inputs come in
    assert after <= parameters + ends + 20 * 40 * 8


def test_expanded_clones_are_modules_of_torch7_again():
    net = nn.collapse_clones(unrolled(4, 3))
    inputs = [rl.ones([2, 3], dtype=rl.float64) for _ in range(5)]
    expected = net.forward(inputs).clone()
    net = nn.expand_clones(net)
    assert not net.find_modules("nn.CellUse")
    assert [len(group) for group in nn.find_clones(net)] == [4]
    assert difference(net.forward(inputs), expected) < TOLERANCE
    assert net.getParameters()[0].numel() == 2 * (9 + 3)


@pytest.mark.parametrize("options", [{}, {"format": "ascii"}, {"compact": True}])
def test_files_of_collapsed_networks_hold_clones(options, tmp_path):
    rl.manual_seed(2)
    inputs = [rl.randn([3, 6], dtype=rl.float64) for _ in range(5)]
    net = nn.collapse_clones(unrolled(4, 6))
    expected = net.forward(inputs)
    rl.save(net, tmp_path / "net.t7", **options)
    loaded = rl.load(tmp_path / "net.t7")
    assert not loaded.find_modules("nn.CellUse")
    (clones,) = nn.find_clones(loaded)
    assert len(clones) == 4
    assert len({id(module) for module in loaded.listModules()}) == len(loaded.listModules())
    assert len(loaded.find_modules("nn.Linear")) == 4 * len(cell(6).find_modules("nn.Linear"))
    assert rl.allclose(loaded.forward(inputs), expected, atol=1e-12)
    assert isinstance(net.find_modules("nn.CellUse")[0], nn.CellUse)  # as it was


def test_modules_that_only_look_alike_are_no_clones():
    a = nn.Linear(3, 3)
    assert not nn.find_clones([a, a.clone()])  # own parameters
    assert not nn.find_clones([a, a.clone("weight", "bias")])  # own gradients
    assert not nn.find_clones([a, a])  # one module
    tied = nn.Sequential().add(a).add(nn.Tanh())
    other = nn.Sequential().add(a.clone(*SHARED)).add(nn.Sigmoid())
    assert [len(g) for g in nn.find_clones([tied, other])] == [2]  # the Linear alone
    norms = nn.BatchNormalization(3)
    assert not nn.find_clones([norms, norms.clone(*SHARED)])  # own running averages


def test_clones_of_classes_with_methods_of_their_own():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = rl.full((1,), 2.0, dtype=rl.float64)
            self.gradWeight = rl.zeros(1, dtype=rl.float64)

        def updateOutput(self, input):
            self.kept = input.clone()
            self.output = input * self.weight.detach()
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = gradOutput * self.weight.detach()
            return self.gradInput

        def accGradParameters(self, input, gradOutput, scale=1):
            self.gradWeight.add_((self.kept * gradOutput).sum().reshape(1), alpha=scale)

    first = Scale()
    net = nn.Sequential().add(first).add(first.clone(*SHARED)).add(first.clone(*SHARED))
    nn.collapse_clones(net)
    x = rl.tensor([3.0], dtype=rl.float64)
    assert net.forward(x).tolist() == [24.0]
    assert net.backward(x, rl.ones(1, dtype=rl.float64)).tolist() == [8.0]
    assert first.gradWeight.tolist() == [36.0]  # d/dw 3 w^3
