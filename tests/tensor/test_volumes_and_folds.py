"""Convolution over volumes, folding and rearranging against NumPy and SciPy."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy import signal

import relume as rl
from relume.nn.functional import fold, unfold


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def correlate(x, w, mode="valid"):
    """Every sample's channels with every kernel's, summed."""
    return np.stack(
        [
            [
                sum(signal.correlate(c, k, mode, "direct") for c, k in zip(s, kernels, strict=True))
                for kernels in w
            ]
            for s in x
        ]
    )


def with_gaps(kernel, dilation):
    result = np.zeros(
        (
            *kernel.shape[:2],
            *(d * (k - 1) + 1 for d, k in zip(dilation, kernel.shape[2:], strict=True)),
        )
    )
    result[(..., *(slice(None, None, d) for d in dilation))] = kernel
    return result


def test_conv3d():
    x, w, b = random(2, 3, 5, 6, 7), random(4, 3, 2, 3, 2, seed=1), random(4, seed=2)
    bias = b[:, None, None, None]
    result = rl.conv3d(rl.tensor(x), rl.tensor(w), rl.tensor(b))
    np.testing.assert_allclose(result, correlate(x, w) + bias, atol=1e-10)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0), (2, 2)])
    expected = correlate(padded, with_gaps(w, (2, 1, 3)))[:, :, ::2, ::1, ::3]
    settings = ((2, 1, 3), (1, 0, 2), (2, 1, 3))
    result = rl.conv3d(rl.tensor(x), rl.tensor(w), None, *settings)
    np.testing.assert_allclose(result, expected, atol=1e-10)
    result = rl.conv3d(rl.tensor(x[0]), rl.tensor(w), None, *settings)
    np.testing.assert_allclose(result, expected[0], atol=1e-10)


def test_groups_are_convolutions_of_their_own():
    x, w = random(1, 4, 4, 4, 4), random(6, 2, 2, 2, 2, seed=1)
    result = rl.conv3d(rl.tensor(x), rl.tensor(w), groups=2)
    expected = np.concatenate([correlate(x[:, :2], w[:3]), correlate(x[:, 2:], w[3:])], 1)
    np.testing.assert_allclose(result, expected, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_padding_in_words_keeps_the_size(n):
    x, w = random(1, 1, *(8,) * n), random(1, 1, *(4,) * n, seed=1)
    convolve = getattr(rl, f"conv{n}d")
    full = correlate(np.pad(x, [(0, 0), (0, 0)] + [(1, 2)] * n), w)
    np.testing.assert_allclose(
        convolve(rl.tensor(x), rl.tensor(w), padding="same"), full, atol=1e-10
    )
    valid = convolve(rl.tensor(x), rl.tensor(w), padding="valid")
    np.testing.assert_allclose(valid, correlate(x, w), atol=1e-10)
    with pytest.raises(ValueError, match="stride of 1"):
        convolve(rl.tensor(x), rl.tensor(w), stride=2, padding="same")
    with pytest.raises(ValueError, match="'same' or 'valid'"):
        convolve(rl.tensor(x), rl.tensor(w), padding="full")


@pytest.mark.parametrize("n", [1, 3])
def test_transposed_convolution_is_the_adjoint(n):
    shape, kernel = (2, 3, *(7,) * n), (4, 3, *(3,) * n)
    settings = {"stride": 2, "padding": 1, "dilation": 1}
    x, w = rl.tensor(random(*shape)), rl.tensor(random(*kernel, seed=1))
    y = getattr(rl, f"conv{n}d")(x, w, **settings)
    g = rl.tensor(random(*y.shape, seed=2))
    back = getattr(rl, f"conv_transpose{n}d")(g, w, **settings)
    assert tuple(back.shape) == shape
    assert (y * g).sum().item() == pytest.approx((x * back).sum().item())


def test_conv3d_refuses_what_does_not_fit():
    x, w = rl.ones(1, 2, 4, 4, 4), rl.ones(3, 2, 2, 2, 2)
    for arguments, match in (
        ((x, rl.ones(3, 2, 2, 2)), "weight must have shape"),
        ((x, rl.ones(3, 1, 2, 2, 2)), "need an input of 1 channels"),
        ((x, rl.ones(3, 2, 5, 2, 2)), "covers 5 frames"),
        ((x, rl.ones(3, 2, 0, 2, 2)), "the kernel is empty"),
        ((x, w, rl.ones(2)), r"bias must have shape \(3\)"),
        ((x, w, None, 0), "stride must be at least 1"),
        ((rl.ones(4, 4), w), "input must have shape"),
    ):
        with pytest.raises(ValueError, match=match):
            rl.conv3d(*arguments)
    with pytest.raises(ValueError, match="output_padding must be smaller"):
        rl.conv_transpose3d(x, rl.ones(2, 3, 2, 2, 2), None, 1, 0, 1)
    assert tuple(rl.conv3d(rl.ones(0, 2, 4, 4, 4), w).shape) == (0, 3, 3, 3, 3)


def test_unfold_shows_every_window():
    x = random(2, 3, 6, 7)
    view = sliding_window_view(x, (2, 3), (2, 3))  # (N, C, rows, columns, 2, 3)
    expected = view.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, -1)
    np.testing.assert_array_equal(unfold(rl.tensor(x), (2, 3)), expected)
    expected = view[:, :, ::2, ::3].transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, -1)
    np.testing.assert_array_equal(unfold(rl.tensor(x), (2, 3), stride=(2, 3)), expected)


def test_fold_counts_how_often_an_element_is_seen():
    ones = rl.ones(1, 1, 5, 5)
    seen = fold(unfold(ones, 3), (5, 5), 3)
    line = np.array([1, 2, 3, 2, 1])
    np.testing.assert_array_equal(seen.numpy()[0, 0], np.outer(line, line))
    with pytest.raises(ValueError, match="multiple of 9 rows and 9 columns"):
        fold(rl.ones(1, 9, 8), (5, 5), 3)


def test_rearranging():
    x = random(2, 12, 3, 4)
    shuffled = x.reshape(2, 3, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 8)
    np.testing.assert_array_equal(rl.pixel_shuffle(rl.tensor(x), 2), shuffled)
    np.testing.assert_array_equal(rl.pixel_unshuffle(rl.tensor(shuffled), 2), x)
    mixed = x.reshape(2, 3, 4, 3, 4).swapaxes(1, 2).reshape(x.shape)
    np.testing.assert_array_equal(rl.channel_shuffle(rl.tensor(x), 3), mixed)
    for call in (
        lambda: rl.pixel_shuffle(rl.ones(3, 2, 2), 2),
        lambda: rl.pixel_unshuffle(rl.ones(1, 3, 2), 2),
        lambda: rl.channel_shuffle(rl.ones(1, 3, 2), 2),
    ):
        with pytest.raises(ValueError, match=r"cannot be split|must be multiples"):
            call()


@pytest.mark.parametrize("size", [1, 3, 4])
def test_response_normalisation(size):
    x = random(2, 6, 3)
    squares = np.pad(x**2, [(0, 0), (size // 2, size - 1 - size // 2), (0, 0)])
    mean = sliding_window_view(squares, size, 1).mean(-1)
    expected = x / (1.5 + 0.3 * mean) ** 0.6
    np.testing.assert_allclose(rl.local_response_norm(rl.tensor(x), size, 0.3, 0.6, 1.5), expected)


def test_circular_padding():
    x = random(2, 3, 4)
    result = rl.pad(rl.tensor(x), (2, 3, 1, 0), "circular")
    np.testing.assert_array_equal(result, np.pad(x, [(0, 0), (1, 0), (2, 3)], "wrap"))
    with pytest.raises(ValueError, match="circular padding must be at most the size"):
        rl.pad(rl.tensor(x), (5, 0), "circular")
