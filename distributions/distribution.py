"""What every distribution can do."""

from __future__ import annotations

from typing import Any, ClassVar

import relume as rl
from relume import Tensor
from relume.distributions.constraints import Constraint
from relume.distributions.parameters import tiny

Shape = tuple[int, ...]


class Distribution:
    """Base of the distributions.

    A distribution has a batch of parameters, of `batch_shape`; one draw of one of them has
    `event_shape`. Samples have the shape `sample_shape + batch_shape + event_shape`.

    Args:
        validate_args: check parameters and values; None takes the default (on).
    """

    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validates_by_default: ClassVar[bool] = True

    def __init__(
        self,
        batch_shape: Shape = (),
        event_shape: Shape = (),
        validate_args: bool | None = None,
    ) -> None:
        self.batch_shape, self.event_shape = tuple(batch_shape), tuple(event_shape)
        self.validates = self._validates_by_default if validate_args is None else validate_args
        if self.validates:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turns the checks of parameters and values on or off, for what is made from now on."""
        Distribution._validates_by_default = value

    @property
    def support(self) -> Constraint:
        """The values that can be drawn."""
        raise self._missing("support")

    @property
    def mean(self) -> Tensor:
        """The expected value, of shape batch_shape + event_shape."""
        raise self._missing("mean")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape batch_shape + event_shape."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, of shape batch_shape + event_shape."""
        return self.variance.sqrt()

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape batch_shape + event_shape."""
        raise self._missing("mode")

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws through which gradients flow to the parameters."""
        raise self._missing("rsample")

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws, off the tape.

        Args:
            sample_shape: how many draws of the whole batch.

        Returns:
            Tensor of shape sample_shape + batch_shape + event_shape.
        """
        with rl.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or probability) at a value.

        Args:
            value: of a shape that broadcasts to sample_shape + batch_shape + event_shape.

        Raises:
            ValueError: the value is outside of the support.
        """
        raise self._missing("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a value up to this one."""
        raise self._missing("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which lies this probability."""
        raise self._missing("icdf")

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape batch_shape."""
        raise self._missing("entropy")

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return rl.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, in a new first dimension.

        Args:
            expand: repeat them for the batch; otherwise its dimensions have size 1.
        """
        raise self._missing("enumerate_support")

    def expand(self, batch_shape: Shape) -> Any:
        """The same distribution with its batch broadcast to another shape."""
        arguments: dict[str, Any] = {}
        for name, value in self._parameters().items():
            count = self.arg_constraints[name].event_dim
            arguments[name] = value.expand((*batch_shape, *value.shape[len(value.shape) - count :]))
        return type(self)(**arguments, validate_args=False)

    def __repr__(self) -> str:
        fields = [f"{name}: {_shown(value)}" for name, value in self._parameters().items()]
        return f"{type(self).__name__}({', '.join(fields)})"

    def _parameters(self) -> dict[str, Tensor]:
        """The tensors that the distribution was made with, by the names of the arguments."""
        return {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}")

    def _shape(self, sample_shape: Shape) -> Shape:
        """The shape of a sample."""
        if isinstance(sample_shape, int):
            sample_shape = (sample_shape,)
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def _check_parameters(self) -> None:
        for name, value in self._parameters().items():
            constraint = self.arg_constraints[name]
            if not bool(constraint.check(value.detach()).all()):
                raise ValueError(
                    f"{type(self).__name__}: {name} must be in {constraint!r}, got {value}"
                )

    def _checked(self, value: Any, dtype: Any) -> Tensor:
        """A value of log_prob or cdf as a tensor, refused outside of the support."""
        value = rl.as_tensor(value)
        if value.dtype != dtype:
            value = value.to(dtype)
        if self.validates and not bool(self.support.check(value.detach()).all()):
            raise ValueError(
                f"{type(self).__name__}: the value must be in the support {self.support!r}, "
                f"got {value}"
            )
        return value


def _shown(value: Tensor) -> str:
    return str(value.item()) if value.numel() == 1 else f"of shape {tuple(value.shape)}"


def standard_normal(shape: Shape, dtype: Any) -> Tensor:
    """Draws of the standard normal distribution."""
    return rl.randn(shape, dtype=dtype)


def positive_uniform(shape: Shape, dtype: Any) -> Tensor:
    """Draws spread evenly over (0, 1), whose logarithms are finite."""
    return rl.rand(shape, dtype=dtype).clamp(min=max(tiny(dtype), 2.0**-33))
