"""The normal distribution of vectors."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, standard_normal
from relume.distributions.parameters import common_dtype


def given_matrix(
    covariance_matrix: Tensor | None, precision_matrix: Tensor | None, scale_tril: Tensor | None
) -> tuple[str, Tensor]:
    """Which of the three is given, and what. ValueError unless it is exactly one."""
    matrices = {
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
        "scale_tril": scale_tril,
    }
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise ValueError(f"give exactly one of {', '.join(matrices)}")
    return given[0]


def lower_factor(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance that a matrix of this name describes."""
    if name == "scale_tril":
        return matrix
    covariance = matrix if name == "covariance_matrix" else rl.linalg.inv(matrix)
    return rl.linalg.cholesky(covariance)


class ByLowerFactor:
    """The three forms of a covariance, (..., d, d), of a distribution that keeps its factor."""

    _scale: Tensor

    @property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._scale

    @property
    def covariance_matrix(self) -> Tensor:
        """The factor times its transpose."""
        return self._scale @ self._scale.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return rl.linalg.inv(self.covariance_matrix)


class MultivariateNormal(ByLowerFactor, Distribution):
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
        self._given, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril)
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
        self._scale = lower_factor(self._given, self._matrix)

    def _parameters(self) -> dict[str, Tensor]:
        return {"loc": self.loc, self._given: self._matrix}

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


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors whose covariance is W W^T + D, D diagonal.

    Its cost grows with d r^2 instead of d^3.

    Args:
        loc: the mean, of shape (..., d).
        cov_factor: W, of shape (..., d, r).
        cov_diag: the diagonal of D, of shape (..., d), > 0.

    >>> normal = LowRankMultivariateNormal(rl.zeros(2), rl.ones(2, 1), rl.ones(2))
    >>> normal.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        size = loc.shape[-1] if loc.ndim else 0
        if cov_factor.ndim < 2 or cov_factor.shape[-2] != size or cov_diag.shape[-1:] != (size,):
            raise ValueError(
                f"LowRankMultivariateNormal: loc of shape (..., d) needs a cov_factor (..., d, r) "
                f"and a cov_diag (..., d), got {loc.shape}, {cov_factor.shape} and {cov_diag.shape}"
            )
        dtype = common_dtype((loc, cov_factor, cov_diag))
        batch = rl.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.to(dtype).expand((*batch, size))
        self.cov_factor = cov_factor.to(dtype).expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.to(dtype).expand((*batch, size))
        super().__init__(batch, (size,), validate_args)
        scaled = self.cov_factor / self.cov_diag.unsqueeze(-1)
        rank = cov_factor.shape[-1]
        # The Cholesky factor of 1 + W^T D^-1 W, of size r.
        inner = rl.eye(rank, dtype=dtype) + self.cov_factor.mT @ scaled
        self._inner_factor = rl.linalg.cholesky(inner)

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
        return self.cov_factor.square().sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """Of shape (..., d, d)."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, of shape (..., d, d)."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        half = rl.linalg.solve_triangular(self._inner_factor, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - half.mT @ half

    @property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, of shape (..., d, d)."""
        return rl.linalg.cholesky(self.covariance_matrix)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape, dtype = self._shape(sample_shape), self.loc.dtype
        factors = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), dtype)
        common = (self.cov_factor @ factors.unsqueeze(-1)).squeeze(-1)
        return self.loc + common + self.cov_diag.sqrt() * standard_normal(shape, dtype)

    def _log_determinant(self) -> Tensor:
        inner = rl.log(self._inner_factor.diagonal(0, -2, -1)).sum(-1)
        return 2 * inner + rl.log(self.cov_diag).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = self._checked(value, self.loc.dtype) - self.loc
        # Woodbury: of the distance by D alone, what W explains is taken away.
        scaled = difference / self.cov_diag
        projected = self.cov_factor.mT @ scaled.unsqueeze(-1)
        factor = self._inner_factor.expand((*projected.shape[:-2], *self._inner_factor.shape[-2:]))
        explained = rl.linalg.solve_triangular(factor, projected, upper=False)
        distance = (difference * scaled).sum(-1) - explained.square().sum((-2, -1))
        constant = self.event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_determinant() + distance)

    def entropy(self) -> Tensor:
        constant = self.event_shape[0] * (1 + math.log(2 * math.pi))
        return 0.5 * (constant + self._log_determinant())
