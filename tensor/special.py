"""`relume.special`: special functions under the names that SciPy and PyTorch give them.

>>> import relume as rl
>>> rl.special.expit(rl.tensor([0.0]))
tensor([0.5])
>>> rl.special.gammaln(rl.tensor([5.0]))  # log(4!)
tensor([3.1781])
"""

from __future__ import annotations

from typing import Any

from relume import _C

# The name here and the op that it is.
_NAMES = {
    "bessel_j0": "bessel_j0",
    "bessel_j1": "bessel_j1",
    "bessel_y0": "bessel_y0",
    "bessel_y1": "bessel_y1",
    "betainc": "betainc",
    "digamma": "digamma",
    "entr": "entr",
    "erf": "erf",
    "erfc": "erfc",
    "erfcx": "erfcx",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammainc": "gammainc",
    "gammaincc": "gammaincc",
    "gammaln": "lgamma",
    "i0": "i0",
    "i0e": "i0e",
    "i1": "i1",
    "i1e": "i1e",
    "log1p": "log1p",
    "log_ndtr": "log_ndtr",
    "log_softmax": "log_softmax",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma",
    "ndtr": "ndtr",
    "ndtri": "ndtri",
    "polygamma": "polygamma",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
    "softmax": "softmax",
    "xlog1py": "xlog1py",
    "xlogy": "xlogy",
    "zeta": "zeta",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"relume.special has no function {name!r}")
    return _C.ops[_NAMES[name]]


def __dir__() -> list[str]:
    return __all__
