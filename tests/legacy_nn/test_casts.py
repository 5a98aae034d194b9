"""Types of whole networks: ties survive casts, tables of modules are cast, all types compute."""

import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn

SHARED = ("weight", "bias", "gradWeight", "gradBias")
TYPES = {"torch.FloatTensor": rl.float32, "torch.HalfTensor": rl.float16}


def tied():
    layer = nn.Linear(3, 3)
    return nn.Sequential().add(layer).add(nn.Tanh()).add(layer.clone(*SHARED))


@pytest.mark.parametrize("typename", list(TYPES))
def test_networks_compute_in_every_type(typename):
    rl.manual_seed(1)
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))
    net.add(nn.LogSoftMax())
    x = rl.tensor([[1.0, -2.0, 0.5]], dtype=rl.float64)
    expected = net.forward(x)
    gradient = net.backward(x, expected)
    dtype = TYPES[typename]
    net.type(typename)
    net.zeroGradParameters()
    y = net.forward(x.to(dtype))
    g = net.backward(x.to(dtype), y)
    assert net.type() == typename
    assert {t.dtype for t in [y, g, *net.parameters()[0], *net.parameters()[1]]} == {dtype}
    assert difference(y.to(rl.float64), expected) < 5e-3
    assert difference(g.to(rl.float64), gradient) < 5e-3


def test_short_names_of_types():
    layer = nn.Linear(2, 2)
    assert layer.float().type() == "torch.FloatTensor"
    assert layer.half().type() == "torch.HalfTensor"
    assert layer.double().type() == "torch.DoubleTensor"
    assert layer.type("torch.CudaTensor").weight.dtype == rl.float32
    with pytest.raises(ValueError, match=r"torch\.FloatTensor"):
        layer.type("torch.FlotTensor")


def test_a_flat_vector_stays_the_memory_of_the_parameters():
    net = tied()
    flat, flat_gradient = net.getParameters()
    assert flat.numel() == flat_gradient.numel() == 12
    net.float()
    again, _ = net.getParameters()
    again.fill_(2)
    assert {value for p in net.parameters()[0] for value in p.flatten().tolist()} == {2.0}


def test_a_cache_keeps_ties_between_modules_that_are_cast_one_by_one():
    net = tied()
    first, last = net.get(1), net.get(3)
    cache = {}
    first.type("torch.FloatTensor", cache)
    last.type("torch.FloatTensor", cache)
    first.weight.fill_(4)
    assert last.weight.tolist() == [[4.0] * 3] * 3
    assert last.weight.dtype == rl.float32


def test_tables_of_modules_and_tensors_are_cast_with_their_ties():
    layer = nn.Linear(2, 2)
    view = layer.weight.detach()[0]
    protos = rl.Table({"rnn": layer, "rest": rl.Table([layer.clone(*SHARED), view])})
    assert nn.utils.recursiveType(protos, "torch.FloatTensor") is protos
    protos.rnn.weight.fill_(3)
    assert protos.rest[1].weight.tolist() == [[3.0, 3.0]] * 2
    assert protos.rest[2].tolist() == [3.0, 3.0]
    assert nn.utils.recursiveType(rl.ones(2), "torch.DoubleTensor").dtype == rl.float64


def test_structures_are_filled_added_and_copied():
    utils = nn.utils
    a, b = rl.ones(2), rl.zeros(3)
    nested = [a, [b]]
    utils.recursiveFill(nested, 2)
    utils.recursiveAdd(nested, 0.5, [rl.ones(2), [rl.ones(3)]])
    utils.recursiveAdd(nested, [rl.ones(2), [rl.ones(3)]])
    assert a.tolist() == [3.5, 3.5] and b.tolist() == [3.5] * 3
    copy, _ = utils.recursiveCopy([rl.zeros(1)], nested)
    assert copy[1].tolist() == [3.5, 3.5] and copy[2][1].tolist() == [3.5] * 3
    resized, _ = utils.recursiveResizeAs(None, nested)
    assert [resized[1].shape, resized[2][1].shape] == [(2,), (3,)]
    assert utils.addSingletonDimension(a).shape == (1, 2)
    with pytest.raises(IndexError, match=r"1\.\.2"):
        utils.addSingletonDimension(a, 3)
    with pytest.raises(TypeError, match="table of tensors"):
        utils.recursiveResizeAs(a, "text")


def test_get_parameters_of_one_of_two_clones():
    a = nn.Linear(3, 2)
    b = a.clone("weight")
    flat, _ = b.getParameters()
    flat.fill_(5)
    assert a.weight.tolist() == b.weight.tolist() == [[5.0] * 3] * 2
    assert b.bias.tolist() == [5.0] * 2 and a.bias.tolist() != [5.0] * 2
    whole, _ = nn.Sequential().add(a).add(nn.Linear(2, 3)).getParameters()
    whole.fill_(7)
    assert b.weight.tolist() == [[7.0] * 3] * 2


def test_get_parameters_of_weights_that_overlap():
    big, small = nn.Linear(4, 4), nn.Linear(4, 2)
    for name in ("weight", "gradWeight"):
        setattr(small, name, getattr(big, name).narrow(0, 1, 2))
    flat, flat_gradient = nn.ConcatTable().add(big).add(small).getParameters()
    assert flat.numel() == flat_gradient.numel() == 16 + 4 + 2
    flat.fill_(2)
    assert small.weight.tolist() == [[2.0] * 4] * 2
    big.gradWeight.zero_()
    small.gradWeight.fill_(1)
    assert big.gradWeight.sum().item() == 8


def test_flat_gradients_line_up_with_flat_weights():
    rl.manual_seed(2)
    net = tied().add(nn.Linear(3, 2))
    flat, flat_gradient = net.getParameters()
    x = rl.randn([5, 3], dtype=rl.float64)
    g = rl.randn([5, 2], dtype=rl.float64)
    flat_gradient.zero_()
    net.forward(x)
    net.backward(x, g)
    step = 1e-6
    for place in range(0, flat.numel(), 5):
        values = []
        for sign in (1, -1):
            flat[place] += sign * step
            values.append((net.forward(x) * g).sum().item())
            flat[place] -= sign * step
        slope = (values[0] - values[1]) / (2 * step)
        assert flat_gradient[place].item() == pytest.approx(slope, rel=1e-5, abs=1e-7)
