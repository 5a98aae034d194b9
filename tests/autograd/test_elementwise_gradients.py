"""First and second derivatives of the element-wise ops and reductions, by differences."""

import math
from functools import partial

import numpy as np
import pytest

import relume as rl
from relume.autograd import gradcheck, gradgradcheck


def values(*shape, low=-2.0, high=2.0, seed=0):
    """Random numbers away from whole and half ones, where many functions have corners."""
    x = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    x = np.where(np.abs(2 * x - np.round(2 * x)) < 0.1, x + 0.11, x)
    return rl.tensor(np.clip(x, low + 1e-3, high - 1e-3), dtype="float64").requires_grad_()


positive = partial(values, low=0.3, high=3.0)

# op -> cases: (a function, its tensor arguments)
CASES = {
    name: [(getattr(rl, name), [values(2, 3)])]
    for name in (
        "neg abs sign square exp expm1 sin cos tan atan sinh cosh tanh sigmoid erf "
        "floor ceil round trunc frac relu"
    ).split()
}
CASES |= {
    name: [(getattr(rl, name), [positive(2, 3)])]
    for name in "reciprocal sqrt rsqrt log log1p log2 log10".split()
}
CASES |= {
    name: [(getattr(rl, name), [values(2, 3, low=-0.8, high=0.8)])] for name in ("asin", "acos")
}


def two(name, first=values, second=values):
    """A binary op with tensors of one shape, with broadcasting, and with numbers."""
    op = getattr(rl, name)
    return [
        (op, [first(2, 3), second(2, 3, seed=1)]),
        (op, [first(2, 1, 3), second(4, 1, seed=1)]),
        (op, [first(3), second(seed=1)]),
        (lambda x: op(x, 1.7), [first(2, 3)]),
        (lambda x: op(1.7, x), [second(2, 3)]),
    ]


CASES |= {
    "add": [*two("add"), (lambda x, y: rl.add(x, y, alpha=0.3), [values(2, 3), values(3)])],
    "sub": [*two("sub"), (lambda x, y: rl.sub(x, y, alpha=0.3), [values(2, 3), values(3)])],
    "mul": two("mul"),
    "div": two("div", second=positive),
    "remainder": two("remainder", second=positive),
    "fmod": two("fmod", second=positive),
    "atan2": two("atan2"),
    "maximum": two("maximum"),
    "minimum": two("minimum"),
    "pow": [
        *two("pow", first=positive),
        (lambda x: x**3, [values(2, 3)]),
        (lambda x: x**2, [values(2, 3)]),
        (lambda x: x**0, [values(2, 3)]),
        (lambda x: x**0.5, [positive(2, 3)]),
        (lambda x: x**-1, [positive(2, 3)]),
    ],
    "leaky_relu": [(lambda x: rl.leaky_relu(x, 0.2), [values(2, 3)])],
    "elu": [(lambda x: rl.elu(x, 0.7), [values(2, 3)])],
    "softplus": [(lambda x: rl.softplus(x, 1.5, 2.0), [values(3, 4)])],
    "hardtanh": [(lambda x: rl.hardtanh(x, -1.0, 0.5), [values(3, 4)])],
    "threshold": [(lambda x: rl.threshold(x, 0.5, 3.0), [values(3, 4)])],
    "clamp": [
        (lambda x: rl.clamp(x, -1.0, 0.5), [values(3, 4)]),
        (lambda x: rl.clamp(x, min=0.5), [values(3, 4)]),
        (lambda x: rl.clamp(x, max=0.5), [values(3, 4)]),
    ],
    "prelu": [
        (rl.prelu, [values(2, 3), values(3, seed=1)]),
        (rl.prelu, [values(2, 3, 2), values(3, seed=1)]),
        (rl.prelu, [values(2, 3), values(1, seed=1)]),
        (rl.prelu, [values(3), values(3, seed=1)]),
    ],
    "where": [
        (lambda x, y: rl.where(rl.tensor([[True], [False]]), x, y), [values(2, 3), values(3)]),
        (lambda x: rl.where(rl.tensor([True, False, True]), x, 2.0), [values(2, 3)]),
    ],
    "addcmul": [
        (lambda x, y, z: rl.addcmul(x, y, z, value=0.4), [values(2, 3), values(3), values(2, 1)])
    ],
    "addcdiv": [
        (lambda x, y, z: rl.addcdiv(x, y, z, value=0.4), [values(2, 3), values(3), positive(2, 1)])
    ],
    "lerp": [
        (rl.lerp, [values(2, 3), values(3), values(2, 1)]),
        (lambda x, y: rl.lerp(x, y, 0.3), [values(2, 3), values(3)]),
    ],
}

ALONG = [{}, {"dim": 1}, {"dim": [0, -1]}, {"dim": 0, "keepdim": True}, {"keepdim": True}]


def along(name, arguments=(), make=values, choices=ALONG):
    """A reduction of all elements and along several dimensions."""
    op = getattr(rl, name)
    cases = [(partial(op, **choice), [make(2, 3, 2)]) for choice in choices]
    return [*cases, (partial(op, **choices[1]), [make(3, 4)])]


ONE_DIM = [{"dim": 0}, {"dim": 1}, {"dim": -1, "keepdim": True}]
CASES |= {name: along(name) for name in ("sum", "mean", "prod", "amax", "amin", "var", "std")}
CASES |= {
    "max_with_indices": along("max_with_indices", choices=ONE_DIM),
    "min_with_indices": along("min_with_indices", choices=ONE_DIM),
    "cumsum": [(partial(rl.cumsum, dim=dim), [values(2, 3)]) for dim in (0, -1)],
    "logsumexp": along(
        "logsumexp", choices=[{"dim": [0, 1, 2]}, {"dim": 1}, {"dim": [0, -1], "keepdim": True}]
    ),
    "norm": [
        (partial(rl.norm, p=p, **choice), [values(2, 3, 2)])
        for p in (2, 1, 3, 1.5, math.inf)
        for choice in ({}, {"dim": 1}, {"dim": [0, -1], "keepdim": True})
    ],
    "sum_to": [(lambda x: rl.sum_to(x, [3, 1]), [values(2, 3, 2)])],
}
ALL = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{name}-{i}" for name, i in ALL])
def test_derivatives_match_differences(name, case):
    function, inputs = CASES[name][case]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_a_product_with_zeros_has_a_second_derivative():
    x = rl.tensor([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0]], dtype="float64", requires_grad=True)
    assert gradcheck(lambda x: rl.prod(x, 1), [x])
    assert gradgradcheck(lambda x: rl.prod(x, 1), [x])
