"""Optimizers: they find minima, keep to their groups, and say what they cannot take."""

import copy
import math
import pickle

import numpy as np
import pytest

import relume as rl
from relume import nn, optim

CONVERGING = [
    ("SGD", {"lr": 0.05}, 200),
    ("SGD", {"lr": 0.02, "momentum": 0.9}, 200),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}, 200),
    ("Adam", {"lr": 0.1}, 300),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.0}, 300),
    ("Adamax", {"lr": 0.1}, 300),
    ("SparseAdam", {"lr": 0.1}, 300),
    ("NAdam", {"lr": 0.1}, 300),
    ("RAdam", {"lr": 0.1}, 400),
    ("RMSprop", {"lr": 0.01}, 500),
    ("Adagrad", {"lr": 0.5}, 300),
    ("Adadelta", {"lr": 10.0}, 500),
    ("Rprop", {}, 100),
    ("ASGD", {"lr": 0.05}, 300),
    ("LBFGS", {}, 10),
    ("LBFGS", {"line_search_fn": "strong_wolfe"}, 5),
]


@pytest.mark.parametrize("name, settings, steps", CONVERGING)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_quadratic_bowl(name, settings, steps, dtype):
    dtype = getattr(rl, dtype)
    target, curvature = rl.tensor([1.0, -2.0, 0.5], dtype), rl.tensor([1.0, 4.0, 2.0], dtype)
    x = rl.zeros(3, dtype=dtype).requires_grad_()
    optimizer = getattr(optim, name)([x], **settings)

    def closure():
        optimizer.zero_grad()
        loss = (curvature * (x - target).square()).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), target.numpy(), atol=0.02)


def test_rosenbrock_by_lbfgs():
    x = rl.tensor([-1.2, 1.0], dtype=rl.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], max_iter=100, tolerance_change=0.0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-6)
    assert optimizer.state[x]["func_evals"] < 100


def test_line_search_finds_what_the_wolfe_conditions_ask():
    from relume.optim.line_search import Point, strong_wolfe

    for scale in (1e-3, 1.0, 1e3):

        def at(t, scale=scale):
            value = (t * scale - 1) ** 4 + t * scale
            slope = 4 * scale * (t * scale - 1) ** 3 + scale
            return Point(t, value, rl.zeros(1), slope)

        here = at(0.0)
        found, evaluations = strong_wolfe(at, here, 1.0, lambda low, high, moved: False)
        assert found.loss <= here.loss + 1e-4 * found.length * here.slope
        assert abs(found.slope) <= 0.9 * abs(here.slope) and evaluations <= 26


def test_first_steps_by_hand():
    def step(optimizer, gradient=3.0):
        (p,) = optimizer.param_groups[0]["params"]
        p.grad = rl.full_like(p, gradient)
        optimizer.step()
        return p.item()

    def p():
        return rl.tensor([2.0], dtype=rl.float64, requires_grad=True)

    assert step(optim.SGD([p()], lr=0.1)) == pytest.approx(2 - 0.3)
    assert step(optim.SGD([p()], lr=0.1, maximize=True)) == pytest.approx(2 + 0.3)
    assert step(optim.SGD([p()], lr=0.1, weight_decay=0.5)) == pytest.approx(2 - 0.1 * (3 + 1))
    assert step(optim.Adam([p()], lr=0.1)) == pytest.approx(1.9)
    assert step(optim.AdamW([p()], lr=0.1)) == pytest.approx(2 * (1 - 0.1 * 0.01) - 0.1)
    assert step(optim.RMSprop([p()], lr=0.1)) == pytest.approx(2 - 0.1 * 3 / math.sqrt(0.01 * 9))
    assert step(optim.Adagrad([p()], lr=0.1)) == pytest.approx(1.9)
    momentum = optim.SGD([p()], lr=0.1, momentum=0.9)
    step(momentum)
    assert step(momentum) == pytest.approx(2 - 0.1 * 3 - 0.1 * (0.9 * 3 + 3))


FUSED = [
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {"amsgrad": True, "lr": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {"lr": 0.1}),
]


@pytest.mark.parametrize("name, settings", FUSED)
def test_any_layout_and_type(name, settings):
    """Strided, short and long parameters, half precision: all as the plain one."""
    random = np.random.default_rng(0)
    values = random.standard_normal((70, 3))
    gradients = random.standard_normal((3, 70, 3))

    def run(parameter):
        optimizer = getattr(optim, name)([parameter], **settings)
        for gradient in gradients:
            parameter.grad = rl.tensor(gradient, dtype=parameter.dtype)
            optimizer.step()
        return parameter.detach().to(rl.float64).numpy()

    plain = run(rl.tensor(values).requires_grad_())
    memory = rl.zeros(3, 140, dtype=rl.float64)
    strided = memory[:, ::2].T
    strided.copy_(rl.tensor(values))
    np.testing.assert_allclose(run(strided.detach().requires_grad_()), plain, rtol=1e-12)
    np.testing.assert_allclose(memory[:, ::2].T.numpy(), plain, rtol=1e-12)
    single = run(rl.tensor(values, dtype=rl.float32).requires_grad_())
    np.testing.assert_allclose(single, plain, rtol=1e-3, atol=1e-4)
    half = run(rl.tensor(values, dtype=rl.float16).requires_grad_())
    np.testing.assert_allclose(half, plain, rtol=0.05, atol=0.05)


def test_a_step_is_noticed_by_the_tape():
    x = rl.tensor([2.0], requires_grad=True)
    y = x.exp().sum()
    z = (x * x).sum()
    optimizer = optim.SGD([x], lr=0.1)
    y.backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="changed in place"):
        z.backward()


def test_parameters_without_a_gradient_stay():
    a, b = (rl.ones(2, requires_grad=True) for _ in range(2))
    optimizer = optim.Adam([a, b], lr=0.1, weight_decay=0.5)
    for i in range(4):
        optimizer.zero_grad()
        (a.sum() if i < 2 else (a + b).sum()).backward()
        optimizer.step()
        if i == 1:
            assert b.tolist() == [1, 1] and b not in optimizer.state
    assert optimizer.state[a]["step"] == 4 and optimizer.state[b]["step"] == 2
    assert b[0].item() == pytest.approx(0.8, abs=1e-3)


def test_state_goes_on():
    def net():
        rl.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))

    def train(model, optimizer, steps):
        for i in range(steps):
            optimizer.zero_grad()
            (model(rl.full((4, 3), i / 7.0)) - 1).square().sum().backward()
            optimizer.step()

    straight, first = net(), net()
    whole = optim.AdamW(straight.parameters(), lr=0.05)
    train(straight, whole, 3)
    half = optim.AdamW(first.parameters(), lr=0.05)
    train(first, half, 3)
    second = net()
    second.load_state_dict(first.state_dict())
    resumed = optim.AdamW(second.parameters(), lr=1.0)
    resumed.load_state_dict(pickle.loads(pickle.dumps(half.state_dict())))
    train(straight, whole, 3)
    train(second, resumed, 3)
    for a, b in zip(straight.parameters(), second.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)
    both = copy.deepcopy((second, resumed))
    assert next(iter(both[1].state)) is next(both[0].parameters())


def test_hooks_and_printing():
    x = rl.ones(1, requires_grad=True)
    optimizer = optim.SGD([("x", x)], lr=0.5)
    assert optimizer.param_groups[0]["param_names"] == ["x"]
    log = []
    handle = optimizer.register_step_pre_hook(lambda *arguments: log.append("before"))
    optimizer.register_step_post_hook(lambda *arguments: log.append("after"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert log == ["before", "after", "after"]
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n")


@pytest.mark.parametrize(
    "act, error, message",
    [
        (lambda x: optim.SGD(x, lr=0.1), TypeError, "iterable"),
        (lambda x: optim.SGD([], lr=0.1), ValueError, "at least one"),
        (lambda x: optim.SGD([x, x], lr=0.1), ValueError, "twice"),
        (lambda x: optim.SGD([x * 2], lr=0.1), ValueError, "leaf"),
        (lambda x: optim.SGD([3], lr=0.1), TypeError, "int"),
        (lambda x: optim.SGD({x}, lr=0.1), TypeError, "order"),
        (lambda x: optim.SGD([x], lr=-1), ValueError, "lr"),
        (lambda x: optim.SGD([x], nesterov=True), ValueError, "momentum"),
        (lambda x: optim.Adam([x], betas=(1.0, 0.9)), ValueError, "betas"),
        (lambda x: optim.LBFGS([x]).step(), ValueError, "closure"),
        (lambda x: optim.LBFGS([x], line_search_fn="golden"), ValueError, "strong_wolfe"),
        (
            lambda x: optim.SGD([x]).load_state_dict({"state": {}, "param_groups": []}),
            ValueError,
            "groups",
        ),
    ],
)
def test_mistakes_are_explained(act, error, message):
    with pytest.raises(error, match=message):
        act(rl.ones(1, requires_grad=True))


def test_minimum_is_reached_through_a_schedule():
    x = rl.tensor([5.0], requires_grad=True)
    optimizer = optim.SGD([x], lr=0.4)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
    rates = []
    for _ in range(30):
        optimizer.zero_grad()
        x.square().sum().backward()
        optimizer.step()
        scheduler.step()
        rates += scheduler.get_last_lr()
    expected = [0.2 * (1 + math.cos(math.pi * t / 30)) for t in range(1, 31)]
    np.testing.assert_allclose(rates, expected, atol=1e-12)
    assert abs(x.item()) < 1e-3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([rl.ones(2)], []), "1 parameters, but 0 gradients"),
        (([rl.ones(2)], [rl.ones(3)]), "shape"),
        (([rl.ones(2)], [rl.ones(2, dtype=rl.float64)]), "float64"),
        (([rl.tensor([1])], [rl.tensor([1])]), "floating"),
    ],
)
def test_the_fused_step_checks_what_it_gets(arguments, message):
    parameters, gradients = arguments
    numbers = (0.1, 0.9, 0.99, 1e-8, 0.0, 0.1, 0.01, False, False)
    with pytest.raises((ValueError, TypeError), match=message):
        rl._C.ops["adam_step"](parameters, gradients, parameters, parameters, [], *numbers)
    with pytest.raises(ValueError, match="averages"):
        rl._C.ops["adam_step"]([rl.ones(1)], [rl.ones(1)], [], [], [], *numbers)


def test_groups_are_checked_and_filled_by_their_optimizer():
    matrix, vector = rl.ones(2, 2, requires_grad=True), rl.ones(2, requires_grad=True)
    with_groups = optim.Adafactor([{"params": [matrix], "eps": (None, 1e-2)}])
    with_groups.add_param_group({"params": [vector]})
    assert [group["eps"] for group in with_groups.param_groups] == [(None, 1e-2), (None, 1e-3)]
    with pytest.raises(ValueError, match="eps must not be negative"):
        optim.Adafactor([matrix], eps=(None, -1.0))
    muon = optim.Muon([matrix])
    with pytest.raises(ValueError, match="Muon is for matrices"):
        muon.add_param_group({"params": [vector]})
    assert len(muon.param_groups) == 1
    muon.step()
