"""Ops that compute complex numbers by other ops, next to NumPy."""

import math

import numpy as np
import pytest

import relume as rl
import relume.nn.functional as F

random = np.random.default_rng(11)


def _numbers(*shape):
    return random.normal(size=shape) + 1j * random.normal(size=shape)


Z, W = _numbers(3, 4), _numbers(3, 4)


def _same(result, expected):
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [rl.complex64, rl.complex128])
def test_the_types_of_sizes_are_real(dtype):
    z = rl.tensor(Z, dtype=dtype)
    parts = z.real.dtype
    assert rl.norm(z).dtype == z.var().dtype == rl.std(z, 0).dtype == parts
    assert rl.logsumexp(z, 0).dtype == rl.sinc(z).dtype == F.silu(z).dtype == dtype


@pytest.mark.parametrize("p", [2, 1, 0, 3, 2.5, math.inf, -math.inf])
def test_norms(p):
    _same(rl.norm(rl.tensor(Z), p, 1), [np.linalg.norm(row, p) for row in Z])
    _same(rl.dist(rl.tensor(Z), rl.tensor(W), p), np.linalg.norm((Z - W).ravel(), p))


def test_variance_and_covariance():
    z = rl.tensor(Z)
    _same(z.var(0), Z.var(0, ddof=1))
    _same(z.std(1, correction=0, keepdim=True), Z.std(1, keepdims=True))
    _same(rl.var_mean(z)[1], Z.mean())
    _same(rl.cov(z), np.cov(Z))
    _same(rl.corrcoef(z), np.corrcoef(Z))
    weights = np.array([1, 2, 1, 3])
    _same(rl.cov(z, fweights=rl.tensor(weights)), np.cov(Z, fweights=weights))


def test_logarithms_of_sums():
    z, w = rl.tensor(Z), rl.tensor(W)
    _same(rl.logsumexp(z, 1), np.log(np.exp(Z).sum(1)))
    _same(rl.exp(rl.logaddexp(z, w)), np.exp(Z) + np.exp(W))
    _same(rl.exp(rl.logcumsumexp(z, 1)), np.exp(Z).cumsum(1))
    _same(rl.logsumexp(z + 1000, 0), np.log(np.exp(Z).sum(0)) + 1000)


def test_logarithms_of_sums_of_nothing():
    nothing = rl.tensor([complex(-math.inf, 0), complex(-math.inf, 0), 1j])
    assert rl.logcumsumexp(nothing, 0).real.tolist() == [-math.inf, -math.inf, 0]
    assert rl.logsumexp(nothing[:2], 0).real == -math.inf
    assert rl.logsumexp(rl.empty(0, 2, dtype=rl.complex64), 0).real.tolist() == [-math.inf] * 2


def test_functions_of_one_number():
    _same(rl.sinc(rl.tensor(Z)), np.sinc(Z))
    assert rl.sinc(rl.zeros(1, dtype=rl.complex64)).tolist() == [1]
    _same(F.silu(rl.tensor(Z)), Z / (1 + np.exp(-Z)))
    assert rl.isreal(rl.tensor([1, 1j, 2 + 0j])).tolist() == [True, False, True]
    _same(rl.ldexp(rl.tensor(Z), 3), Z * 8)
    _same(rl.ldexp(rl.tensor(Z), rl.tensor([1, 2, 3, 4])), Z * [2, 4, 8, 16])


def test_complex_factors_of_products():
    z, w, c = rl.tensor(Z), rl.tensor(W).mT, _numbers(3, 3)
    product = (2 - 1j) * (Z @ W.T)
    _same(rl.addmm(rl.tensor(c), z, w, beta=1j, alpha=2 - 1j), 1j * c + product)
    _same(rl.addmm(rl.full((3, 3), math.nan), z, w, beta=0, alpha=2 - 1j), product)
    _same(rl.addr(rl.tensor(c), z[:, 0], z[:, 1], alpha=1j), c + 1j * np.outer(Z[:, 0], Z[:, 1]))
    with pytest.raises(TypeError, match="alpha"):
        rl.addmm(rl.ones(2, 2), rl.ones(2, 2), rl.ones(2, 2), alpha=1j)


def test_a_transposed_convolution_is_the_adjoint_of_a_convolution():
    image, weight = rl.tensor(_numbers(1, 2, 5, 4)), rl.tensor(_numbers(3, 2, 2, 3))
    result = F.conv2d(image, weight)
    other = rl.tensor(_numbers(*result.shape))
    back = F.conv_transpose2d(other, weight.conj())
    _same((result * other.conj()).sum(), (image * back.conj()).sum().numpy())


def test_windows_of_images_and_back():
    image = rl.tensor(_numbers(1, 1, 3, 4))
    windows = F.unfold(image, (3, 2))
    assert windows.shape == (1, 6, 3)
    _same(windows[0, :, 1], image.numpy()[0, 0, :, 1:3].ravel())
    _same(F.fold(windows, (3, 4), (3, 2)), image.numpy() * [1, 2, 2, 1])


def test_out_and_in_place():
    out = rl.empty(3, dtype=rl.float64)
    rl.norm(rl.tensor(Z), 2, 1, out=out)
    _same(out, np.linalg.norm(Z, axis=1))
    z = rl.tensor(Z)
    _same(z.sinc_(), np.sinc(Z))


@pytest.mark.parametrize("dtype", [rl.complex64, rl.complex128])
def test_random_numbers_have_variance_one(dtype):
    rl.manual_seed(3)
    for drawn in (rl.randn(20000, dtype=dtype), rl.randn_like(rl.empty(20000, dtype=dtype))):
        assert drawn.dtype == dtype
        parts = rl.view_as_real(drawn).numpy().astype(float)
        np.testing.assert_allclose(parts.var(0), [0.5, 0.5], atol=0.03)
        np.testing.assert_allclose(parts.mean(0), [0, 0], atol=0.03)
        assert abs(np.corrcoef(parts.T)[0, 1]) < 0.03


def test_uniform_numbers_fill_the_unit_square():
    for drawn in (rl.rand(5000, dtype=rl.complex64), rl.rand_like(rl.ones(5000) * 1j)):
        parts = rl.view_as_real(drawn).numpy()
        assert parts.min() >= 0 and parts.max() < 1
        np.testing.assert_allclose(parts.mean(0), [0.5, 0.5], atol=0.03)


@pytest.mark.parametrize("size", [6, 7])
def test_a_real_signal_comes_from_the_first_half_of_its_frequencies(size):
    spectra = rl.tensor(_numbers(size, 5))
    half = rl.istft(spectra[: size // 2 + 1], size, 2, onesided=True)
    _same(rl.istft(spectra, size, 2, onesided=False), half.numpy())


def test_a_complex_window_gives_the_signal_back():
    signal, window = rl.tensor(_numbers(12)), rl.tensor(_numbers(4) + 3)
    spectra = rl.stft(signal, 4, 2, window=window, return_complex=True)
    back = rl.istft(spectra, 4, 2, window=window, return_complex=True)
    _same(back, signal.numpy())
    with pytest.raises(ValueError, match="return_complex"):
        rl.istft(spectra, 4, 2, window=window)
