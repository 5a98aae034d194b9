"""Graphs of networks: what is recorded, and what is made of it."""

import pytest

import relume as rl
from relume import _C
from relume import legacy_nn as nn
from relume.converters.graph import Traces, UntraceableError, trace


def ops_of(graph):
    return [node.op for node in graph.nodes]


def shapes_of(values):
    return [tuple(map(str, value.shape)) for value in values]


def written(function):
    """A layer of a user that computes a function."""
    members = {"parameter_names": (), "compute": lambda self, input: function(input)}
    return type("Written", (nn.Module,), members)()


# ---- the listener ----


def heard(function):
    calls = []
    _C.start_tracing(lambda op, arguments, outputs, writes: calls.append((op, writes)))
    try:
        function()
    finally:
        _C.stop_tracing()
    return calls


def test_parts_of_composite_ops_are_heard_instead_of_them():
    x = rl.ones(2, 3)
    assert heard(lambda: rl.softsign(x)) == [("abs", False), ("add", False), ("div", False)]


def test_what_a_kernel_calls_is_not_heard():
    x, w, b = rl.ones(1, 2, 3, 3, 3), rl.ones(2, 2, 1, 1, 1), rl.ones(2)
    assert heard(lambda: rl.conv3d(x, w, b)) == [("conv3d", False)]


def test_writes_are_told_from_new_tensors():
    x = rl.ones(2)
    assert heard(lambda: x.add_(1)) == [("add", True)]
    assert heard(lambda: rl.add(x, 1, out=rl.ones(2)))[-1] == ("add", True)


def test_nothing_is_heard_after_an_error_and_the_end():
    calls = heard(lambda: None)
    rl.ones(2)
    assert calls == []
    with pytest.raises(RuntimeError, match="running already"):
        heard(lambda: _C.start_tracing(print))


# ---- graphs ----


def test_layers_parameters_and_free_sizes():
    net = nn.Sequential().add(nn.SpatialConvolution(3, 4, 3, 3)).add(nn.ReLU(True))
    graph = trace(net, rl.rand(2, 3, 8, 8, dtype=rl.float64))
    assert ops_of(graph) == ["conv2d", "relu"]
    assert [node.layer for node in graph.nodes] == ["modules.1", "modules.2"]
    assert [node.layer_class for node in graph.nodes] == ["nn.SpatialConvolution", "nn.ReLU"]
    assert [value.name for value in graph.constants()] == ["modules.1.weight", "modules.1.bias"]
    assert shapes_of(graph.inputs) == [("batch", "3", "height", "width")]
    assert shapes_of(graph.outputs) == [("batch", "4", "height-2", "width-2")]


def test_the_network_stays_as_it_is():
    net = nn.Sequential().add(nn.LookupTable(4, 2, 0, 0.1)).add(nn.Dropout())
    weight = net.get(1).weight.clone()
    trace(net, rl.tensor([[1, 2], [3, 4]]))
    assert (net.get(1).weight == weight).all()
    assert net.get(2).train and net.output.numel() == 0
    assert "updateOutput" not in vars(net)


def test_shared_weights_appear_once():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.share(first, "weight")
    net = nn.Sequential().add(first).add(second)
    weights = [v for v in trace(net, rl.rand(2, 3, dtype=rl.float64)).constants() if v.rank == 2]
    assert [value.name for value in weights] == ["modules.1.weight"]
    assert weights[0].names == ("modules.2.weight",)


def test_what_only_constants_make_is_computed():
    net = nn.Sequential().add(nn.SpatialConvolutionMM(2, 3, 2, 2))
    graph = trace(net, rl.rand(1, 2, 4, 4, dtype=rl.float64))
    assert ops_of(graph) == ["conv2d"]
    weight = graph.constants()[0]
    assert weight.name == "modules.1.weight" and weight.shape == (3, 2, 2, 2)


def test_products_of_free_sizes_are_found():
    graph = trace(written(lambda x: x.reshape(x.shape[0] * x.shape[1], 4)), rl.rand(2, 3, 4))
    assert shapes_of(graph.outputs) == [("batch*length", "4")]


def test_sizes_without_a_formula_have_none():
    net = nn.SpatialConvolution(1, 1, 3, 3, 2, 2).float()
    assert shapes_of(trace(net, rl.rand(1, 1, 9, 9)).outputs)[0][2:] == ("?", "?")


def test_the_two_branches_see_what_an_inplace_layer_wrote():
    """As in Torch7: the second branch takes what the first one has changed."""
    net = nn.ConcatTable().add(nn.ReLU(True)).add(nn.Identity())
    graph = trace(net, rl.rand(2, 3, dtype=rl.float64))
    assert ops_of(graph) == ["relu"]
    assert graph.outputs[0] is graph.outputs[1]


def fill_rows(x):
    rows = rl.zeros(x.shape[0], 3)
    for column in range(3):
        rows.select(1, column).copy_(x[:, 0] * column)
    return rows + 0


def write_through_views(x):
    y = x.clone()
    y.t().narrow(0, 1, 1).add_(5)
    return y * y.reshape(-1)[0]


@pytest.mark.parametrize("function", [fill_rows, write_through_views])
def test_writes_into_views_are_new_values(function):
    x = rl.rand(2, 3)
    graph = trace(written(function), x)
    assert rl.allclose(run_graph(graph, [x])[0], function(x))
    other = rl.rand(4, 3)
    assert shapes_of(graph.outputs)[0][0] == "batch"
    assert rl.allclose(run_graph(graph, [other])[0], function(other))


def run_graph(graph, inputs):
    """Runs the nodes one after the other."""
    values = {id(v): x for v, x in zip(graph.inputs, inputs, strict=True)}
    sizes = {a.name: inputs[a.places[0][0]].shape[a.places[0][1]] for a in graph.axes}

    def given(argument):
        if isinstance(argument, list):
            return [given(element) for element in argument]
        if type(argument).__name__ == "Value":
            return values[id(argument)] if argument.tensor is None else argument.tensor
        if type(argument).__name__ == "Size":
            product = argument.scale
            for axis in argument.axes:
                product *= sizes[axis.name]
            return product + argument.offset
        return argument

    for node in graph.nodes:
        result = _C.ops[node.op](**{name: given(a) for name, a in node.arguments.items()})
        results = result if isinstance(result, (tuple, list)) else [result]
        for output, tensor in zip(node.outputs, results, strict=True):
            values[id(output)] = tensor
    return [given(value) for value in graph.outputs]


def test_recurrent_networks_start_anew():
    net = nn.Sequencer(nn.FastLSTM(3, 2))
    net.evaluate()
    net.remember("both")
    x = [rl.rand(2, 3, dtype=rl.float64) for _ in range(2)]
    graph = trace(net, x)
    results = run_graph(graph, x)
    expected = net.clone().forward(x).as_list()
    for mine, other in zip(results, expected, strict=True):
        assert rl.allclose(mine, other)


# ---- what is no graph ----


def test_numbers_that_were_read_from_the_input_are_refused():
    net = nn.Sequential().add(written(lambda x: x * x.sum().item()))
    with pytest.raises(UntraceableError) as caught:
        trace(net, rl.rand(2, 3))
    assert caught.value.layer == "modules.1"


def test_tensors_that_no_op_computed_are_refused():
    net = written(lambda x: x + rl.tensor(x.numpy().cumsum(1)))
    with pytest.raises(UntraceableError, match="no op has computed"):
        trace(net, rl.rand(2, 3))


def test_branches_on_values_are_refused():
    net = written(lambda x: x.tanh() if x.sum().item() > 0.95 else x.exp())
    with pytest.raises(UntraceableError, match=r"tanh\(\) in one run and exp\(\)"):
        trace(net, rl.tensor([[0.5, 0.49]]))


def test_axes_can_be_fixed_afterwards():
    traces = Traces(nn.Tanh(), rl.rand(2, 3))
    assert shapes_of(traces.graph().inputs) == [("batch", "features")]
    assert shapes_of(traces.graph(without=["features"]).inputs) == [("batch", "3")]


def test_axes_of_sequences_are_named_by_the_layers_that_take_them():
    graph = trace(nn.SeqLSTM(3, 4).float(), rl.rand(5, 2, 3))
    assert shapes_of(graph.inputs) == [("length", "batch", "3")]
    batch_first = nn.SeqLSTM(3, 4).float()
    batch_first.batchfirst = True
    graph = trace(batch_first, rl.rand(2, 5, 3))
    assert shapes_of(graph.inputs) == [("batch", "length", "3")]


def write_into_expanded(x):
    rows = rl.zeros(1, 3)
    rows.diagonal().add_(x[0, 0])
    return rows + x


def test_errors_of_the_listener_reach_the_caller():
    with pytest.raises(UntraceableError, match=r"writes into a view made by diagonal\(\)"):
        trace(written(write_into_expanded), rl.rand(2, 3))
    assert heard(lambda: rl.ones(1).exp()) == [("ones", False), ("exp", False)]


def test_halves_of_a_size_have_no_formula_and_fix_it():
    net = written(lambda x: x.narrow(0, 0, x.shape[0] // 2))
    traces = Traces(net, rl.rand(6, 2))
    (length,) = (node.arguments["length"] for node in traces.graph().nodes)
    assert not length.is_known and int(length) == 3
