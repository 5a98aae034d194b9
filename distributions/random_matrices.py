"""Distributions of matrices: Wishart's, and the Cholesky factors of correlations."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.beta import Beta
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, standard_normal
from relume.distributions.gamma import Chi2
from relume.distributions.multivariate_normal import ByLowerFactor, given_matrix, lower_factor
from relume.distributions.parameters import common_dtype


class Wishart(ByLowerFactor, Distribution):
    """The distribution of X^T X for n rows X of a normal distribution with mean 0.

    Args:
        df: n, > d - 1, of shape (...).
        covariance_matrix: of the rows, (..., d, d), positive definite.
        precision_matrix: its inverse; instead of it.
        scale_tril: its lower Cholesky factor; instead of it.

    >>> Wishart(3.0, rl.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    has_rsample = True
    arg_constraints = {
        "df": constraints.greater_than(0.0),
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._given, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        size = matrix.shape[-1]
        if matrix.ndim < 2 or matrix.shape[-2] != size:
            raise ValueError(f"Wishart: matrices must be square, not of shape {matrix.shape}")
        freedom = rl.as_tensor(df)
        dtype = common_dtype((freedom, matrix))
        batch = rl.broadcast_shapes(freedom.shape, matrix.shape[:-2])
        self.df = freedom.to(dtype).expand(batch)
        self._matrix = matrix.to(dtype).expand((*batch, size, size))
        super().__init__(batch, (size, size), validate_args)
        self._scale = lower_factor(self._given, self._matrix)
        if self.validates and not bool((self.df.detach() > size - 1).all()):
            raise ValueError(f"Wishart: df must be more than {size - 1}, got {self.df}")

    def _parameters(self) -> dict[str, Tensor]:
        return {"df": self.df, self._given: self._matrix}

    @property
    def support(self) -> Constraint:
        return constraints.positive_definite

    def _freedom(self) -> Tensor:
        return self.df[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._freedom() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The most probable matrix; NaN where df < d + 1."""
        factor = self._freedom() - self.event_shape[0] - 1
        return rl.where(factor > 0, factor, rl.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(0, -2, -1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._freedom() * (matrix.square() + products)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws by Bartlett's decomposition."""
        size = self.event_shape[0]
        freedom = self.df.unsqueeze(-1) - rl.arange(size, dtype=self.df.dtype)
        lengths = Chi2(freedom, validate_args=False).rsample(sample_shape).sqrt()
        below = standard_normal(self._shape(sample_shape), self.df.dtype).tril(-1)
        factor = self._scale @ (below + lengths.diag_embed())
        return factor @ factor.mT

    def _half_log_determinant(self) -> Tensor:
        return rl.log(self._scale.diagonal(0, -2, -1)).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value, self.df.dtype)
        size, df = self.event_shape[0], self.df
        shape = rl.broadcast_shapes(x.shape, self._scale.shape)
        scale = self._scale.expand(shape)
        solved = rl.cholesky_solve(x.expand(shape), scale)
        log_determinant = 2 * rl.log(rl.linalg.cholesky(x).diagonal(0, -2, -1)).sum(-1)
        constant = df * size / 2 * math.log(2) + rl.mvlgamma(df / 2, size)
        return (
            (df - size - 1) / 2 * log_determinant
            - solved.diagonal(0, -2, -1).sum(-1) / 2
            - df * self._half_log_determinant()
            - constant
        )

    def entropy(self) -> Tensor:
        size, df = self.event_shape[0], self.df
        places = rl.arange(size, dtype=df.dtype)
        digammas = rl.digamma((df.unsqueeze(-1) - places) / 2).sum(-1)
        return (
            (size + 1) * self._half_log_determinant()
            + size * (size + 1) / 2 * math.log(2)
            + rl.mvlgamma(df / 2, size)
            - (df - size - 1) / 2 * digammas
            + df * size / 2
        )


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices; Lewandowski, Kurowicka and Joe, 2009.

    The correlation matrices have a density in proportion to determinant ** (concentration - 1).

    Args:
        dim: the size of the matrices, at least 2.
        concentration: > 0; at 1 all correlation matrices are as likely.

    >>> L = LKJCholesky(3, 1.0).sample()
    >>> (L @ L.T).diagonal()
    tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}

    def __init__(
        self,
        dim: int,
        concentration: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim must be at least 2, not {dim}")
        given = rl.as_tensor(concentration)
        self.dim = dim
        self.concentration = given.to(common_dtype((given,)))
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.corr_cholesky

    def expand(self, batch_shape: Shape) -> LKJCholesky:
        return LKJCholesky(self.dim, self.concentration.expand(batch_shape), validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws row by row: a length, and a direction that is spread evenly (the onion)."""
        with rl.no_grad():
            shape, dtype = self._shape(sample_shape), self.concentration.dtype
            rows = rl.arange(1, self.dim, dtype=dtype)
            rest = self.concentration.unsqueeze(-1) + (self.dim - 1 - rows) / 2
            squares = Beta(rows / 2, rest, validate_args=False).sample(sample_shape)
            squares = rl.pad(squares, (1, 0))
            direction = standard_normal(shape, dtype).tril(-1)
            length = direction.norm(2, -1, True).clamp(min=rl.finfo(dtype).tiny)
            below = direction / length * squares.sqrt().unsqueeze(-1)
            return below + (1 - squares).clamp(0).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        factor = self._checked(value, self.concentration.dtype)
        dtype, below = factor.dtype, self.dim - 1
        powers = below - rl.arange(1, self.dim, dtype=dtype)
        powers = powers + 2 * (self.concentration.unsqueeze(-1) - 1)
        logs = rl.log(factor.diagonal(0, -2, -1)[..., 1:])
        alpha = self.concentration + below / 2
        constant = (
            below / 2 * math.log(math.pi)
            + rl.mvlgamma(alpha - 0.5, below)
            - below * rl.lgamma(alpha)
        )
        return (powers * logs).sum(-1) - constant
