"""Optimizers and schedules walk the same way as PyTorch's, step by step."""

import copy

import numpy as np
import pytest

import relume as rl
from relume import optim

torch = pytest.importorskip("torch")

OPTIMIZERS = [
    ("SGD", {"lr": 0.02}),
    ("SGD", {"lr": 0.02, "momentum": 0.9}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.3}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5, "alpha": 0.9}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.05, "etas": (0.4, 1.3), "step_sizes": (1e-3, 0.2)}),
    ("ASGD", {"lr": 0.01, "t0": 5}),
    ("ASGD", {"lr": 0.01, "weight_decay": 0.1, "alpha": 0.5}),
    ("LBFGS", {"lr": 0.5, "max_iter": 4}),
    ("LBFGS", {"max_iter": 5, "line_search_fn": "strong_wolfe"}),
    ("LBFGS", {"max_iter": 7, "line_search_fn": "strong_wolfe", "history_size": 2}),
]
SHAPES = [(3, 4), (5,), ()]


# PyTorch keeps a number of these in single precision, or the walk multiplies differences.
LOOSE = {"NAdam": 1e-6, "ASGD": 1e-6, "LBFGS": 1e-6}


def starts():
    random = np.random.default_rng(5)
    return [random.standard_normal(shape) * 2 for shape in SHAPES]


def loss_of(parameters):
    """Something with curvature that differs from element to element, and no minimum at once."""
    w, b, s = parameters
    return (
        (w * w * w * w).sum() / 4 + ((w.sum() - s) ** 2) + (b * b * 3 + b.cos()).sum() + s * s / 2
    )


class Run:
    """One library's parameters under one optimizer."""

    def __init__(self, lib, name, settings, dtype="float64"):
        make = rl.tensor if lib is rl else torch.tensor
        self.parameters = [make(a, dtype=getattr(lib, dtype)).requires_grad_() for a in starts()]
        module = optim if lib is rl else torch.optim
        self.optimizer = getattr(module, name)(self.parameters, **settings)

    def step(self):
        def closure():
            self.optimizer.zero_grad()
            loss = loss_of(self.parameters)
            loss.backward()
            return loss

        return self.optimizer.step(closure)

    def values(self):
        return [p.detach().numpy().copy() for p in self.parameters]


def assert_same(ours, theirs, tolerance):
    for mine, other in zip(ours.values(), theirs.values(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, settings", OPTIMIZERS)
def test_trajectory(name, settings):
    ours, theirs = Run(rl, name, settings), Run(torch, name, settings)
    for _ in range(4 if name == "LBFGS" else 12):
        tolerance = LOOSE.get(name, 1e-9)
        assert float(ours.step()) == pytest.approx(theirs.step().item(), rel=tolerance)
        assert_same(ours, theirs, tolerance)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_trajectory_in_single_precision(name):
    settings = {"lr": 0.02, "momentum": 0.9} if name in ("SGD", "RMSprop") else {"lr": 0.1}
    ours, theirs = (Run(lib, name, settings, "float32") for lib in (rl, torch))
    for _ in range(5):
        ours.step()
        theirs.step()
    assert_same(ours, theirs, 2e-4)


def shape_of(state):
    """The names of a state_dict, without its numbers."""
    states = {position: set(values) for position, values in state["state"].items()}
    return states, [set(group) for group in state["param_groups"]]


@pytest.mark.parametrize("name, settings", OPTIMIZERS)
def test_state_moves_between_the_libraries(name, settings):
    ours, theirs = Run(rl, name, settings), Run(torch, name, settings)
    for _ in range(3):
        ours.step()
        theirs.step()
    mine, other = ours.optimizer.state_dict(), theirs.optimizer.state_dict()
    if name != "LBFGS":
        assert shape_of(mine)[0] == shape_of(other)[0]
        for position, values in mine["state"].items():
            for key, value in values.items():
                if isinstance(value, rl.Tensor):
                    expected = other["state"][position][key].numpy()
                    tolerance = LOOSE.get(name, 1e-9)
                    np.testing.assert_allclose(value.numpy(), expected, tolerance, tolerance)
                else:
                    assert float(value) == pytest.approx(other["state"][position][key].item())
    assert set(mine["param_groups"][0]) <= set(other["param_groups"][0])
    # PyTorch's state, loaded, goes on where PyTorch goes on.
    loaded = Run(rl, name, settings)
    loaded.optimizer.load_state_dict(copy.deepcopy(other))
    for parameter, value in zip(loaded.parameters, ours.values(), strict=True):
        parameter.data = rl.tensor(value)
    for _ in range(3):
        loaded.step()
        theirs.step()
    assert_same(loaded, theirs, LOOSE.get(name, 1e-8))


def test_groups_with_settings_of_their_own():
    results = []
    for lib, module in ((rl, optim), (torch, torch.optim)):
        make = rl.tensor if lib is rl else torch.tensor
        a, b = (make([1.0, 2.0], dtype=lib.float64, requires_grad=True) for _ in range(2))
        groups = [{"params": [a]}, {"params": b, "lr": 0.5, "momentum": 0.9}]
        optimizer = module.SGD(groups, lr=0.1)
        c = make([3.0], dtype=lib.float64, requires_grad=True)
        optimizer.add_param_group({"params": [c], "weight_decay": 0.1})
        for _ in range(4):
            optimizer.zero_grad()
            ((a * a).sum() + (b * a).sum() + (c * c).sum()).backward()
            optimizer.step()
        results.append([p.detach().numpy() for p in (a, b, c)])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


SCHEDULERS = [
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1 / (1 + epoch), lambda epoch: 0.5]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.95}),
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 9], "gamma": 0.3}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 6}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("PolynomialLR", {"total_iters": 8, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.02}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 3}),
    (
        "CyclicLR",
        {
            "base_lr": [0.1, 0.2],
            "max_lr": 0.5,
            "step_size_up": 2,
            "step_size_down": 4,
            "mode": "triangular2",
        },
    ),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9},
    ),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 25}),
    ("OneCycleLR", {"max_lr": [0.5, 0.7], "epochs": 5, "steps_per_epoch": 5, "three_phase": True}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 22, "anneal_strategy": "linear"}),
]


def two_groups(lib, **settings):
    module = optim if lib is rl else torch.optim
    a, b = (lib.ones(2).requires_grad_() for _ in range(2))
    settings = settings or {"momentum": 0.9}
    return module.SGD([{"params": [a]}, {"params": [b], "lr": 0.3}], lr=0.6, **settings)


def rates(optimizer):
    return [(g["lr"], g.get("momentum", g.get("betas"))) for g in optimizer.param_groups]


def library_of(lib):
    return optim.lr_scheduler if lib is rl else torch.optim.lr_scheduler


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, settings", SCHEDULERS)
def test_schedule(name, settings):
    ours, theirs = two_groups(rl), two_groups(torch)
    mine = getattr(library_of(rl), name)(ours, **settings)
    other = getattr(library_of(torch), name)(theirs, **settings)
    for _ in range(20):
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(mine.get_last_lr(), other.get_last_lr(), rtol=1e-9, atol=1e-14)
        mine.step()
        other.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, settings", SCHEDULERS)
def test_schedule_goes_on_from_its_state(name, settings):
    straight = two_groups(rl)
    scheduler = getattr(library_of(rl), name)(straight, **settings)
    for _ in range(4):
        scheduler.step()
    again = two_groups(rl)
    resumed = getattr(library_of(rl), name)(again, **settings)
    resumed.load_state_dict(scheduler.state_dict())
    again.load_state_dict(straight.state_dict())
    for _ in range(8):
        scheduler.step()
        resumed.step()
        assert rates(straight) == rates(again)


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 1},
        {"patience": 0, "factor": 0.5, "cooldown": 2, "threshold": 0.2},
        {"patience": 1, "mode": "max", "threshold_mode": "abs", "min_lr": [0.1, 0.02]},
    ],
)
def test_reduce_on_plateau(settings):
    losses = [3, 2, 2, 2, 2, 1.9, 1.9, 2.5, 2.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    ours, theirs = two_groups(rl), two_groups(torch)
    mine = library_of(rl).ReduceLROnPlateau(ours, **settings)
    other = library_of(torch).ReduceLROnPlateau(theirs, **settings)
    for loss in losses:
        mine.step(loss)
        other.step(loss)
        np.testing.assert_allclose(rates(ours), rates(theirs), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_schedules_made_of_schedules():
    results = []
    for lib in (rl, torch):
        library = library_of(lib)
        optimizer = two_groups(lib)
        first = library.LinearLR(optimizer, 0.1, total_iters=4)
        second = library.CosineAnnealingLR(optimizer, T_max=6)
        third = library.ExponentialLR(optimizer, 0.7)
        sequence = library.SequentialLR(optimizer, [first, second, third], [3, 8])
        other = two_groups(lib)
        parts = [library.ConstantLR(other, 0.1, total_iters=3), library.ExponentialLR(other, 0.9)]
        chain = library.ChainedScheduler(parts)
        run = []
        for _ in range(14):
            run += rates(optimizer) + rates(other)
            sequence.step()
            chain.step()
        results.append(run)
    np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_cycle_of_adam_moves_its_first_beta():
    ours = optim.Adam([rl.ones(1).requires_grad_()], lr=0.1)
    theirs = torch.optim.Adam([torch.ones(1).requires_grad_()], lr=0.1)
    mine = library_of(rl).OneCycleLR(ours, max_lr=0.4, total_steps=12)
    other = library_of(torch).OneCycleLR(theirs, max_lr=0.4, total_steps=12)
    for _ in range(11):
        mine.step()
        other.step()
        np.testing.assert_allclose(
            ours.param_groups[0]["betas"], theirs.param_groups[0]["betas"], rtol=1e-12
        )


@pytest.mark.parametrize("maximize", [False, True])
def test_sparse_adam_changes_the_rows_that_have_a_gradient(maximize):
    random = np.random.default_rng(3)
    start = random.standard_normal((5, 3))
    ours, theirs = rl.tensor(start, requires_grad=True), torch.tensor(start, requires_grad=True)
    settings = {"lr": 0.1, "betas": (0.8, 0.9), "maximize": maximize}
    optimizers = optim.SparseAdam([ours], **settings), torch.optim.SparseAdam([theirs], **settings)
    for rows in ([0, 2], [2, 4], [2, 0]):
        gradient = np.zeros((5, 3))
        gradient[rows] = random.standard_normal((2, 3))
        ours.grad = rl.tensor(gradient)
        theirs.grad = torch.sparse_coo_tensor([rows], torch.tensor(gradient[rows]), (5, 3))
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)
    np.testing.assert_array_equal(ours.detach()[[1, 3]].numpy(), start[[1, 3]])


def test_lbfgs_leaves_a_tensor_of_a_rate_as_it_is():
    rates, ends = [], []
    for lib in (rl, torch):
        rate = lib.tensor(0.5, dtype=lib.float64)
        run = Run(lib, "LBFGS", {"lr": rate, "max_iter": 3})
        for _ in range(3):
            run.step()
        rates.append(rate.item())
        ends.append([p.detach().numpy() for p in run.parameters])
    assert rates == [0.5, 0.5]
    for mine, theirs in zip(*ends, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
