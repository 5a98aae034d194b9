"""Probability distributions: draws, densities, entropies and divergences.

>>> import relume as rl
>>> from relume.distributions import Normal, kl_divergence
>>> Normal(rl.zeros(2), 1.0).log_prob(rl.tensor([0.0, 1.0]))
tensor([-0.9189, -1.4189])
>>> kl_divergence(Normal(0.0, 1.0), Normal(0.0, 2.0))
tensor(0.3181)
"""

from relume.distributions import constraints
from relume.distributions.bernoulli import Bernoulli, Geometric
from relume.distributions.beta import Beta, Dirichlet
from relume.distributions.categorical import (
    Categorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from relume.distributions.combined import Independent, MixtureSameFamily, TransformedDistribution
from relume.distributions.counts import Binomial, Multinomial, NegativeBinomial, Poisson
from relume.distributions.distribution import Distribution
from relume.distributions.exponential import Exponential, Pareto, Weibull
from relume.distributions.gamma import Chi2, Gamma, InverseGamma
from relume.distributions.kl import kl_divergence, register_kl
from relume.distributions.location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, Uniform
from relume.distributions.multivariate_normal import MultivariateNormal
from relume.distributions.normal import HalfNormal, LogNormal, Normal
from relume.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from relume.distributions.student_t import FisherSnedecor, StudentT
from relume.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
)

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "SigmoidTransform",
    "SoftplusTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "constraints",
    "kl_divergence",
    "register_kl",
]
