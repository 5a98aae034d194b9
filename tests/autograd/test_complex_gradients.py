"""Derivatives of complex functions, the real and the imaginary part taken as two numbers."""

import numpy as np
import pytest
from sample_values import complex_values, integers, positive, signed, truth

import relume as rl
from relume.autograd import gradcheck, gradgradcheck


def _checked(function, *inputs):
    gradcheck(function, inputs)
    gradgradcheck(function, inputs)


MASK = truth(2, 3)
UNARY = """neg abs sign square reciprocal sqrt rsqrt exp expm1 log log1p log2 log10 sin cos tan asin
acos atan sinh cosh tanh asinh acosh atanh sigmoid conj angle""".split()


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    _checked(getattr(rl, name), complex_values(4))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
@pytest.mark.parametrize("kinds", ["cc", "cr", "rc", "cn", "nc", "rn", "nr"])
def test_functions_of_two_numbers(name, kinds):
    makers = {"c": complex_values, "r": positive, "n": lambda _: 0.4 - 0.3j}
    function = getattr(rl, name)
    first, second = (makers[kind](3) for kind in kinds)
    if isinstance(first, complex):
        _checked(lambda x: function(first, x), second)
    elif isinstance(second, complex):
        _checked(lambda x: function(x, second), first)
    else:
        _checked(function, first, second)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.mean(0),
        lambda x: x.prod(),
        lambda x: x.cumsum(0),
        lambda x: x.T,
        lambda x: x[1:, ::2],
        lambda x: x[integers(0, 0, 1)],
        lambda x: rl.cat([x, x.real]),
        lambda x: rl.where(MASK, x, 2j),
        lambda x: x.index_select(0, integers(1, 1)),
        lambda x: x.reshape(3, 2).expand(2, 3, 2),
        lambda x: x.tril(),
        lambda x: x.to(rl.float64),
        lambda x: x.abs().sum(),
        lambda x: (x.view_as_real() ** 2).sum(-1),
        lambda x: x.flip([0]) * x.roll(1),
        lambda x: x.adjoint(),
    ],
)
def test_reductions_and_rearrangements(function):
    _checked(function, complex_values(2, 3))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (complex_values(2, 3), complex_values(3, 2)),
        (complex_values(3), complex_values(3)),
        (signed(2, 3), complex_values(3)),
        (complex_values(3), signed(3, 2)),
        (complex_values(2, 1, 2, 2), complex_values(3, 2, 2)),
    ],
)
def test_products_of_matrices(first, second):
    _checked(rl.matmul, first, second)


def test_a_step_against_the_gradient_leads_downhill():
    z = rl.tensor([1 + 2j], requires_grad=True)
    (z.abs() ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [2 + 4j])


def test_a_real_input_gets_a_real_gradient():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    ((x * 1j + 3) * (1 + 1j)).real.sum().backward()
    assert x.grad.dtype == rl.float32
    assert x.grad.tolist() == [-1.0, -1.0]


def test_in_place_forms():
    def function(x):
        y = x * 1
        y.mul_(2j)
        y[0] = 1 - 1j
        return y.exp_()

    _checked(function, complex_values(3))


def test_a_complex_result_needs_a_gradient():
    z = rl.tensor(1j, requires_grad=True)
    with pytest.raises(RuntimeError, match="complex"):
        (z * z).backward()
