"""Functions that read and write at indices, and those whose arguments have several meanings."""

from __future__ import annotations

import math
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.dimensions import takes_numpy_names
from relume.tensor.list_functions import broadcast_shapes

_ops = _C.ops


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not 0, one row each.

    >>> import relume as rl
    >>> rl.argwhere(rl.tensor([[0, 5], [7, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    return _ops["nonzero"](input)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0, in row-major order.

    Args:
        as_tuple: one vector for each dimension, to index with, instead of one row per element.

    >>> import relume as rl
    >>> rl.nonzero(rl.tensor([0, 5, 7])).tolist()
    [[1], [2]]
    >>> rl.nonzero(rl.tensor([0, 5, 7]), as_tuple=True)
    (tensor([1, 2]),)
    """
    if not as_tuple:
        return _ops["nonzero"](input)
    if input.ndim == 0:
        return tuple(_ops["nonzero"](input.reshape(1)).unbind(1))
    return tuple(_ops["nonzero"](input).unbind(1))


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where the condition is true, of `other` elsewhere.

    With the condition alone: the indices of its true elements, one vector per dimension.

    >>> import relume as rl
    >>> rl.where(rl.tensor([True, False]), rl.tensor([1, 2]), 0)
    tensor([1, 0])
    >>> rl.where(rl.tensor([False, True]))
    (tensor([1]),)
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return _ops["where"](condition, input, other)


@takes_numpy_names
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at `indices` of a dimension; both broadcast in the others.

    Args:
        dim: without one, both are read as one row.

    >>> import relume as rl
    >>> x = rl.tensor([[3, 1], [2, 4]])
    >>> rl.take_along_dim(x, x.argsort(1), 1).tolist()
    [[1, 3], [2, 4]]
    """
    if dim is None:
        return _ops["gather"](input.reshape(-1), 0, indices.reshape(-1))
    source, index = _broadcast_but(input, indices, dim)
    return _ops["gather"](source, dim, index)


@takes_numpy_names
def put_along_dim(input: Tensor, indices: Tensor, values: Any, dim: int) -> Tensor:
    """A copy with `values` written at `indices` of a dimension; they broadcast in the others.

    >>> import relume as rl
    >>> rl.put_along_dim(rl.zeros(2, 2), rl.tensor([[1], [0]]), 5.0, 1).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    if indices.ndim != input.ndim:
        raise ValueError(
            f"put_along_dim() needs indices of {input.ndim} dimensions, not shape {indices.shape}"
        )
    shape = list(input.shape)
    shape[dim] = indices.size(dim)
    index = indices.expand(shape)
    if isinstance(values, Tensor):
        values = values.to(input.dtype).expand(shape)
    return _ops["scatter"](input, dim, index, values)


def _broadcast_but(input: Tensor, indices: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Both tensors expanded to one shape in all dimensions but `dim`."""
    if input.ndim != indices.ndim:
        raise ValueError(
            "input and indices need as many dimensions, but have shapes "
            f"{input.shape} and {indices.shape}"
        )
    own, index = list(input.shape), list(indices.shape)
    lengths = own[dim], index[dim]
    own[dim] = index[dim] = 1
    shape = list(broadcast_shapes(own, index))
    return tuple(
        tensor.expand([*shape[:place], length, *shape[place + 1 :]])
        for place in [dim % len(shape)]
        for tensor, length in zip((input, indices), lengths, strict=True)
    )  # type: ignore[return-value]


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy with a region, given by size, stride and offset, replaced.

    >>> import relume as rl
    >>> rl.as_strided_scatter(rl.zeros(4), rl.ones(2), (2,), (2,), 1).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return _ops["as_strided_scatter"](input, src, size, stride, start)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places in row-major order as an index for each dimension.

    Args:
        indices: integers from 0 to the number of elements - 1.
        shape: the dimensions.

    Raises:
        IndexError: a place outside of the shape.

    >>> import relume as rl
    >>> rl.unravel_index(rl.tensor([4]), (2, 3))
    (tensor([1]), tensor([1]))
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    total = math.prod(sizes)
    if indices.numel() and bool(((indices < 0) | (indices >= total)).any()):
        raise IndexError(f"unravel_index(): a shape of {sizes} has places 0 to {total - 1} only")
    places, result = indices.long(), []
    for size in reversed(sizes):
        result.append(places % size)
        places = places // size
    return tuple(reversed(result))


def ravel_multi_index(multi_index: Any, dims: Any) -> Tensor:
    """Indices of each dimension as places in row-major order.

    Args:
        multi_index: a tensor of integers for each dimension.
        dims: the sizes.

    Raises:
        IndexError: an index outside of its dimension.

    >>> import relume as rl
    >>> rl.ravel_multi_index((rl.tensor([1]), rl.tensor([1])), (2, 3))
    tensor([4])
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"{len(dims)} dimensions need as many indices, not {len(multi_index)}")
    place: Any = 0
    for index, size in zip(multi_index, dims, strict=True):
        if bool(((index < 0) | (index >= size)).any()):
            raise IndexError(f"ravel_multi_index(): an index is outside of a dimension of {size}")
        place = place * size + index
    return place


def flatnonzero(input: Tensor) -> Tensor:
    """The places, in row-major order, of the elements other than 0.

    >>> import relume as rl
    >>> rl.flatnonzero(rl.tensor([[0, 2], [3, 0]]))
    tensor([1, 2])
    """
    return _ops["nonzero"](input.reshape(-1)).reshape(-1)


def index_put(
    input: Tensor, indices: tuple[Tensor, ...], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with values at indices; they are added with `accumulate`.

    >>> import relume as rl
    >>> rl.index_put(rl.zeros(3), (rl.tensor([1]),), rl.tensor(5.0))
    tensor([0., 5., 0.])
    """
    return input.index_put(indices, values, accumulate)


FUNCTIONS = (
    argwhere,
    as_strided_scatter,
    flatnonzero,
    index_put,
    nonzero,
    put_along_dim,
    ravel_multi_index,
    take_along_dim,
    unravel_index,
    where,
)
_METHODS = (argwhere, as_strided_scatter, nonzero, put_along_dim, take_along_dim)
METHODS = {f.__name__: f for f in _METHODS} | {
    "where": lambda tensor, condition, other: _ops["where"](condition, tensor, other)
}
