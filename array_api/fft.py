"""The standard's extension of Fourier transforms."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.tensor import fft as _fft


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The discrete Fourier transform along a dimension."""
    return _fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of fft."""
    return _fft.ifft(x, n, axis, norm)


def fftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """The discrete Fourier transform along several dimensions."""
    return _fft.fftn(x, s, axes, norm)


def ifftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """The inverse of fftn."""
    return _fft.ifftn(x, s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of real numbers: its first half, which says all."""
    return _fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of rfft."""
    return _fft.irfft(x, n, axis, norm)


def rfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """The transform of real numbers along several dimensions; half of the last one."""
    return _fft.rfftn(x, s, axes, norm)


def irfftn(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """The inverse of rfftn."""
    return _fft.irfftn(x, s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of Hermitian-symmetric numbers, of which `x` is half: real."""
    return _fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of hfft."""
    return _fft.ihfft(x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of fft, for samples `d` apart."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of rfft, for samples `d` apart."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Moves frequency 0 to the middle of dimensions, or of all."""
    return _fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The inverse of fftshift."""
    return _fft.ifftshift(x, axes)
