"""Layers that learn the size of their input from the first one."""

import pytest

import relume as rl
from relume import nn, optim

# layer and an input of 6 channels
LAYERS = {
    "LazyLinear": (lambda: nn.LazyLinear(4), (2, 6)),
    "LazyConv1d": (lambda: nn.LazyConv1d(4, 3, groups=2), (2, 6, 5)),
    "LazyConv2d": (lambda: nn.LazyConv2d(4, 3, padding=1), (2, 6, 5, 5)),
    "LazyConv3d": (lambda: nn.LazyConv3d(4, 2, bias=False), (6, 3, 3, 3)),
    "LazyConvTranspose1d": (lambda: nn.LazyConvTranspose1d(4, 3), (2, 6, 5)),
    "LazyConvTranspose2d": (lambda: nn.LazyConvTranspose2d(4, 3, groups=2), (2, 6, 5, 5)),
    "LazyConvTranspose3d": (lambda: nn.LazyConvTranspose3d(4, 2), (2, 6, 3, 3, 3)),
    "LazyBatchNorm1d": (lambda: nn.LazyBatchNorm1d(), (3, 6)),
    "LazyBatchNorm2d": (lambda: nn.LazyBatchNorm2d(affine=False), (3, 6, 2, 2)),
    "LazyBatchNorm3d": (lambda: nn.LazyBatchNorm3d(), (3, 6, 2, 2, 2)),
    "LazyInstanceNorm1d": (lambda: nn.LazyInstanceNorm1d(affine=True), (6, 5)),
    "LazyInstanceNorm2d": (lambda: nn.LazyInstanceNorm2d(affine=True), (3, 6, 4, 4)),
    "LazyInstanceNorm3d": (
        lambda: nn.LazyInstanceNorm3d(track_running_stats=True),
        (3, 6, 2, 2, 2),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_first_input_makes_the_ordinary_layer(name):
    make, shape = LAYERS[name]
    layer, known = make(), list(make().parameters())
    parameters = list(layer.parameters())
    assert layer.has_uninitialized_params() and len(known) == len(parameters)
    x = rl.randn(shape)
    output = layer(x)
    assert type(layer) is getattr(nn, name.removeprefix("Lazy"))
    assert getattr(layer, make().size_name) == 6
    assert all(a is b for a, b in zip(parameters, layer.parameters(), strict=True))
    assert all(type(p) is nn.Parameter and p.numel() > 0 for p in parameters)
    # A fresh lazy layer takes the values of the ordinary one.
    other = make()
    other.load_state_dict(layer.state_dict())
    assert type(other) is type(layer)
    if not name.startswith("LazyBatch"):
        assert rl.equal(other(x), output)


def test_optimizers_made_before_the_first_input_train_the_layer():
    rl.manual_seed(1)
    net = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(1))
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    x = rl.randn(32, 3)
    losses = []
    for _ in range(40):
        loss = (net(x).squeeze(1) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_inputs_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="dimensions"):
        nn.LazyConv2d(4, 3)(rl.ones(2, 3))
    with pytest.raises(ValueError, match="groups"):
        nn.LazyConv1d(4, 3, groups=2)(rl.ones(2, 3, 5))
