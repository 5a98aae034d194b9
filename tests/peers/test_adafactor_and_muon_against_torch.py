"""Adafactor and Muon walk as PyTorch's do."""

import numpy as np
import pytest

import relume as rl
from relume import optim

torch = pytest.importorskip("torch")

# name, settings, shapes of the parameters, how far apart (PyTorch's Muon computes in 16 bits)
RUNS = [
    ("Adafactor", {}, [(4, 3), (5,), (2, 3, 4)], 1e-6),
    ("Adafactor", {"weight_decay": 0.1, "maximize": True, "d": 2.0}, [(4, 3), ()], 1e-6),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-8, 1e-2)}, [(4, 3)], 1e-6),
    ("Muon", {"lr": 0.01}, [(4, 3), (3, 6)], 2e-3),
    ("Muon", {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, [(4, 3)], 2e-3),
]


@pytest.mark.parametrize(("name", "settings", "shapes", "tolerance"), RUNS)
def test_steps(name, settings, shapes, tolerance):
    if not hasattr(torch.optim, name):
        pytest.skip("this PyTorch does not have it")
    random = np.random.default_rng(3)
    starts = [random.normal(size=shape).astype("f") for shape in shapes]
    ours = [rl.tensor(start, requires_grad=True) for start in starts]
    theirs = [torch.tensor(start, requires_grad=True) for start in starts]
    mine = getattr(optim, name)(ours, **settings)
    other = getattr(torch.optim, name)(theirs, **settings)
    for _ in range(5):
        for a, b in zip(ours, theirs, strict=True):
            gradient = random.normal(size=a.shape).astype("f")
            a.grad, b.grad = rl.tensor(gradient), torch.tensor(gradient)
        mine.step()
        other.step()
        mine.load_state_dict(mine.state_dict())
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=tolerance)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.Muon([rl.ones(3, requires_grad=True)]), "matrices"),
        (lambda: optim.Muon([rl.ones(1, 3).requires_grad_()], adjust_lr_fn="x"), "adjust_lr_fn"),
        (lambda: optim.Adafactor([rl.ones(3, requires_grad=True)], beta2_decay=0.5), "beta2_decay"),
        (lambda: optim.Adafactor([rl.ones(3, requires_grad=True)], d=0.5), "d must be"),
    ],
)
def test_settings_without_meaning_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
