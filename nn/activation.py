"""Activations: functions of every element, and the softmax family."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.nn import functional as F
from relume.nn.module import Module
from relume.nn.parameter import Parameter


class _Activation(Module):
    """An activation is a function of nn.functional and the attributes that it is called with.

    Class attributes:
        function: its name in nn.functional.
        options: names of its arguments, which are attributes of the module.
        shown: those that are printed by name; `shown_bare` those that are printed alone.
    """

    function: str
    options: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    shown_bare: tuple[str, ...] = ()

    def forward(self, input: Tensor) -> Tensor:
        if not self.options:
            return getattr(F, self.function)(input)
        members = self.__dict__
        options = {name: members[name] for name in self.options}
        return getattr(F, self.function)(input, **options)

    def extra_repr(self) -> str:
        parts = [str(getattr(self, name)) for name in self.shown_bare]
        parts += [f"{name}={getattr(self, name)}" for name in self.shown]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


class _InPlaceActivation(_Activation):
    """An activation without other settings than whether it writes into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, self.inplace)


class ReLU(_InPlaceActivation):
    """max(0, x).

    >>> import relume as rl
    >>> ReLU()(rl.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = "relu"


class ReLU6(_InPlaceActivation):
    """x between 0 and 6."""

    function = "relu6"


class SELU(_InPlaceActivation):
    """The self-normalising ELU of Klambauer et al., 2017."""

    function = "selu"


class SiLU(_InPlaceActivation):
    """x * sigmoid(x)."""

    function = "silu"


class Mish(_InPlaceActivation):
    """x * tanh(softplus(x)); Misra, 2019."""

    function = "mish"


class Hardswish(_InPlaceActivation):
    """x * relu6(x + 3) / 6."""

    function = "hardswish"


class Hardsigmoid(_InPlaceActivation):
    """relu6(x + 3) / 6."""

    function = "hardsigmoid"


class Tanh(_Activation):
    """tanh(x).

    >>> import relume as rl
    >>> Tanh()(rl.tensor([0.0]))
    tensor([0.])
    """

    function = "tanh"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    function = "sigmoid"


class LogSigmoid(_Activation):
    """log(sigmoid(x))."""

    function = "logsigmoid"


class Softsign(_Activation):
    """x / (1 + |x|)."""

    function = "softsign"


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    function = "tanhshrink"


class ELU(_Activation):
    """x where positive, otherwise alpha * (exp(x) - 1)."""

    function = "elu"
    options = ("alpha", "inplace")
    shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class CELU(_Activation):
    """x where positive, otherwise alpha * (exp(x / alpha) - 1)."""

    function = "celu"
    options = ("alpha", "inplace")
    shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class LeakyReLU(_Activation):
    """x where positive, otherwise negative_slope * x."""

    function = "leaky_relu"
    options = ("negative_slope", "inplace")
    shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace


class RReLU(_Activation):
    """Leaky ReLU with a random slope between lower and upper; in evaluation their mean."""

    function = "rrelu"
    shown_bare = ()
    shown = ("lower", "upper")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """Leaky ReLU with learned slopes, one for all channels or one each.

    Args:
        num_parameters: 1 or the number of channels (dimension 1).
        init: the slopes at first.

    >>> import relume as rl
    >>> PReLU()(rl.tensor([-4.0])).item()
    -1.0
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(rl.full((num_parameters,), init, dtype=dtype or rl.float32))

    def reset_parameters(self) -> None:
        """Sets the slopes to what they were at first."""
        with rl.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class GELU(_Activation):
    """x times the normal distribution function of x.

    Args:
        approximate: "none" or "tanh".
    """

    function = "gelu"
    options = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardtanh(_Activation):
    """x between min_val and max_val."""

    function = "hardtanh"
    options = ("min_val", "max_val", "inplace")
    shown = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise ValueError(f"max_val ({max_val}) must be larger than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, linear above the threshold."""

    function = "softplus"
    options = ("beta", "threshold")
    shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class Softshrink(_Activation):
    """x moved towards 0 by lambd."""

    function = "softshrink"
    options = ("lambd",)
    shown_bare = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd


class Hardshrink(Softshrink):
    """x where |x| > lambd, otherwise 0."""

    function = "hardshrink"


class Threshold(_Activation):
    """x where it is above the threshold, otherwise value."""

    function = "threshold"
    options = ("threshold", "value", "inplace")
    shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace


class GLU(_Activation):
    """The first half of a dimension times the sigmoid of the second; Dauphin et al., 2017."""

    function = "glu"
    options = ("dim",)
    shown = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class _AlongDimension(_Activation):
    options = ("dim",)
    shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDimension):
    """exp(x) divided by its sum along dim.

    >>> import relume as rl
    >>> Softmax(0)(rl.zeros(4))
    tensor([0.25, 0.25, 0.25, 0.25])
    """

    function = "softmax"


class LogSoftmax(_AlongDimension):
    """The logarithm of softmax along dim."""

    function = "log_softmax"


class Softmin(_AlongDimension):
    """softmax(-x) along dim."""

    function = "softmin"


class Softmax2d(Module):
    """softmax over the channels of (batch, channels, height, width)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d needs 3 or 4 dimensions, not {input.ndim}")
        return F.softmax(input, -3)
