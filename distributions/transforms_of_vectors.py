"""Transforms whose last dimensions belong together, and transforms made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.parameters import epsilon, sum_last
from relume.distributions.transforms import Transform


class SoftmaxTransform(Transform):
    """y = softmax(x): not invertible, as only differences of x count; its inverse is log(y)."""

    event_dim = 1
    codomain = constraints.simplex

    def __call__(self, x: Tensor) -> Tensor:
        return rl.softmax(x, -1)

    def inv(self, y: Tensor) -> Tensor:
        return rl.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError("softmax maps many x to one y: it has no density to stretch")


class StickBreakingTransform(Transform):
    """Vectors of length d as d + 1 numbers that sum to 1: a stick is broken again and again.

    >>> StickBreakingTransform()(rl.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    event_dim = 1
    domain = constraints.real_vector
    codomain = constraints.simplex

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """log of how many pieces are still to come, so that 0 gives equal ones."""
        return rl.log(rl.arange(x.shape[-1], 0, -1, dtype=x.dtype))

    def __call__(self, x: Tensor) -> Tensor:
        z = rl.sigmoid(x - self._offset(x)).clamp(max=1 - epsilon(x.dtype))
        rest = (1 - z).cumprod(-1)
        return rl.pad(z, (0, 1), value=1) * rl.pad(rest, (1, 0), value=1)

    def inv(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]
        rest = (1 - pieces.cumsum(-1)).clamp(min=rl.finfo(y.dtype).tiny)
        return rl.log(pieces) - rl.log(rest) + self._offset(pieces)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shifted = x - self._offset(x)
        return (-shifted + rl.logsigmoid(shifted) + rl.log(y[..., :-1])).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal: its exponential.

    As many numbers stand above the diagonal unused, so it has no density to stretch.
    """

    event_dim = 2
    codomain = constraints.lower_cholesky

    def __call__(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def inv(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive definite ones: L L^T of their LowerCholeskyTransform L."""

    event_dim = 2
    codomain = constraints.positive_definite
    _factor = LowerCholeskyTransform()

    def __call__(self, x: Tensor) -> Tensor:
        lower = self._factor(x)
        return lower @ lower.mT

    def inv(self, y: Tensor) -> Tensor:
        return self._factor.inv(rl.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of length d (d - 1) / 2 as Cholesky factors of correlation matrices of size d.

    The tanh of each number is a partial correlation: a share of what is left of its row.

    >>> CorrCholeskyTransform()(rl.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    event_dim = 1
    codomain_event_dim = 2
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    @staticmethod
    def _matrix(vector: Tensor, size: int) -> Tensor:
        """The vector below the diagonal, row by row."""
        rows, columns = rl.tril_indices(size, size, -1)
        places = rows * size + columns
        zeros = rl.zeros((*vector.shape[:-1], size * size), dtype=vector.dtype)
        return zeros.index_copy(-1, places, vector).unflatten(-1, (size, size))

    def __call__(self, x: Tensor) -> Tensor:
        limit = 1 - epsilon(x.dtype)
        size = self.forward_shape(x.shape)[-1]
        partial = self._matrix(rl.tanh(x).clamp(-limit, limit), size)
        left = (1 - partial.square()).sqrt().cumprod(-1)  # of the row's length
        diagonal = rl.eye(size, dtype=x.dtype)
        return (partial + diagonal) * rl.pad(left[..., :-1], (1, 0), value=1)

    def inv(self, y: Tensor) -> Tensor:
        squares = 1 - y.square().cumsum(-1)
        left = rl.pad(squares[..., :-1], (1, 0), value=1).clamp(min=rl.finfo(y.dtype).tiny).sqrt()
        rows, columns = rl.tril_indices(y.shape[-1], y.shape[-1], -1)
        return rl.atanh((y / left)[..., rows, columns])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # Every factor of a row's rest stretches all that comes behind it in the row.
        squares = (1 - y.square().cumsum(-1)).tril(-2)
        rests = rl.log(rl.where(squares == 0, 1.0, squares)).sum((-2, -1)) / 2
        tanh = -2 * (x + rl.softplus(-2 * x) - math.log(2)).sum(-1)
        return rests + tanh

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        size = round((1 + math.sqrt(1 + 8 * shape[-1])) / 2)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(f"a vector of length {shape[-1]} is no lower triangle: d (d - 1) / 2")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class ReshapeTransform(Transform):
    """The same elements in another shape.

    Args:
        in_shape, out_shape: the event's shapes before and after.
    """

    def __init__(self, in_shape: Shape, out_shape: Shape) -> None:
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"shapes {in_shape} and {out_shape} have different sizes")
        self.event_dim, self.codomain_event_dim = len(self.in_shape), len(self.out_shape)
        self.domain = constraints.independent(constraints.real, self.event_dim)
        self.codomain = constraints.independent(constraints.real, self.codomain_event_dim)

    def __call__(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def inv(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return rl.zeros(x.shape[: x.ndim - self.event_dim], dtype=x.dtype)

    def _replaced(self, shape: Sequence[int], old: Shape, new: Shape) -> Shape:
        kept = len(shape) - len(old)
        if kept < 0 or tuple(shape[kept:]) != old:
            raise ValueError(f"ReshapeTransform: {tuple(shape)} does not end with {old}")
        return (*shape[:kept], *new)

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        return self._replaced(shape, self.out_shape, self.in_shape)


class IndependentTransform(Transform):
    """A transform whose last batch dimensions belong to one event.

    Args:
        base_transform: what is done.
        reinterpreted_batch_ndims: how many more dimensions belong together.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int) -> None:
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = count = reinterpreted_batch_ndims
        self.event_dim = base_transform.event_dim + count
        self.codomain_event_dim = base_transform.codomain_event_dim + count
        self.domain = constraints.independent(base_transform.domain, count)
        self.codomain = constraints.independent(base_transform.codomain, count)
        self.sign = base_transform.sign

    def __call__(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def inv(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        stretched = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_last(stretched, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Shape:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Shape:
        return self.base_transform.inverse_shape(shape)


class _PartWise(Transform):
    """Different transforms for parts along a dimension."""

    def __init__(self, transforms: Sequence[Transform], dim: int) -> None:
        self.transforms, self.dim = list(transforms), dim
        if any(t.event_dim != t.codomain_event_dim for t in self.transforms):
            raise ValueError(f"{type(self).__name__}: a part changes its number of dimensions")
        self.event_dim = self.codomain_event_dim = max(t.event_dim for t in self.transforms)

    def _parts(self, value: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _each(self, name: str, *values: Tensor) -> list[Any]:
        columns = zip(self.transforms, *map(self._parts, values), strict=True)
        return [getattr(transform, name)(*parts) for transform, *parts in columns]

    def __call__(self, x: Tensor) -> Tensor:
        return self._joined(self._each("__call__", x))

    def inv(self, y: Tensor) -> Tensor:
        return self._joined(self._each("inv", y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        stretched = [
            sum_last(part, self.event_dim - transform.event_dim)
            for transform, part in zip(
                self.transforms, self._each("log_abs_det_jacobian", x, y), strict=True
            )
        ]
        dim = self.dim if self.dim >= 0 else self.dim + x.ndim
        if dim < x.ndim - self.event_dim:
            return self._joined(stretched)
        return sum(stretched[1:], stretched[0])


class CatTransform(_PartWise):
    """Transforms of parts of a dimension.

    Args:
        tseq: a transform for each part.
        dim: the dimension.
        lengths: of the parts; 1 each when left out.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(tseq, dim)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms need as many lengths")

    def _parts(self, value: Tensor) -> list[Tensor]:
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return rl.cat(parts, self.dim)


class StackTransform(_PartWise):
    """A transform for each index of a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension, of as many elements.
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0) -> None:
        super().__init__(tseq, dim)

    def _parts(self, value: Tensor) -> list[Tensor]:
        return value.unbind(self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return rl.stack(parts, self.dim)


class CumulativeDistributionTransform(Transform):
    """y = P(value <= x) of a distribution, spread evenly over [0, 1] when x comes from it."""

    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution

    def __call__(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def inv(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
