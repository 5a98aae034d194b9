"""The short-time Fourier transform: the spectrum of a signal, piece by piece, and back."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor import fft

_ops = _C.ops


class _Frames:
    """Pieces of a signal: their length, their distance and the window on them."""

    def __init__(
        self, name: str, n_fft: int, hop: int | None, length: int | None, window: Tensor | None
    ) -> None:
        self.n_fft = n_fft
        self.hop = n_fft // 4 if hop is None else hop
        length = n_fft if length is None else length
        if n_fft <= 0 or self.hop <= 0 or not 0 < length <= n_fft:
            raise ValueError(
                f"{name}() needs n_fft > 0, hop_length > 0 and 0 < win_length <= n_fft, not "
                f"{n_fft}, {self.hop} and {length}"
            )
        if window is not None and window.shape != (length,):
            raise ValueError(
                f"{name}(): the window must have shape ({length},), as win_length says, not "
                f"{window.shape}"
            )
        self._window, self._length = window, length

    def window(self, dtype: Any) -> Tensor:
        """The window in the middle of n_fft places."""
        window = self._window
        if window is None:
            window = _ops["ones"](self._length, dtype=dtype)
        before = (self.n_fft - self._length) // 2
        return _ops["pad"](window, (before, self.n_fft - self._length - before))


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool = True,
) -> Tensor:
    """The short-time Fourier transform.

    Args:
        input: a signal of shape (time,), or several: (batch, time).
        n_fft: the length of a piece.
        hop_length: from the start of a piece to the next; n_fft / 4 when left out.
        win_length: the window's length; n_fft when left out. A shorter window stands in the middle.
        window: of shape (win_length,), see `hann_window`; ones when left out.
        center: pad the signal by n_fft / 2 on both sides, so that piece t is around t * hop_length.
        pad_mode: how: "reflect", "replicate" or "constant".
        normalized: divide by the root of n_fft.
        onesided: leave out the frequencies that follow from symmetry; True for real signals
            when left out.
        return_complex: False gives the real and the imaginary part in a last dimension of 2.

    Returns:
        Complex numbers of shape (batch, frequencies, pieces), without batch for a single signal.

    Raises:
        ValueError: sizes that do not fit, or a signal shorter than a piece.

    >>> import relume as rl
    >>> rl.stft(rl.ones(16), 4, window=rl.hann_window(4)).shape
    (3, 17)
    """
    frames = _Frames("stft", n_fft, hop_length, win_length, window)
    if input.ndim not in (1, 2):
        raise ValueError(f"stft() takes shape (time,) or (batch, time), not {input.shape}")
    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise ValueError("stft(): a complex signal has no symmetry; onesided must be False")
    signal = input.unsqueeze(0) if input.ndim == 1 else input
    if center:
        signal = _ops["pad"](signal, (n_fft // 2, n_fft // 2), pad_mode)
    if signal.shape[1] < n_fft:
        raise ValueError(
            f"stft(): the signal has {signal.shape[1]} elements, fewer than n_fft={n_fft}"
        )
    pieces = signal.unfold(1, n_fft, frames.hop) * frames.window(signal.dtype)
    transform = fft.rfft if onesided else fft.fft
    spectra = transform(pieces, norm="ortho" if normalized else "backward").transpose(1, 2)
    result = spectra if input.ndim == 2 else spectra.squeeze(0)
    return result if return_complex else _ops["view_as_real"](result)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of a short-time Fourier transform: the pieces added, divided by their weights.

    Args:
        input: complex, of shape (frequencies, pieces) or (batch, frequencies, pieces).
        length: of the signal; as long as the pieces reach when left out.
        return_complex: the signal is complex.
        others: as of `stft`.

    Returns:
        Shape (time,) or (batch, time).

    Raises:
        ValueError: places of the signal that no window covers; a complex window of a real signal.

    >>> import relume as rl
    >>> signal, window = rl.arange(8.0), rl.hann_window(4)
    >>> rl.istft(rl.stft(signal, 4, window=window), 4, window=window).round(decimals=3)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    frames = _Frames("istft", n_fft, hop_length, win_length, window)
    if not input.dtype.is_complex or input.ndim not in (2, 3):
        raise ValueError(
            "istft() takes complex numbers of shape (frequencies, pieces) or (batch, frequencies, "
            f"pieces), not {input.dtype} of shape {input.shape}"
        )
    if window is not None and window.dtype.is_complex and not return_complex:
        raise ValueError("istft(): a complex window needs return_complex=True")
    spectra = input.unsqueeze(0) if input.ndim == 2 else input
    frequencies = spectra.shape[1]
    if onesided is None:
        onesided = frequencies != n_fft
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != wanted:
        raise ValueError(f"istft(): n_fft={n_fft} needs {wanted} frequencies, not {frequencies}")
    norm = "ortho" if normalized else "backward"
    spectra = spectra.transpose(1, 2)
    if return_complex:
        pieces = fft.ifft(_both_sides(spectra, n_fft) if onesided else spectra, norm=norm)
    else:  # the other half of the frequencies says nothing new of a real signal
        pieces = fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    weights = frames.window(_ops["real"](pieces).dtype)
    signal = _overlapped(pieces * weights, frames.hop)
    cover = weights.square().expand((1, *pieces.shape[1:]))
    cover = _overlapped(cover, frames.hop)
    start = n_fft // 2 if center else 0
    reach = signal.shape[1] - (n_fft // 2 if center and length is None else 0)
    stop = reach if length is None else min(start + length, reach)
    signal, cover = signal[:, start:stop], cover[:, start:stop]
    if bool((cover.abs() < 1e-11).any()):
        raise ValueError("istft(): the windows leave places of the signal uncovered")
    signal = signal / cover
    if length is not None and signal.shape[1] < length:
        signal = _ops["pad"](signal, (0, length - signal.shape[1]))
    return signal if input.ndim == 3 else signal.squeeze(0)


def _both_sides(spectra: Tensor, n_fft: int) -> Tensor:
    """The spectrum of a real signal with the frequencies that symmetry gives."""
    mirrored = spectra[..., 1 : (n_fft + 1) // 2].flip(-1).conj()
    return _ops["cat"]([spectra, mirrored], -1)


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """Pieces (batch, count, length) added, each `hop` later than the one before."""
    batch, count, length = pieces.shape
    places = _ops["arange"](0, count, 1).unsqueeze(1) * hop + _ops["arange"](0, length, 1)
    zeros = _ops["zeros"](batch, (count - 1) * hop + length, dtype=pieces.dtype)
    return zeros.index_add(1, places.reshape(-1), pieces.reshape(batch, -1))


FUNCTIONS = (istft, stft)
