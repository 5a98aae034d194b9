"""Probability distributions: draws, densities, entropies and divergences.

>>> import relume as rl
>>> from relume.distributions import Normal, kl_divergence
>>> Normal(rl.zeros(2), 1.0).log_prob(rl.tensor([0.0, 1.0]))
tensor([-0.9189, -1.4189])
>>> kl_divergence(Normal(0.0, 1.0), Normal(0.0, 2.0))
tensor(0.3181)
"""

from relume.distributions import constraints, kl_of_families
from relume.distributions.bernoulli import Bernoulli, Geometric
from relume.distributions.beta import Beta, Dirichlet
from relume.distributions.categorical import (
    Categorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from relume.distributions.combined import Independent, MixtureSameFamily, TransformedDistribution
from relume.distributions.constraint_registry import biject_to, transform_to
from relume.distributions.counts import Binomial, Multinomial, NegativeBinomial, Poisson
from relume.distributions.distribution import Distribution
from relume.distributions.exponential import Exponential, GeneralizedPareto, Pareto, Weibull
from relume.distributions.gamma import Chi2, Gamma, InverseGamma
from relume.distributions.kl import kl_divergence, register_kl
from relume.distributions.location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, Uniform
from relume.distributions.logistic_normal import LogisticNormal
from relume.distributions.multivariate_normal import (
    LowRankMultivariateNormal,
    MultivariateNormal,
)
from relume.distributions.normal import HalfNormal, LogNormal, Normal
from relume.distributions.random_matrices import LKJCholesky, Wishart
from relume.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from relume.distributions.student_t import FisherSnedecor, StudentT
from relume.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from relume.distributions.transforms_of_vectors import (
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)
from relume.distributions.unit_interval import ContinuousBernoulli, Kumaraswamy
from relume.distributions.von_mises import VonMises

kl_of_families.install()

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
