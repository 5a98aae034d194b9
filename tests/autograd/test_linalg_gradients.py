"""Derivatives of decompositions, of functions that do not depend on what they leave open."""

import numpy as np
import pytest
from sample_values import complex_values, signed

import relume as rl
from relume.autograd import gradcheck, gradgradcheck

random = np.random.default_rng(3)


def _checked(function, *inputs):
    gradcheck(function, inputs)
    gradgradcheck(function, inputs)


def _matrices(complex_numbers, *shape):
    values = random.normal(size=shape)
    if complex_numbers:
        values = values + 1j * random.normal(size=shape)
    return rl.tensor(values, requires_grad=True)


def _definite(a):
    return a @ a.mH + 2 * rl.eye(a.shape[-1], dtype=a.dtype)


def _hermitian(a):
    return a + a.mH


KINDS = pytest.mark.parametrize("complex_numbers", [False, True])


@KINDS
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(complex_numbers, upper):
    a = _matrices(complex_numbers, 2, 3, 3)
    _checked(lambda a: rl.linalg.cholesky(_definite(a), upper=upper), a)
    b = signed(3, 2)
    _checked(lambda a, b: rl.cholesky_solve(b, rl.linalg.cholesky(_definite(a))), a, b)


def test_the_gradient_of_cholesky_is_symmetric():
    a = rl.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
    rl.linalg.cholesky(a).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), a.grad.numpy().T)


@KINDS
def test_eigh(complex_numbers):
    a = _matrices(complex_numbers, 3, 3)

    def function(a):
        values, vectors = rl.linalg.eigh(_hermitian(a))
        return values, (vectors * values.exp()) @ vectors.mH, vectors.abs()

    _checked(function, a)
    _checked(lambda a: rl.linalg.eigvalsh(_hermitian(a)), a)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (3, 2)])
def test_svd(complex_numbers, shape):
    def function(a):
        u, s, vh = rl.linalg.svd(a, full_matrices=False)
        return s, (u * s.exp()) @ vh, u.abs(), vh.abs(), u @ vh

    _checked(function, _matrices(complex_numbers, *shape))


@KINDS
def test_eig(complex_numbers):
    def function(a):
        values, vectors = rl.linalg.eig(a)
        return values.sum(), vectors.abs().sum(-1), (vectors * values) @ rl.linalg.inv(vectors)

    _checked(function, _matrices(complex_numbers, 3, 3))
    _checked(lambda a: (rl.linalg.eigvals(a) ** 3).sum(), _matrices(complex_numbers, 3, 3))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (3, 2)])
def test_complex_qr(shape):
    _checked(lambda a: rl.linalg.qr(a), _matrices(True, *shape))


def test_qr_of_one_part():
    _checked(lambda a: rl.linalg.qr(a, "r").R, signed(3, 2))


@KINDS
def test_lu(complex_numbers):
    _checked(lambda a: rl.linalg.lu(a)[1:], _matrices(complex_numbers, 2, 3, 3))
    for shape in ((2, 4), (4, 2)):
        _checked(lambda a: rl.linalg.lu(a)[1:], _matrices(complex_numbers, *shape))

    def solved(a, b):
        return rl.linalg.lu_solve(*rl.linalg.lu_factor(a), b, adjoint=True)

    _checked(solved, _matrices(complex_numbers, 2, 2), _matrices(complex_numbers, 2, 1))


def test_householder_product():
    packed, tau = rl.geqrf(rl.tensor(random.normal(size=(4, 2))))
    _checked(rl.linalg.householder_product, packed.requires_grad_(), tau.requires_grad_())


def test_singular_determinants():
    for rank in (1, 2):
        factors = random.normal(size=(3, rank))
        a = rl.tensor(factors @ factors.T, requires_grad=True)
        gradcheck(rl.linalg.det, a)


def test_the_second_derivative_of_a_singular_determinant():
    a = rl.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=rl.float64, requires_grad=True)
    (cofactors,) = rl.grad(rl.det(a), (a,), create_graph=True)
    np.testing.assert_allclose(cofactors.detach().numpy(), [[4, -2], [-2, 1]])
    weights = rl.tensor([[1.0, 10.0], [100.0, 1000.0]], dtype=rl.float64)
    (second,) = rl.grad((cofactors * weights).sum(), (a,))
    np.testing.assert_allclose(second.numpy(), [[1000, -100], [-10, 1]])


def test_pinv_of_equal_singular_values():
    q = np.linalg.qr(random.normal(size=(3, 3)))[0]
    _checked(lambda a: rl.linalg.pinv(a), rl.tensor(q, requires_grad=True))


@pytest.mark.parametrize("order", ["fro", "nuc", 2, -2, 1, np.inf])
def test_norms_and_condition(order):
    _checked(lambda a: rl.linalg.matrix_norm(a, order), _matrices(False, 3, 2))
    _checked(lambda a: rl.linalg.cond(a, order), _matrices(True, 2, 2))


def test_matrix_power_and_solving_from_the_right():
    a = _matrices(True, 2, 2)
    _checked(lambda a: rl.linalg.matrix_power(a, 3), a)
    _checked(lambda a: rl.linalg.matrix_power(a, -2), a)
    _checked(lambda a, b: rl.linalg.solve(a, b, left=False), a, complex_values(3, 2))
    _checked(lambda a, b: rl.linalg.solve(a, b), a, complex_values(2))


@pytest.mark.parametrize("name", "fft ifft rfft irfft hfft ihfft fft2 rfft2 irfft2 ifftn".split())
@pytest.mark.parametrize("norm", ["backward", "ortho"])
def test_fourier_transforms(name, norm):
    function = getattr(rl.fft, name)
    x = signed(3, 4) if name in ("rfft", "ihfft", "rfft2") else complex_values(3, 4)
    _checked(lambda x: function(x, norm=norm), x)
    if not name.endswith("n"):
        length = (4, 5) if name.endswith("2") else 5
        _checked(lambda x: function(x, length, norm=norm), x)


def test_third_order():
    a = rl.tensor([[2.0, 0.3], [0.1, 1.5]], dtype=rl.float64, requires_grad=True)

    def gradient(a):
        with rl.enable_grad():
            own = a if a.requires_grad else a.detach().requires_grad_()
            return rl.grad(rl.linalg.slogdet(own).logabsdet, (own,), create_graph=True)[0]

    gradgradcheck(gradient, a)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_what_complete_decompositions_determine_has_a_gradient(shape):
    a = signed(*shape)
    _checked(lambda a: rl.linalg.svd(a, full_matrices=True).S, a)
    _checked(lambda a: rl.linalg.qr(a, "complete").R, a)
    with pytest.raises(NotImplementedError, match="full_matrices=False"):
        u, _, vh = rl.linalg.svd(a.requires_grad_(), full_matrices=True)
        (u if shape[0] > shape[1] else vh).sum().backward()
