"""Modules that stand thousands deep in one another."""

import sys

import pytest

import relume as rl
from relume import legacy_nn as nn

DEPTH = 2500


def in_sequential(module):
    return nn.Sequential().add(module)


def in_decorator(module):
    return nn.Decorator(module)


def in_branches(module):
    return nn.Sequential().add(nn.ConcatTable().add(module)).add(nn.SelectTable(1))


@pytest.fixture(autouse=True)
def little_room():
    """The limit that Python starts with, whatever tests before needed."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(params=[in_sequential, in_decorator, in_branches])
def net(request):
    rl.manual_seed(1)
    module = nn.Linear(2, 2)
    levels = DEPTH // 2 if request.param is in_branches else DEPTH
    for _ in range(levels):
        module = request.param(module)
    return module


def innermost(net):
    return net.find_modules("nn.Linear")[0]


X = rl.tensor([[1.0, -2.0]], dtype=rl.float64)
ONES = rl.ones(1, 2, dtype=rl.float64)


def test_forward_and_backward(net):
    linear = innermost(net).clone()
    assert net.forward(X).tolist() == linear.forward(X).tolist()
    net.zeroGradParameters()
    assert net.backward(X, ONES).tolist() == linear.backward(X, ONES).tolist()
    assert innermost(net).gradWeight.tolist() == [[1, -2], [1, -2]]


def test_the_modern_face(net):
    x = X.clone().requires_grad_()
    net(x).sum().backward()
    assert x.grad.tolist() == innermost(net).weight.detach().sum(0, keepdim=True).tolist()


@pytest.mark.parametrize(
    "method",
    ["parameters", "training", "evaluate", "reset", "clearState", "zeroGradParameters", "float"],
)
def test_methods_of_the_whole_tree(net, method):
    getattr(net, method)()


def test_what_was_built_can_be_seen(net):
    text = str(net)
    assert text.startswith(net.torch_typename)
    assert "{...}" in text
    assert len(text) < 200_000
    assert net.findModules("nn.Linear")[0] == [innermost(net)]
    assert nn.trace(net, X).output.tolist() == innermost(net).forward(X).tolist()


def test_copies_and_files(net):
    expected = net.forward(X).tolist()
    assert net.clone().forward(X).tolist() == expected
    assert rl.loads(rl.dumps(net)).forward(X).tolist() == expected
    assert innermost(net.clone("weight")).weight is innermost(net).weight
    assert net.getParameters()[0].shape == (6,)
    replaced = net.replace(lambda m: nn.Identity() if isinstance(m, nn.Linear) else m)
    assert replaced.forward(X).tolist() == X.tolist()


def test_clones(net):
    (group,) = nn.find_clones([net, net.clone("weight", "bias", "gradWeight", "gradBias")])
    assert len(group) == 2


def test_errors_show_the_ends_of_a_long_path(net):
    with pytest.raises(ValueError, match=r"expected a vector of size 2") as caught:
        net.forward(rl.ones(1, 5))
    message = str(caught.value)
    assert " more ... " in message
    assert message.endswith("(nn.Linear) nn.Linear(2 -> 2)")
    assert len(message) < 2000
