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
from relume.tensor import orthogonal_polynomials, special_functions

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
    "log_expit": "logsigmoid",
    "log_softmax": "log_softmax",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1",
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

# What is composed of several.
_COMPOSED = {**special_functions.FUNCTIONS, **orthogonal_polynomials.FUNCTIONS}
_COMPOSED["k0"] = _COMPOSED["modified_bessel_k0"]
_COMPOSED["k1"] = _COMPOSED["modified_bessel_k1"]
_COMPOSED["k0e"] = _COMPOSED["scaled_modified_bessel_k0"]
_COMPOSED["k1e"] = _COMPOSED["scaled_modified_bessel_k1"]

__all__ = sorted({*_NAMES, *_COMPOSED})


def __getattr__(name: str) -> Any:
    if name in _COMPOSED:
        return _COMPOSED[name]
    if name in _NAMES:
        return _C.ops[_NAMES[name]]
    raise AttributeError(f"relume.special has no function {name!r}")


def __dir__() -> list[str]:
    return __all__
