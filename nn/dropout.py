"""Dropout: elements or whole channels set to zero at random while training."""

from __future__ import annotations

from relume import Tensor
from relume.nn import functional as F
from relume.nn.module import Module


class _Dropout(Module):
    function: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"the probability p must be between 0 and 1, not {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes elements with probability p and scales the others by 1 / (1 - p).

    Srivastava et al., 2014. In evaluation mode it does nothing.

    >>> import relume as rl
    >>> Dropout(0.5).eval()(rl.ones(3))
    tensor([1., 1., 1.])
    """

    function = "dropout"


class Dropout1d(_Dropout):
    """Zeroes whole channels of (batch, channels, length)."""

    function = "dropout1d"


class Dropout2d(_Dropout):
    """Zeroes whole channels of (batch, channels, height, width)."""

    function = "dropout2d"


class Dropout3d(_Dropout):
    """Zeroes whole channels of (batch, channels, depth, height, width)."""

    function = "dropout3d"


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance, for SELU; Klambauer et al., 2017."""

    function = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels."""

    function = "feature_alpha_dropout"
