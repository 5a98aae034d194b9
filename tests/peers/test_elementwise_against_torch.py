"""Element-wise ops and reductions, with their gradients, against PyTorch."""

import math

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")

PLAIN = np.array([-2.5, -1.0, -0.3, 0.0, 0.3, 0.5, 1.0, 2.5])
POSITIVE = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 7.0])
TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0], [0.0, -1.0, 0.0]])
CLOSE = {"float32": {"rtol": 2e-6, "atol": 1e-6}, "float64": {"rtol": 1e-13, "atol": 1e-15}}

UNARY = (
    "neg abs sign square exp expm1 sin cos tan atan sinh cosh tanh sigmoid erf floor ceil round "
    "trunc frac relu"
).split()
CASES = [(name, PLAIN, {}) for name in UNARY]
CASES += [(name, POSITIVE, {}) for name in "reciprocal sqrt rsqrt log log1p log2 log10".split()]
CASES += [(name, PLAIN / 3, {}) for name in ("asin", "acos")]
CASES += [
    ("clamp", PLAIN, {"min": -1.0, "max": 0.5}),
    ("clamp", PLAIN, {"min": 0.3}),
    ("pow", POSITIVE, {"exponent": 2.5}),
    ("pow", PLAIN, {"exponent": 2}),
    ("pow", PLAIN, {"exponent": 0}),
    ("pow", PLAIN, {"exponent": 3}),
    ("fmod", PLAIN, {"other": 0.7}),
    ("remainder", PLAIN, {"other": 0.7}),
]
for dims in ({}, {"dim": 0}, {"dim": 1, "keepdim": True}):
    CASES += [(name, TIES, dims) for name in ("sum", "mean", "amax", "amin", "var", "std")]
    CASES += [("norm", TIES, {"p": p, **dims}) for p in (1, 2, 3, math.inf)]
CASES += [("prod", TIES, dims) for dims in ({}, {"dim": 0}, {"dim": 1, "keepdim": True})]
CASES += [("cumsum", TIES, {"dim": 1}), ("logsumexp", TIES, {"dim": 1})]

FUNCTIONAL = [
    ("leaky_relu", {"negative_slope": 0.2}),
    ("elu", {"alpha": 0.7}),
    ("softplus", {"beta": 2.0, "threshold": 3.0}),
    ("hardtanh", {"min_val": -1.0, "max_val": 0.5}),
    ("threshold", {"threshold": 0.3, "value": -4.0}),
]


def value_and_gradients(library, function, x, dtype):
    """The value, the first and the second derivative of its weighted sum."""
    make = rl.tensor if library is rl else torch.tensor
    input = make(x, dtype=getattr(library, dtype)).requires_grad_()
    value = function(input)
    weights = make(
        np.linspace(0.5, 1.5, value.numel()).reshape(tuple(value.shape)), dtype=value.dtype
    )
    grad = rl.grad if library is rl else torch.autograd.grad
    (first,) = grad((value * weights).sum(), [input], create_graph=True)
    results = [value, first]
    if first.requires_grad:
        (second,) = grad((first * first).sum(), [input], allow_unused=True)
        if second is not None:
            results.append(second)
    if library is torch:
        return [result.numpy(force=True) for result in results]
    return [result.detach().numpy() for result in results]


def compare(ours, theirs, x, dtype):
    expected = value_and_gradients(torch, theirs, x, dtype)
    got = value_and_gradients(rl, ours, x, dtype)
    for mine, other in zip(got, expected, strict=False):
        np.testing.assert_allclose(mine, other, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x", "arguments"), CASES)
def test_values_and_gradients(name, x, arguments, dtype):
    compare(
        lambda t: getattr(rl, name)(t, **arguments),
        lambda t: getattr(torch, name)(t, **arguments),
        x,
        dtype,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "arguments"), FUNCTIONAL)
def test_activations(name, arguments, dtype):
    compare(
        lambda t: getattr(rl, name)(t, **arguments),
        lambda t: getattr(torch.nn.functional, name)(t, **arguments),
        PLAIN + 0.01,  # off the corners, where second derivatives are a convention
        dtype,
    )


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "atan2", "pow"])
def test_gradients_of_broadcast_operands(name):
    x = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 3.0]])
    y = np.array([1.0, 0.5, 2.0])
    gradients = []
    for library, make in ((rl, rl.tensor), (torch, torch.tensor)):
        a = make(x, dtype=library.float64).requires_grad_()
        b = make(y, dtype=library.float64).requires_grad_()
        (getattr(library, name)(a, b) * make(x + 1, dtype=library.float64)).sum().backward()
        gradients.append([a.grad.numpy(), b.grad.numpy()])
    for mine, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-15)
