"""Graphs that are built in Python: what they compute, how they print, what is refused."""

import re

import pytest
from golden_cases import difference, load_cases

import relume as rl
from relume import legacy_nn as nn


def doubles(*values):
    return rl.tensor(list(values), dtype=rl.float64)


# ---- golden graphs, built anew by their Lua code written as Python ----


def mlp():
    x = nn.Identity()()
    h = nn.Tanh()(nn.Linear(3, 4)(x))
    return nn.gModule([x], [nn.LogSoftMax()(nn.Linear(4, 3)(h))])


def input_is_linear():
    h1 = nn.Linear(3, 4)()
    return nn.gModule([h1], [nn.Linear(4, 2)(nn.Tanh()(h1))])


def minus_operators():
    h = -nn.Linear(3, 4)
    y = h - nn.Tanh() - nn.Linear(4, 2)
    z = h - nn.Sigmoid() - nn.Linear(4, 2)
    return nn.gModule([h], [nn.CMulTable()([y, z])])


def split_of_a_table():
    x = nn.Identity()()
    parts = nn.SplitTable(2)(nn.Reshape(2, 4)(nn.Linear(3, 8)(x)))
    a, b = parts.split(2)
    return nn.gModule([x], [nn.CAddTable()([nn.Tanh()(a), nn.Sigmoid()(b)])])


def nested_table_input():
    inp = nn.Identity()()
    x, state = inp.split(2)
    h, c = state.split(2)
    y = nn.CAddTable()([nn.Linear(3, 4)(x), nn.Linear(4, 4)(h)])
    return nn.gModule([inp], [y, nn.CMulTable()([nn.Sigmoid()(y), c])])


def nested_graph():
    def block(n, m):
        a = nn.Identity()()
        return nn.gModule([a], [nn.Tanh()(nn.Linear(n, m)(a))])

    x = nn.Identity()()
    h = block(3, 4)(x)
    return nn.gModule([x], [nn.CAddTable()([h, block(4, 4)(h)])])


BUILT = {0: mlp, 2: input_is_linear, 3: minus_operators, 6: split_of_a_table, 7: nested_table_input}
BUILT[9] = nested_graph


@pytest.mark.parametrize("index", list(BUILT))
def test_built_graphs_give_what_torch7_gives(index):
    case = load_cases("nngraph", "gModule")[index]
    rl.manual_seed(int(case.ctor_seed))
    net = BUILT[index]()
    assert difference(net.parameters()[0], case.params) == 0
    assert difference(net.forward(case.input), case.output) < 1e-10
    net.zeroGradParameters()
    assert difference(net.backward(case.input, case.gradOutput), case.gradInput) < 1e-10
    assert difference(net.parameters()[1], case.gradParams) < 1e-10


@pytest.mark.parametrize("index", list(BUILT))
def test_built_graphs_are_laid_out_as_nngraph_lays_them_out(index):
    theirs, mine = load_cases("nngraph", "gModule")[index].module, BUILT[index]()
    assert set(vars(theirs)) <= set(vars(mine)) | {"train"}
    for graph in ("fg", "bg"):
        assert shape_of(getattr(mine, graph)) == shape_of(getattr(theirs, graph))
    for nodes in ("forwardnodes", "backwardnodes"):
        assert len(getattr(mine, nodes)) == len(getattr(theirs, nodes))
    for net in (theirs, mine):
        first, last = net.forwardnodes.as_list()[0], net.forwardnodes.as_list()[-1]
        assert first is net.innode
        assert net.outnode.data is last.data and net.outnode is net.backwardnodes.as_list()[0]
        for node in net.forwardnodes:
            for place, child in enumerate(list(node.children), 1):
                assert node.children[child] == place
                assert node.data in child.data["mapindex"]
        for node in net.backwardnodes:
            for source in node.children:
                assert source.data["reverseMap"][node] is True
    own = vars(mine.innode).keys()
    assert own == vars(theirs.innode).keys()


def shape_of(graph):
    """A graph without the order of its nodes: how many children and what each node runs."""
    nodes = [(len(list(n.children)), str(n.data.get("module"))) for n in graph.nodes]
    edges = [(e.to.data.get("module") is None) for e in graph.edges]
    return sorted(nodes), sorted(edges)


# ---- what is computed ----


def test_two_parts_of_a_split_used_twice():
    x = nn.Identity()()
    a, b = nn.SplitTable(1)(x).split(2)
    net = nn.gModule([x], [nn.CAddTable()([a, b]), nn.CMulTable()([a, b]), b])
    given = rl.tensor([[5.0, 6.0], [1.0, 2.0]], dtype=rl.float64)
    total, product, second = net.forward(given)
    assert (total.tolist(), product.tolist(), second.tolist()) == ([6, 8], [5, 12], [1, 2])
    ones = [rl.ones(2, dtype=rl.float64)] * 3
    assert net.backward(given, ones).tolist() == [[2.0, 3.0], [7.0, 8.0]]


def test_outputs_go_in_again_as_inputs():
    x, h = nn.Identity()(), nn.Identity()()
    net = nn.gModule([x, h], [nn.CAddTable()([x, h]), nn.CMulTable()([x, h])]).evaluate()
    state = doubles(2.0)
    first = net.forward([doubles(1.0), state])
    second = net.forward([first[1], first[2]])
    assert [first[1].item(), first[2].item()] == [3.0, 2.0]
    assert [second[1].item(), second[2].item()] == [5.0, 6.0]


def test_nodes_that_nothing_needs_are_left_out():
    x = nn.Identity()()
    nn.Linear(5, 5)(x)  # made and not used
    net = nn.gModule([x], [nn.Square()(x)])
    assert [m.torch_typename for m in net.modules] == ["nn.Identity", "nn.Square"]
    assert net.forward(doubles(3.0)).item() == 9
    assert len(list(net.innode.children)) == 1


def test_operators_between_nodes():
    a, b = nn.Identity()(), nn.Identity()()
    net = nn.gModule([a, b], [a + b, a - b, a * b, a / b, -a, [a, b] - nn.JoinTable(1)])
    outputs = net.forward([doubles(6.0), doubles(2.0)])
    assert [output.tolist() for output in outputs] == [[8], [4], [12], [3], [-6], [6, 2]]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_criterion_can_be_a_node(at_once):
    case = next(c for c in load_cases("nngraph", "gModule") if c.name == "criterion as a node")
    x, t = nn.Identity()(), nn.Identity()()
    layer = nn.Linear(3, 4)
    y, criterion = layer(x), nn.MSECriterion()
    net = nn.gModule([x, t], [criterion([y, t]) if at_once else criterion(y, t)])
    for own, value in zip(layer.parameters()[0], case.params, strict=True):
        own.copy_(value)
    assert difference(net.forward(case.input), case.output) < 1e-12
    assert difference(net.backward(case.input, case.gradOutput), case.gradInput) < 1e-12


def test_graph_parameters_casts_and_clones():
    net = minus_operators()
    flat, _ = net.getParameters()
    assert flat.numel() == 3 * 4 + 4 + 2 * (4 * 2 + 2)
    clone = net.clone("weight", "bias", "gradWeight", "gradBias")
    flat.fill_(0.5)
    x = doubles(1.0, 2.0, 3.0)
    assert clone.forward(x).tolist() == net.forward(x).tolist()
    single = net.clone().float()
    assert single.forward(x.to(rl.float32)).dtype == rl.float32
    assert {p.dtype for p in single.parameters()[0]} == {rl.float32}


# ---- text ----


def test_nodes_print_what_they_run_and_their_name():
    x = nn.Identity()()
    h = nn.Linear(3, 2)(x).annotate(name="hidden", graphAttributes={"color": "red"})
    a, _ = h.split(2)
    assert str(h) == "nngraph.Node(nn.Linear(3 -> 2), hidden)"
    assert str(a) == "nngraph.Node(element 1)"
    text = nn.gModule([x], [h]).to_dot("my net")
    assert text.startswith('digraph "my net" {')
    assert '[label="nn.Linear(3 -> 2), hidden", color="red"]' in text
    assert len(re.findall("->", text.split(";\n  n1 ->")[1])) >= 2


# ---- errors ----


def test_errors_name_the_node():
    x = nn.Identity()()
    h = nn.Linear(3, 4)(x).annotate(name="encoder")
    net = nn.Sequential().add(nn.gModule([x], [nn.Linear(5, 2)(h).annotate(name="decoder")]))
    for run in (net.forward, net):
        with pytest.raises(ValueError, match="expected a vector of size 5") as caught:
            run(rl.ones(2, 3, dtype=rl.float64))
        message = str(caught.value)
        assert "2x4" in message
        place = 'root.modules[1].modules[3] (nn.Linear) nn.Linear(5 -> 2) named "decoder"'
        assert place in message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a, b: nn.gModule([nn.Identity()()], [nn.Identity()()]), "no output needs input 1"),
        (lambda a, b: nn.gModule([a], [nn.CAddTable()([a, b])]), "none of the inputs"),
        (lambda a, b: nn.gModule([a, b], [nn.Tanh()(a)]), "no output needs input 2, nn.Identity"),
        (lambda a, b: nn.gModule([nn.Tanh()(a)], [nn.Tanh()(a)]), "gets its input from elsewhere"),
        (lambda a, b: nn.CAddTable()([a, a]), "twice"),
        (lambda a, b: nn.gModule([], [a]), "no input node"),
        (lambda a, b: nn.gModule([a], [nn.Tanh()]), "output 1 should be a node"),
        (lambda a, b: nn.CAddTable()([a, 1]), "input 2 should be a node"),
    ],
)
def test_graphs_that_cannot_be(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build(nn.Identity()(), nn.Identity()())


def test_wrong_numbers_of_inputs_say_how_many():
    a, b = nn.Identity()(), nn.Identity()()
    net = nn.gModule([a, b], [nn.CAddTable()([a, b])])
    for wrong in (doubles(1.0), [doubles(1.0)]):
        with pytest.raises(ValueError, match="2"):
            net.forward(wrong)
