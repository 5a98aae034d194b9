"""The normal distribution of vectors."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, standard_normal
from relume.distributions.parameters import common_dtype


class MultivariateNormal(Distribution):
    """The normal distribution of vectors of length d.

    Args:
        loc: the mean, of shape (..., d).
        covariance_matrix: of shape (..., d, d), positive definite.
        precision_matrix: its inverse; instead of it.
        scale_tril: its lower Cholesky factor; instead of it.

    >>> MultivariateNormal(rl.zeros(2), rl.eye(2)).log_prob(rl.zeros(2))
    tensor(-1.8379)
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(matrices)}")
        ((self._given, matrix),) = given.items()
        if loc.ndim < 1 or matrix.ndim < 2 or matrix.shape[-2:] != (loc.shape[-1],) * 2:
            raise ValueError(
                f"MultivariateNormal: loc of shape (..., d) needs a {self._given} of shape "
                f"(..., d, d), got {tuple(loc.shape)} and {tuple(matrix.shape)}"
            )
        dtype = common_dtype((loc, matrix))
        size = loc.shape[-1]
        batch = rl.broadcast_shapes(loc.shape[:-1], matrix.shape[:-2])
        self.loc = loc.to(dtype).expand((*batch, size))
        self._matrix = matrix.to(dtype).expand((*batch, size, size))
        super().__init__(batch, (size,), validate_args)
        self._scale = self._lower_factor()

    def _parameters(self) -> dict[str, Tensor]:
        return {"loc": self.loc, self._given: self._matrix}

    def _lower_factor(self) -> Tensor:
        if self._given == "scale_tril":
            return self._matrix
        if self._given == "covariance_matrix":
            return rl.linalg.cholesky(self._matrix)
        return rl.linalg.cholesky(rl.linalg.inv(self._matrix))

    @property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, of shape (..., d, d)."""
        return self._scale

    @property
    def covariance_matrix(self) -> Tensor:
        """Of shape (..., d, d)."""
        return self._scale @ self._scale.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, of shape (..., d, d)."""
        return rl.linalg.inv(self.covariance_matrix)

    @property
    def support(self) -> Constraint:
        return constraints.real_vector

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._scale.square().sum(-1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_normal(self._shape(sample_shape), self.loc.dtype)
        return self.loc + (self._scale @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_determinant(self) -> Tensor:
        """Half of the logarithm of the covariance's determinant, of shape batch_shape."""
        return rl.log(self._scale.diagonal(0, -2, -1)).sum(-1)

    def squared_distance(self, difference: Tensor) -> Tensor:
        """The squared Mahalanobis distance of vectors from the mean."""
        shape = rl.broadcast_shapes(difference.shape[:-1], self.batch_shape)
        size = self.event_shape[0]
        scale = self._scale.expand((*shape, size, size))
        column = difference.expand((*shape, size)).unsqueeze(-1)
        return rl.linalg.solve_triangular(scale, column, upper=False).square().sum((-2, -1))

    def log_prob(self, value: Tensor) -> Tensor:
        distance = self.squared_distance(self._checked(value, self.loc.dtype) - self.loc)
        constant = 0.5 * self.event_shape[0] * math.log(2 * math.pi)
        return -0.5 * distance - self.log_determinant() - constant

    def entropy(self) -> Tensor:
        constant = 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi))
        return self.log_determinant() + constant
