"""Fourier transforms, `relume.fft`, with the names of `torch.fft`, `numpy.fft` and the array API.

All functions transform tensors of any number of dimensions, of any length (fastest where the
length has small prime factors), in float32 or float64 and their complex types, and have
derivatives of any order. `n` or `s` cut the input, or fill it up with zeros, to a length. The
norms are

- "backward" (or None): the inverse transform is divided by the number of elements;
- "forward": the transform is;
- "ortho": both are, by the root of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor

_ops = _C.ops


def _scale(norm: str | None, count: int, forward: bool) -> float:
    if norm not in (None, "backward", "forward", "ortho"):
        raise ValueError(f'norm must be "backward", "forward" or "ortho", not {norm!r}')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") == forward else 1.0


def _fitted(input: Tensor, dim: int, n: int | None) -> Tensor:
    """Cut, or filled up with zeros, to n elements along a dimension."""
    if input.ndim == 0:
        raise ValueError("a tensor without dimensions has no Fourier transform")
    size = input.shape[dim]
    if n is None or n == size:
        if size == 0:
            raise ValueError(f"dimension {dim} of shape {input.shape} has no elements to transform")
        return input
    if n < 1:
        raise ValueError(f"cannot transform {n} elements; n must be at least 1")
    if n < size:
        return input.narrow(dim, 0, n)
    shape = list(input.shape)
    shape[dim] = n - size
    return _ops["cat"]([input, input.new_zeros(tuple(shape))], dim)


def _dims(input: Tensor, s: Any, dim: Any) -> tuple[list[int], list[int | None]]:
    """The dimensions to transform and the length of each (None as it is)."""
    if isinstance(s, int) and s < 1:
        raise ValueError(f"cannot transform {s} elements; n must be at least 1")
    sizes = None if s is None else [s] if isinstance(s, int) else [*s]
    if dim is None:
        count = input.ndim if sizes is None else len(sizes)
        dims = list(range(input.ndim - count, input.ndim))
    else:
        dims = [dim] if isinstance(dim, int) else [*dim]
    for d in dims:
        if not -input.ndim <= d < input.ndim:
            raise IndexError(f"dimension {d} is out of range for shape {input.shape}")
    dims = [d % input.ndim for d in dims]
    if len(set(dims)) < len(dims):
        raise ValueError(f"a dimension appears more than once in dim={dim}")
    if sizes is not None and len(sizes) != len(dims):
        raise ValueError(f"s has {len(sizes)} lengths for {len(dims)} dimensions")
    return dims, [None if n in (None, -1) else n for n in sizes or [None] * len(dims)]


def _transform(input: Tensor, dims: Sequence[int], norm: str | None, forward: bool) -> Tensor:
    if not dims:
        return input if input.dtype.is_complex else _ops["complex"](input, input.new_zeros(()))
    count = math.prod(input.shape[d] for d in dims)
    return _ops["fft_complex"](input, tuple(dims), _scale(norm, count, forward), forward)


def _complex(input: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    dims, sizes = _dims(input, s, dim)
    for d, n in zip(dims, sizes, strict=True):
        input = _fitted(input, d, n)
    return _transform(input, dims, norm, forward)


# ---- complex transforms ----


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along a dimension: sum over j of x[j] exp(-2 pi i j k / n).

    Args:
        input: real or complex.
        n: cut or fill up with zeros to this length.
        norm: see the module.

    Returns:
        Complex, of n elements along the dimension.

    >>> import relume as rl
    >>> rl.fft.fft(rl.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j], dtype=complex64)
    """
    return _complex(input, n, dim, norm, True)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    >>> import relume as rl
    >>> rl.fft.ifft(rl.tensor([3.0, -1.0])).real
    tensor([1., 2.])
    """
    return _complex(input, n, dim, norm, False)


def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` along two dimensions.

    >>> import relume as rl
    >>> rl.fft.fft2(rl.ones(2, 2))[0, 0]
    tensor(4.+0.j, dtype=complex64)
    """
    return _complex(input, s, dim, norm, True)


def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`.

    >>> import relume as rl
    >>> rl.fft.ifft2(rl.ones(2, 2))[0, 0]
    tensor(1.+0.j, dtype=complex64)
    """
    return _complex(input, s, dim, norm, False)


def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fft` along several dimensions.

    Args:
        s: the length of each dimension, to cut or fill up to.
        dim: the dimensions; None means the last len(s), or all.

    >>> import relume as rl
    >>> rl.fft.fftn(rl.ones(2, 2, 2))[0, 0, 0]
    tensor(8.+0.j, dtype=complex64)
    """
    return _complex(input, s, dim, norm, True)


def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    >>> import relume as rl
    >>> rl.fft.ifftn(rl.ones(2, 2, 2))[0, 0, 0]
    tensor(1.+0.j, dtype=complex64)
    """
    return _complex(input, s, dim, norm, False)


# ---- transforms of real numbers ----


def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: the first half of the spectrum along the last of the dimensions.

    The second half is the first one backwards, conjugated.

    >>> import relume as rl
    >>> rl.fft.rfftn(rl.ones(2, 4)).shape
    (2, 3)
    """
    if input.dtype.is_complex:
        raise TypeError(f"rfft and its kin transform real tensors, not {input.dtype.name}")
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise ValueError("at least one dimension must be transformed")
    for d, n in zip(dims, sizes, strict=True):
        input = _fitted(input, d, n)
    count = math.prod(input.shape[d] for d in dims)
    half = _ops["fft_real"](input, dims[-1], _scale(norm, count, True))
    return _ops["fft_complex"](half, tuple(dims[:-1]), 1.0, True) if len(dims) > 1 else half


def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`.

    Args:
        input: half a spectrum; along the last of the dimensions n / 2 + 1 elements for n.
        s: the lengths of the result; the last is by default 2 * (elements - 1), which is even.

    >>> import relume as rl
    >>> rl.fft.irfftn(rl.fft.rfftn(rl.ones(2, 3)), s=(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise ValueError("at least one dimension must be transformed")
    length = 2 * (input.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if length < 1:
        raise ValueError(f"cannot make {length} numbers of a spectrum of shape {input.shape}")
    for d, n in zip(dims, [*sizes[:-1], length // 2 + 1], strict=True):
        input = _fitted(input, d, n)
    count = length * math.prod(input.shape[d] for d in dims[:-1])
    if len(dims) > 1:
        input = _ops["fft_complex"](input, tuple(dims[:-1]), 1.0, False)
    return _ops["fft_real_inverse"](input, dims[-1], length, _scale(norm, count, False))


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of real numbers: the first n // 2 + 1 numbers of it.

    >>> import relume as rl
    >>> rl.fft.rfft(rl.tensor([1.0, 2.0, 3.0])).shape
    (2,)
    """
    return rfftn(input, n, (dim,), norm)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: n real numbers, by default 2 * (elements - 1).

    >>> import relume as rl
    >>> rl.fft.irfft(rl.fft.rfft(rl.tensor([1.0, 2.0, 3.0])), 3)
    tensor([1., 2., 3.])
    """
    return irfftn(input, n, (dim,), norm)


def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along two dimensions.

    >>> import relume as rl
    >>> rl.fft.rfft2(rl.ones(2, 4)).shape
    (2, 3)
    """
    return rfftn(input, s, dim, norm)


def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`.

    >>> import relume as rl
    >>> rl.fft.irfft2(rl.fft.rfft2(rl.ones(2, 4))).shape
    (2, 4)
    """
    return irfftn(input, s, dim, norm)


# ---- real spectra ----

_OTHER_NORM = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _other_norm(norm: str | None) -> str:
    if norm not in _OTHER_NORM:
        raise ValueError(f'norm must be "backward", "forward" or "ortho", not {norm!r}')
    return _OTHER_NORM[norm]


def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The real `fftn` of a signal of which half is given, the other being its mirror, conjugated.

    >>> import relume as rl
    >>> rl.fft.hfftn(rl.ones(2, 3)).shape
    (2, 4)
    """
    return irfftn(input.conj(), s, dim, _other_norm(norm))


def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    >>> import relume as rl
    >>> rl.fft.ihfftn(rl.ones(2, 4)).shape
    (2, 3)
    """
    return rfftn(input, s, dim, _other_norm(norm)).conj()


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real `fft` of a signal of which half is given, the other being its mirror, conjugated.

    Args:
        n: the length of the result, by default 2 * (elements - 1).

    >>> import relume as rl
    >>> rl.fft.hfft(rl.ones(2))
    tensor([2., 0.])
    """
    return hfftn(input, n, (dim,), norm)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`.

    >>> import relume as rl
    >>> rl.fft.ihfft(rl.tensor([2.0, 0.0]))
    tensor([1.-0.j, 1.-0.j], dtype=complex64)
    """
    return ihfftn(input, n, (dim,), norm)


def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two dimensions."""
    return hfftn(input, s, dim, norm)


def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` along two dimensions."""
    return ihfftn(input, s, dim, norm)


# ---- frequencies ----


def _check_count(n: int) -> None:
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the n numbers that `fft` returns, in cycles per unit of d.

    Args:
        d: the distance of two samples.

    >>> fftfreq(4)
    tensor([ 0.  ,  0.25, -0.5 , -0.25])
    """
    _check_count(n)
    places = _ops["arange"](0, n, device=device)
    places = places - n * (places >= (n + 1) // 2)
    return places.to(dtype or "float32") / (n * d)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the n // 2 + 1 numbers that `rfft` returns for n real ones.

    >>> rfftfreq(4)
    tensor([0.  , 0.25, 0.5 ])
    """
    _check_count(n)
    return _ops["arange"](0, n // 2 + 1, device=device).to(dtype or "float32") / (n * d)


def _rolled(input: Tensor, dim: Any, direction: int) -> Tensor:
    dims = _dims(input, None, dim)[0]
    if not dims:
        return input.clone()
    shifts = tuple(
        input.shape[d] // 2 if direction > 0 else (input.shape[d] + 1) // 2 for d in dims
    )
    return _ops["roll"](input, shifts, tuple(dims))


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Frequency 0 in the middle, the negative ones before it.

    >>> fftshift(fftfreq(4))
    tensor([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _rolled(input, dim, 1)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> ifftshift(fftshift(fftfreq(4)))
    tensor([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _rolled(input, dim, -1)
