"""Windows by PyTorch's and SciPy's names, against SciPy."""

import numpy as np
import pytest
from scipy.signal import windows

import relume as rl

SETTINGS = [
    ("bartlett", {}),
    ("blackman", {}),
    ("cosine", {}),
    ("exponential", {"tau": 2.5}),
    ("gaussian", {"std": 1.7}),
    ("general_cosine", {"a": [0.4, 0.5, 0.1]}),
    ("general_hamming", {"alpha": 0.6}),
    ("hamming", {}),
    ("hann", {}),
    ("kaiser", {"beta": 6.0}),
    ("nuttall", {}),
]


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name, settings", SETTINGS)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 10])
def test_windows(name, settings, size, sym):
    expected = getattr(windows, name)(size, sym=sym, **settings)
    ours = getattr(rl.signal.windows, name)(size, sym=sym, dtype=rl.float64, **settings)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-15)


def test_an_exponential_window_around_another_place():
    ours = rl.signal.windows.exponential(6, center=1.5, tau=0.7, sym=False, dtype=rl.float64)
    np.testing.assert_allclose(ours, windows.exponential(6, 1.5, 0.7, False), rtol=1e-12)
    with pytest.raises(ValueError, match="in the middle"):
        rl.signal.windows.exponential(6, center=1.5)


def test_types_and_gradients_of_windows():
    window = rl.signal.windows.hann(4, requires_grad=True)
    assert window.dtype is rl.float32 and window.requires_grad
    with pytest.raises(ValueError, match="length of at least 0"):
        rl.signal.windows.hann(-1)
