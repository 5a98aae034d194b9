"""The normal distribution's like on a circle."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.parameters import broadcast_parameters


class VonMises(Distribution):
    """Angles around a mean direction.

    Args:
        loc: the mean, in radians.
        concentration: > 0; the larger, the closer.

    >>> VonMises(0.0, 1.0).log_prob(0.0)
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}

    def __init__(
        self,
        loc: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.concentration = broadcast_parameters(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.real

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _resultant(self) -> Tensor:
        """The mean of cos(x - loc)."""
        return rl.i1e(self.concentration) / rl.i0e(self.concentration)

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 minus the length of the mean direction."""
        return 1 - self._resultant()

    def _log_constant(self) -> Tensor:
        """log(2 pi I0(concentration)) - concentration."""
        return math.log(2 * math.pi) + rl.log(rl.i0e(self.concentration))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws, in [-pi, pi); by rejection from a wrapped Cauchy (Best and Fisher, 1979)."""
        shape = self._shape(sample_shape)
        with rl.no_grad():
            kappa = self.concentration.to(rl.float64)
            tau = 1 + (1 + 4 * kappa.square()).sqrt()
            # Of small concentrations the difference would be all cancellation.
            rho = 2 * kappa / (tau + (2 * tau).sqrt())
            r = rl.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho.square()) / (2 * rho))
            kappa, r = kappa.expand(shape), r.expand(shape)
            cosine = rl.zeros(shape, dtype=rl.float64)
            open_places = rl.ones(shape, dtype=rl.bool_)
            while bool(open_places.any()):
                z = rl.cos(math.pi * rl.rand(shape, dtype=rl.float64))
                proposed = (1 + r * z) / (r + z)
                c = kappa * (r - proposed)
                u = rl.rand(shape, dtype=rl.float64).clamp(min=1e-300)
                accepted = (c * (2 - c) > u) | (rl.log(c / u) + 1 - c >= 0)
                cosine = rl.where(open_places & accepted, proposed, cosine)
                open_places = open_places & ~accepted
            side = 2 * rl.bernoulli(rl.full(shape, 0.5, dtype=rl.float64)) - 1
            angle = side * rl.acos(cosine.clamp(-1, 1)) + self.loc.to(rl.float64)
            return ((angle + math.pi) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value, self.loc.dtype)
        # cos(a) - 1, which keeps its digits where cos(a) is near 1
        below_one = -2 * rl.sin((x - self.loc) / 2).square()
        return self.concentration * below_one - self._log_constant()

    def entropy(self) -> Tensor:
        return self.concentration * (1 - self._resultant()) + self._log_constant()
