"""Derivatives of ops that compute complex numbers by other ops."""

import pytest
from sample_values import complex_values, signed

import relume as rl
import relume.nn.functional as F
from relume.autograd import gradcheck, gradgradcheck

Z, W = complex_values(2, 3), complex_values(2, 3) * 0.7 + 0.2
FACTORS = {"beta": 0.4 - 0.6j, "alpha": 1 + 2j}


def _checked(function, *inputs):
    gradcheck(function, inputs)
    gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: rl.norm(x),
        lambda x: rl.norm(x, 1, 1),
        lambda x: rl.norm(x, 3, (0, 1), True),
        lambda x: rl.linalg.vector_norm(x, 2.5, 0),
        lambda x: F.normalize(x, 3.0, 1),
        lambda x: rl.renorm(x, 2, 0, 0.5),
        lambda x: x.var(),
        lambda x: x.var(1, correction=0),
        lambda x: x.std(0, keepdim=True),
        lambda x: rl.std_mean(x, 1),
        lambda x: rl.logsumexp(x, (0, 1)),
        lambda x: rl.logsumexp(x, 1, True),
        lambda x: rl.logcumsumexp(x, 1),
        lambda x: rl.cov(x),
        lambda x: rl.sinc(x),
        lambda x: F.silu(x),
        lambda x: F.rms_norm(x, (3,)),
    ],
)
def test_functions_of_one_tensor(function):
    _checked(function, Z.detach().requires_grad_())


@pytest.mark.parametrize(
    "function",
    [
        rl.dist,
        rl.logaddexp,
        rl.ldexp,
        F.pairwise_distance,
        lambda x, y: F.triplet_margin_loss(x, y, x * y),
        lambda x, y: rl.addmm(x[:, :2], x, y.mT, **FACTORS),
        lambda x, y: rl.addmv(x[:, 0], x, y[0], **FACTORS),
        lambda x, y: rl.addr(x, x[:, 0], y[0], **FACTORS),
        lambda x, y: rl.baddbmm(x[:, :2], x[None], y.mT[None], **FACTORS),
        lambda x, y: rl.addbmm(x[:, :2], x[None], y.mT[None], **FACTORS),
    ],
)
def test_functions_of_two_tensors(function):
    _checked(function, Z.detach().requires_grad_(), W.detach().requires_grad_())


def test_windows_of_images():
    _checked(lambda x: F.unfold(x, (2, 1), padding=1), complex_values(1, 2, 2, 3))
    _checked(lambda x: F.fold(x, (2, 3), (2, 1)), complex_values(1, 4, 3))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_convolutions(dimensions):
    size = (3,) * dimensions
    image, weight = complex_values(1, 2, *size), complex_values(2, 1, *(2,) * dimensions)
    convolve = getattr(F, f"conv{dimensions}d")
    _checked(lambda x, w: convolve(x, w, groups=2), image, weight)
    transposed = getattr(F, f"conv_transpose{dimensions}d")
    bias = complex_values(2)
    _checked(lambda x, w, b: transposed(x, w, b, 2, 1, 1, groups=2), image, weight, bias)
    _checked(transposed, signed(1, 2, *size), weight)


def test_in_place_forms():
    _checked(lambda x: (x * 1).sinc_(), complex_values(3))
    _checked(lambda x: (x * 1).silu_(), complex_values(3))


def test_numbers_that_do_not_vary_get_no_gradient():
    z = rl.full((3,), 1 + 1j, dtype=rl.complex128).requires_grad_()
    z.std().backward()
    assert z.grad.tolist() == [0, 0, 0]
