"""What the parameters and the values of a distribution may be."""

from __future__ import annotations

import relume as rl
from relume import Tensor


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: are its elements isolated?
        event_dim: how many of the last dimensions make one value.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor: is each value in the set?"""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_").lower()


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # not NaN


class _RealVector(_Real):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value == value).all(-1)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _NonnegativeInteger(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0) & (value == value.floor())


class _PositiveInteger(_NonnegativeInteger):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value > 0)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6 + 1e-6 * value.shape[-1])


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return rl.full(value.shape[:-2], value.shape[-1] == value.shape[-2])


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return ((value - value.mT).abs() <= 1e-6 + 1e-5 * value.abs()).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.any():
            return symmetric
        eigenvalues = rl.linalg.eigvalsh(value)
        rounding = 10 * rl.finfo(value.dtype).eps * eigenvalues.abs().amax(-1, True)
        return symmetric & (eigenvalues >= -rounding).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.any():
            return symmetric
        return symmetric & (rl.linalg.eigvalsh(value) > 0).all(-1)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower Cholesky factors of correlation matrices: rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        lengths = value.square().sum(-1)
        tolerance = 10 * rl.finfo(value.dtype).eps * value.shape[-1]
        return super().check(value) & ((lengths - 1).abs() < tolerance).all(-1)


class Interval(Constraint):
    """Numbers from `lower` to `upper`, or between them where the ends are open."""

    def __init__(self, lower: Tensor | float | None, upper: Tensor | float | None, open: str = ""):
        self.lower, self.upper, self.open = lower, upper, open

    def check(self, value: Tensor) -> Tensor:
        inside = value == value
        if self.lower is not None:
            inside = inside & (value > self.lower if "[" not in self.open else value >= self.lower)
        if self.upper is not None:
            inside = inside & (value < self.upper if "]" not in self.open else value <= self.upper)
        return inside

    def __repr__(self) -> str:
        left = "[" if "[" in self.open else "("
        right = "]" if "]" in self.open else ")"
        return f"{left}{self.lower}, {self.upper}{right}"


class IntegerInterval(Constraint):
    """Whole numbers from `lower` to `upper`, both included."""

    is_discrete = True

    def __init__(self, lower: Tensor | float, upper: Tensor | float):
        self.lower, self.upper = lower, upper

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower) & (value <= self.upper) & (value == value.floor())

    def __repr__(self) -> str:
        return f"whole numbers from {self.lower} to {self.upper}"


class Counts(Constraint):
    """Vectors of whole numbers that sum to `total`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, total: int):
        self.total = total

    def check(self, value: Tensor) -> Tensor:
        whole = ((value >= 0) & (value == value.floor())).all(-1)
        return whole & (value.sum(-1) == self.total)

    def __repr__(self) -> str:
        return f"vectors of whole numbers that sum to {self.total}"


class Independent(Constraint):
    """Values whose last dimensions belong together."""

    def __init__(self, base: Constraint, count: int):
        self.base, self.count = base, count
        self.is_discrete, self.event_dim = base.is_discrete, base.event_dim + count

    def check(self, value: Tensor) -> Tensor:
        inside = self.base.check(value)
        return inside.all(tuple(range(-self.count, 0))) if self.count else inside


def interval(lower: Tensor | float, upper: Tensor | float) -> Interval:
    """Numbers from `lower` to `upper`, both included."""
    return Interval(lower, upper, open="[]")


def half_open_interval(lower: Tensor | float, upper: Tensor | float) -> Interval:
    """Numbers from `lower` to below `upper`."""
    return Interval(lower, upper, open="[")


def greater_than(lower: Tensor | float) -> Interval:
    """Numbers above `lower`."""
    return Interval(lower, None)


def greater_than_eq(lower: Tensor | float) -> Interval:
    """Numbers from `lower` on."""
    return Interval(lower, None, open="[")


def less_than(upper: Tensor | float) -> Interval:
    """Numbers below `upper`."""
    return Interval(None, upper)


def independent(base: Constraint, count: int) -> Constraint:
    """`base`, with `count` more dimensions belonging to one value."""
    return Independent(base, count)


integer_interval = IntegerInterval
multinomial = Counts
real: Constraint = _Real()
real_vector: Constraint = _RealVector()
boolean: Constraint = _Boolean()
one_hot: Constraint = _OneHot()
nonnegative_integer: Constraint = _NonnegativeInteger()
positive_integer: Constraint = _PositiveInteger()
positive: Constraint = greater_than(0.0)
nonnegative: Constraint = greater_than_eq(0.0)
unit_interval: Constraint = interval(0.0, 1.0)
simplex: Constraint = _Simplex()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
