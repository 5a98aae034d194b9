"""Memory shared with PyTorch, and the tape's numbers against its autograd."""

import gc

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64"]
TYPES += ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", TYPES)
def test_dlpack_both_ways(name):
    theirs = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(getattr(torch, name))
    ours = rl.from_dlpack(theirs.T)
    assert ours.dtype.name == name and ours.tolist() == theirs.T.tolist()
    assert ours.data_ptr() == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    back[0, 0] = 0
    assert theirs[0, 0].item() == 0
    assert torch.from_dlpack(ours[1:]).tolist() == ours[1:].tolist()


def test_either_side_may_die_first():
    theirs = torch.arange(1000.0)
    ours = rl.from_dlpack(theirs)
    del theirs
    gc.collect()
    assert ours[999].item() == 999
    theirs = torch.from_dlpack(ours * 1)
    gc.collect()
    assert theirs[999].item() == 999


def test_tensor_of_a_torch_tensor():
    assert rl.tensor(torch.ones(2, 3)).tolist() == [[1.0] * 3] * 2
    assert torch.tensor(rl.ones(2, 3).numpy()).tolist() == [[1.0] * 3] * 2
    assert torch.asarray(rl.ones(3)).tolist() == [1.0] * 3


def network(lib, x, w, v, b):
    h = (x @ w + b).tanh()
    h = lib.cat([h, h * 0.5], 1)[:, 1:-1]
    gate = (h @ v).sigmoid()
    return ((gate * h.sum(1, keepdim=True)) ** 2).mean() + gate.exp().log().std()


def test_a_small_network_and_its_double_backward():
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(s) for s in [(5, 3), (3, 4), (6, 2), (4,)]]
    results = []
    for lib in (rl, torch):
        leaves = [lib.tensor(a, requires_grad=True) for a in arrays]
        loss = network(lib, *leaves)
        grad = rl.grad if lib is rl else torch.autograd.grad
        first = grad(loss, leaves, create_graph=True)
        penalty = sum((g * g).sum() for g in first)
        second = grad(penalty, leaves)
        results.append([loss, *first, *second])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)


@pytest.mark.parametrize(
    "statements",
    [
        "h = x * 2; h[0] = 1; y = h",
        "h = x * 2; h[1:] *= x[:2]; y = h * h",
        "h = x * 2; v = h[:2]; h.mul_(3); y = v * v",
        "h = x * 2; v = h.reshape(3, 1).expand(3, 2); y = v * v",
        "h = x * 2; v = h[::2]; v.add_(x[0]); y = h * h",
        "h = x + 1; h += x; y = h",
        "h = x * 2; h.sin_(); h *= x; h.pow_(3); y = h",
        "h = zeros(3); h.copy_(x); h.mul_(x); y = h",
        "y = x.max() * x.min() + x.clamp(-0.2, 0.4).sum()",
        "y = x.sort(0, descending=True)[0][0] * x[[0, 0, 2]]",
    ],
)
def test_in_place_and_indexing_programs(statements):
    gradients = []
    for lib in (rl, torch):
        names = {"x": lib.tensor([0.3, -0.7, 1.1], dtype=lib.float64, requires_grad=True)}
        names["zeros"] = lambda n, lib=lib: lib.zeros(n, dtype=lib.float64)
        exec(statements, names)
        names["y"].sum().backward()
        gradients.append(names["x"].grad.tolist())
    np.testing.assert_allclose(*gradients, rtol=1e-12)
