"""`relume.signal.windows`: windows by the names of `torch.signal.windows` and SciPy.

>>> import relume as rl
>>> rl.signal.windows.gaussian(3, std=1.0)
tensor([0.6065, 1.    , 0.6065])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.windows import cosines, make_window

_ops = _C.ops

_HALF = [0.5, 0.5]
_BLACKMAN = [0.42, 0.5, 0.08]
_NUTTALL = [0.3635819, 0.4891775, 0.1365995, 0.0106411]


def general_cosine(
    M: int,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of a[k] (-1)^k cos(2 pi k n / (M - 1)).

    Args:
        M: how many elements.
        a: the weights of the cosines.
        sym: end as it begins; False for windows that are repeated, as a Fourier transform does.
        layout: taken for PyTorch's sake.

    >>> import relume as rl
    >>> rl.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    return make_window(M, not sym, cosines(*a), dtype, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi n / (M - 1)); options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.general_hamming(3, alpha=0.6)
    tensor([0.2, 1. , 0.2])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], **options)


def hamming(M: int, **options: Any) -> Tensor:
    """Hamming's window; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.hamming(3)
    tensor([0.08, 1.  , 0.08])
    """
    return general_hamming(M, **options)


def hann(M: int, **options: Any) -> Tensor:
    """Hann's window; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=_HALF, **options)


def blackman(M: int, **options: Any) -> Tensor:
    """Blackman's window; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.blackman(5)[2]
    tensor(1.)
    """
    return general_cosine(M, a=_BLACKMAN, **options)


def nuttall(M: int, **options: Any) -> Tensor:
    """Nuttall's window of four cosines; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.nuttall(5)[2]
    tensor(1.)
    """
    return general_cosine(M, a=_NUTTALL, **options)


def _around_middle(
    M: int,
    shape: Callable[[Tensor], Tensor],
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`shape` of places from -1 to 1."""
    return make_window(M, not sym, lambda x: shape(2 * x - 1), dtype, device, requires_grad)


def _distances(M: int, sym: bool) -> float:
    """Elements between the middle and the end of a window."""
    return (M - 1 if sym else M) / 2


def bartlett(M: int, **options: Any) -> Tensor:
    """A triangle that ends at 0; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.bartlett(5)
    tensor([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _around_middle(M, lambda x: 1 - x.abs(), **options)


def cosine(M: int, **options: Any) -> Tensor:
    """Half a period of a sine, without its zeros; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.cosine(1)
    tensor([1.])
    """
    steps = M if options.get("sym", True) else M + 1
    narrower = (steps - 1) / steps if steps else 0.0
    return _around_middle(M, lambda x: (math.pi / 2 * narrower * x).cos(), **options)


def gaussian(M: int, *, std: float = 1.0, **options: Any) -> Tensor:
    """exp(-n^2 / (2 std^2)) with n counted from the middle; options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.gaussian(3)
    tensor([0.6065, 1.    , 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian(): std must be positive, not {std}")
    half = _distances(M, options.get("sym", True))
    return _around_middle(M, lambda x: (-0.5 * (x * half / std) ** 2).exp(), **options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, **options: Any) -> Tensor:
    """exp(-|n - center| / tau); options as of `general_cosine`.

    Args:
        center: the middle when left out; anything else needs sym=False.

    >>> import relume as rl
    >>> rl.signal.windows.exponential(3)
    tensor([0.3679, 1.    , 0.3679])
    """
    sym = options.get("sym", True)
    if tau <= 0:
        raise ValueError(f"exponential(): tau must be positive, not {tau}")
    if sym and center is not None:
        raise ValueError("exponential(): a symmetric window has its center in the middle")
    half = _distances(M, sym)
    offset = 0.0 if center is None else center - half
    return _around_middle(M, lambda x: (-(x * half - offset).abs() / tau).exp(), **options)


def kaiser(M: int, *, beta: float = 12.0, **options: Any) -> Tensor:
    """Kaiser's window, I0(beta sqrt(1 - x^2)) / I0(beta); options as of `general_cosine`.

    >>> import relume as rl
    >>> rl.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """

    def shape(x: Tensor) -> Tensor:
        largest = _ops["i0"](_ops["full_like"](x, beta))
        return _ops["i0"](beta * (1 - x * x).clamp(min=0).sqrt()) / largest

    return _around_middle(M, shape, **options)


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
