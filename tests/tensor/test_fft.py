"""relume.fft against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.fft

import relume as rl

random = np.random.default_rng(17)
NORMS = [None, "backward", "forward", "ortho"]


def _numbers(*shape, complex_numbers=True, single=False):
    values = random.normal(size=shape)
    if complex_numbers:
        values = values + 1j * random.normal(size=shape)
    return values.astype(
        (np.complex64 if complex_numbers else np.float32) if single else values.dtype
    )


def _close(result, expected, single=False):
    size = max(1.0, float(np.abs(expected).max()) if expected.size else 1.0)
    tolerance = 1e-5 if single else 1e-13
    np.testing.assert_allclose(result.numpy() / size, expected / size, atol=tolerance, rtol=0)


# Lengths of every kind of factor, large primes and their multiples among them.
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 30, 32, 49, 59, 61, 64, 67, 97, 100]
LENGTHS += [
    121,
    128,
    134,
    169,
    210,
    211,
    243,
    256,
    360,
    509,
    512,
    625,
    1000,
    1009,
    1018,
    2048,
    4099,
]


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n, single):
    for lines in (1, 2, 21):
        x = _numbers(lines, n, single=single)
        for name in ("fft", "ifft"):
            result = getattr(rl.fft, name)(rl.tensor(x))
            assert result.numpy().dtype == x.dtype
            _close(result, getattr(scipy.fft, name)(x), single)
        real = _numbers(lines, n, complex_numbers=False, single=single)
        _close(rl.fft.rfft(rl.tensor(real)), scipy.fft.rfft(real), single)
        half = x[:, : n // 2 + 1]
        _close(rl.fft.irfft(rl.tensor(half), n), scipy.fft.irfft(half, n), single)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("n", [None, 3, 4, 9])
def test_one_dimension(name, norm, dim, n):
    x = _numbers(5, 6, 4, complex_numbers=name not in ("rfft", "ihfft"))
    t = rl.from_numpy(x.transpose(2, 1, 0)).permute(2, 1, 0)
    _close(getattr(rl.fft, name)(t, n, dim, norm), getattr(np.fft, name)(x, n, dim, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
@pytest.mark.parametrize(
    ("s", "dim"), [(None, None), (None, (0, 2)), ((3, 4), (2, 0)), ((7,), (1,)), ((4, 5), None)]
)
def test_several_dimensions(name, norm, s, dim):
    x = _numbers(5, 4, 3, complex_numbers=name not in ("rfftn", "ihfftn"))
    expected = getattr(scipy.fft, name)(x, s, dim, norm)
    _close(getattr(rl.fft, name)(rl.tensor(x), s, dim, norm), expected)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_dimensions(name):
    x = _numbers(2, 4, 6, complex_numbers=name not in ("rfft2", "ihfft2"))
    _close(getattr(rl.fft, name)(rl.tensor(x)), getattr(scipy.fft, name)(x))


def test_types():
    assert rl.fft.fft(rl.arange(4)).dtype == rl.complex64
    assert rl.fft.fft(rl.ones(4, dtype=rl.float64)).dtype == rl.complex128
    assert rl.fft.irfft(rl.ones(3, dtype=rl.complex128)).dtype == rl.float64
    assert rl.fft.rfft(rl.tensor([True, False])).tolist() == [1, 1]
    with pytest.raises(TypeError, match="real"):
        rl.fft.rfft(rl.tensor([1j]))
    with pytest.raises(TypeError, match="float16"):
        rl.fft.fft(rl.ones(4, dtype="float16"))


def test_many_lines_on_several_threads():
    x = _numbers(300, 256, single=True)
    for threads in (1, 2):
        before = rl.get_num_threads()
        rl.set_num_threads(threads)
        try:
            _close(rl.fft.fft(rl.tensor(x)), scipy.fft.fft(x), True)
            _close(rl.fft.fft(rl.tensor(x), dim=0), scipy.fft.fft(x, axis=0), True)
        finally:
            rl.set_num_threads(before)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies_and_shifts(n):
    _close(rl.fft.fftfreq(n, 0.1, dtype="float64"), np.fft.fftfreq(n, 0.1))
    _close(rl.fft.rfftfreq(n, 0.1, dtype="float64"), np.fft.rfftfreq(n, 0.1))
    x = _numbers(n, 4)
    for dim in (None, 0, (0, 1)):
        _close(rl.fft.fftshift(rl.tensor(x), dim), np.fft.fftshift(x, dim))
        _close(rl.fft.ifftshift(rl.tensor(x), dim), np.fft.ifftshift(x, dim))


def test_no_lines():
    assert rl.fft.fft(rl.ones(0, 4)).shape == (0, 4)
    assert rl.fft.rfft(rl.ones(0, 4)).shape == (0, 3)
    assert rl.fft.irfft(rl.ones(0, 3)).shape == (0, 4)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda: rl.fft.fft(rl.ones(0)), ValueError, "no elements"),
        (lambda: rl.fft.fft(rl.tensor(1.0)), (ValueError, IndexError), "dimension"),
        (lambda: rl.fft.fft(rl.ones(3), 0), ValueError, "at least 1"),
        (lambda: rl.fft.fft(rl.ones(3), dim=1), IndexError, "out of range"),
        (lambda: rl.fft.fft(rl.ones(3), norm="x"), ValueError, "norm"),
        (lambda: rl.fft.hfft(rl.ones(3), norm="x"), ValueError, "norm"),
        (lambda: rl.fft.fftn(rl.ones(3, 3), dim=(0, -2)), ValueError, "more than once"),
        (lambda: rl.fft.fftn(rl.ones(3, 3), (3,), (0, 1)), ValueError, "lengths"),
        (lambda: rl.fft.irfft(rl.ones(1)), ValueError, "cannot make 0"),
        (lambda: rl.fft.fftfreq(0), ValueError, "at least 1"),
    ],
)
def test_wrong_arguments(function, error, words):
    with pytest.raises(error, match=words):
        function()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_a_length_below_one_is_refused(name):
    with pytest.raises(ValueError, match="at least 1"):
        getattr(rl.fft, name)(rl.ones(4), -1)
