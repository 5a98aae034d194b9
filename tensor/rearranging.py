"""NumPy's functions that put elements into other places, in terms of ops on the tape.

Axes are 0-based and count from the end when negative; `axis=None` reads the elements as one row.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor
from relume.tensor.index_functions import flatnonzero, put_along_dim, take_along_dim
from relume.tensor.list_functions import broadcast_tensors, meshgrid, tensor_split

_ops = _C.ops


def _row_or_along(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """The tensor and a dimension of it, not negative; without an axis the elements as one row."""
    tensor = as_tensor(a)
    if axis is None:
        return tensor.reshape(-1), 0
    if not -tensor.ndim <= axis < tensor.ndim:
        raise IndexError(f"axis {axis} is out of range for a tensor of shape {tensor.shape}")
    return tensor, axis % tensor.ndim


def expand_dims(input: Tensor, axis: int | Sequence[int]) -> Tensor:
    """A view with dimensions of size 1, where the result has them.

    >>> import relume as rl
    >>> rl.expand_dims(rl.ones(2), (0, 2)).shape
    (1, 2, 1)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = input.ndim + len(axes)
    if any(not -ndim <= one < ndim for one in axes):
        raise IndexError(f"expand_dims() needs axes of the {ndim} of the result: {axis}")
    places = sorted({one % ndim for one in axes})
    if len(places) != len(axes):
        raise ValueError(f"expand_dims() needs different axes of the {ndim} of the result: {axis}")
    for place in places:
        input = input.unsqueeze(place)
    return input


def permute_dims(input: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """A view with the dimensions in another order, by default reversed.

    >>> import relume as rl
    >>> rl.permute_dims(rl.ones(2, 3, 4)).shape
    (4, 3, 2)
    """
    return input.permute(tuple(axes) if axes is not None else tuple(range(input.ndim))[::-1])


def rollaxis(input: Tensor, axis: int, start: int = 0) -> Tensor:
    """A view with one dimension moved before another.

    >>> import relume as rl
    >>> rl.rollaxis(rl.ones(2, 3, 4), 2).shape
    (4, 2, 3)
    """
    _, place = _row_or_along(input, axis)
    before = start + input.ndim if start < 0 else start
    return _ops["movedim"](input, place, before - 1 if before > place else before)


def matrix_transpose(input: Tensor) -> Tensor:
    """A view with the last two dimensions exchanged.

    >>> import relume as rl
    >>> rl.matrix_transpose(rl.ones(5, 2, 3)).shape
    (5, 3, 2)
    """
    return input.transpose(-2, -1)


def array_split(input: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Views of parts of a dimension; sizes need not be equal.

    >>> import relume as rl
    >>> [part.tolist() for part in rl.array_split(rl.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    return tensor_split(input, indices_or_sections, axis)


def broadcast_arrays(*tensors: Tensor) -> list[Tensor]:
    """Views of the shape that the tensors broadcast to together.

    >>> import relume as rl
    >>> [t.shape for t in rl.broadcast_arrays(rl.ones(3), rl.ones(2, 1))]
    [(2, 3), (2, 3)]
    """
    return broadcast_tensors(*tensors)


def unstack(input: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of all indices of a dimension.

    >>> import relume as rl
    >>> rl.unstack(rl.tensor([[1, 2], [3, 4]]), axis=1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    return tuple(input.unbind(axis))


def append(input: Tensor, values: Any, axis: int | None = None) -> Tensor:
    """The values behind the tensor along a dimension.

    >>> import relume as rl
    >>> rl.append(rl.tensor([[1, 2]]), [[3, 4]], axis=0)
    tensor([[1, 2],
            [3, 4]])
    """
    tensor, dim = _row_or_along(input, axis)
    more, _ = _row_or_along(values, axis)
    return _ops["cat"]([tensor, more], dim)


def _places(index: Any, size: int, ends: int) -> list[int]:
    """Positions 0, 1, ... below `ends` that an integer, slice, mask or list of them names."""
    if isinstance(index, builtins.slice):
        return list(range(*index.indices(size)))
    chosen = as_tensor(index)
    if chosen.dtype.name == "bool":
        chosen = flatnonzero(chosen)
    places = [int(place) for place in chosen.reshape(-1).tolist()]
    for place in places:
        if not -size <= place < ends:
            raise IndexError(f"index {place} is out of range for a dimension of size {size}")
    return [place + size if place < 0 else place for place in places]


def delete(input: Tensor, obj: Any, axis: int | None = None) -> Tensor:
    """A copy without some indices of a dimension.

    Args:
        obj: an index, a slice, a list of indices, or a mask.

    >>> import relume as rl
    >>> rl.delete(rl.arange(5), [1, -1])
    tensor([0, 2, 3])
    """
    tensor, dim = _row_or_along(input, axis)
    size = tensor.size(dim)
    gone = set(_places(obj, size, size))
    kept = as_tensor([place for place in range(size) if place not in gone], dtype="int64")
    return _ops["index_select"](tensor, dim, kept)


def insert(input: Tensor, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """A copy with values put before some indices of a dimension.

    Args:
        obj: an index, a slice or a list of indices, of the tensor as it was.
        values: what broadcasts to the rows put in.

    >>> import relume as rl
    >>> rl.insert(rl.tensor([1, 2, 3]), 1, 9)
    tensor([1, 9, 2, 3])
    >>> rl.insert(rl.zeros(2, 2), [0, 2], 5.0, axis=1)
    tensor([[5., 0., 0., 5.],
            [5., 0., 0., 5.]])
    """
    tensor, dim = _row_or_along(input, axis)
    size = tensor.size(dim)
    places = _places(obj, size, size + 1)
    rows = as_tensor(values, dtype=tensor.dtype)
    while rows.ndim < tensor.ndim:
        rows = rows.unsqueeze(0)
    if isinstance(obj, int):  # all of the values go before this one index
        rows = rows.movedim(0, dim)
        places = places * rows.size(dim)
    shape = [len(places) if d == dim else tensor.size(d) for d in range(tensor.ndim)]
    both = _ops["cat"]([tensor, rows.expand(shape)], dim)
    order = sorted(range(len(places)), key=places.__getitem__)
    sources: list[int] = []
    for place in range(size + 1):
        while order and places[order[0]] == place:
            sources.append(size + order.pop(0))
        sources.append(place)
    return _ops["index_select"](both, dim, as_tensor(sources[:-1], dtype="int64"))


def resize(input: Tensor, new_shape: int | Sequence[int]) -> Tensor:
    """The elements in row-major order in a new shape, from the start again when they run out.

    >>> import relume as rl
    >>> rl.resize(rl.tensor([1, 2, 3]), (2, 2))
    tensor([[1, 2],
            [3, 1]])
    """
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = math.prod(shape)
    row = input.reshape(-1)
    if not row.numel():
        return _ops["zeros"](shape, dtype=input.dtype)
    return row.repeat(-(-count // row.numel()))[:count].reshape(shape)


def trim_zeros(filt: Tensor, trim: str = "fb") -> Tensor:
    """A view of a vector without the zeros at its front ("f") and back ("b").

    >>> import relume as rl
    >>> rl.trim_zeros(rl.tensor([0, 0, 1, 0, 2, 0]))
    tensor([1, 0, 2])
    """
    found = flatnonzero(filt).tolist()
    if not found:
        return filt[:0]
    first = found[0] if "f" in trim.lower() else 0
    last = found[-1] + 1 if "b" in trim.lower() else filt.numel()
    return filt[first:last]


def copy(input: Tensor) -> Tensor:
    """The elements on memory of their own.

    >>> import relume as rl
    >>> rl.copy(rl.tensor([1]))
    tensor([1])
    """
    return as_tensor(input).clone()


def take_along_axis(input: Tensor, indices: Tensor, axis: int | None = -1) -> Tensor:
    """The elements at `indices` of a dimension; both broadcast in the others.

    >>> import relume as rl
    >>> x = rl.tensor([[3, 1], [2, 5]])
    >>> rl.take_along_axis(x, rl.argsort(x, axis=1), axis=1)
    tensor([[1, 3],
            [2, 5]])
    """
    return take_along_dim(input, indices, axis)


def put_along_axis(input: Tensor, indices: Tensor, values: Any, axis: int) -> None:
    """Writes values at `indices` of a dimension, in place.

    >>> import relume as rl
    >>> x = rl.zeros(2, 2)
    >>> rl.put_along_axis(x, rl.tensor([[1], [0]]), 7.0, axis=1)
    >>> x
    tensor([[0., 7.],
            [7., 0.]])
    """
    input.copy_(put_along_dim(input, indices, values, axis))


def compress(condition: Any, input: Tensor, axis: int | None = None) -> Tensor:
    """The indices of a dimension for which the condition holds.

    >>> import relume as rl
    >>> rl.compress([False, True], rl.tensor([[1, 2], [3, 4]]), axis=0)
    tensor([[3, 4]])
    """
    tensor, dim = _row_or_along(input, axis)
    return _ops["index_select"](tensor, dim, flatnonzero(as_tensor(condition)))


def extract(condition: Any, input: Tensor) -> Tensor:
    """The elements for which the condition holds, in row-major order.

    >>> import relume as rl
    >>> x = rl.arange(5)
    >>> rl.extract(x % 2 == 0, x)
    tensor([0, 2, 4])
    """
    return compress(as_tensor(condition).reshape(-1), input)


def choose(indices: Tensor, choices: Any) -> Tensor:
    """At each place the element of the tensor whose number stands there.

    Args:
        indices: integers from 0 to the count of choices - 1.
        choices: tensors, or one tensor of them along its first dimension; all broadcast.

    >>> import relume as rl
    >>> rl.choose(rl.tensor([1, 0, 1]), [rl.tensor([1, 2, 3]), rl.tensor([10, 20, 30])])
    tensor([10,  2, 30])
    """
    place, *rows = broadcast_tensors(indices, *(as_tensor(choice) for choice in choices))
    return _ops["gather"](_ops["stack"](rows, 0), 0, place.unsqueeze(0))[0]


def ix_(*sequences: Any) -> tuple[Tensor, ...]:
    """Index tensors that together name a grid of rows, columns, ...

    >>> import relume as rl
    >>> rl.arange(9).reshape(3, 3)[rl.ix_([0, 2], [1, 2])]
    tensor([[1, 2],
            [7, 8]])
    """
    grid = []
    for dim, sequence in enumerate(sequences):
        row = as_tensor(sequence)
        if row.dtype.name == "bool":
            row = flatnonzero(row)
        grid.append(row.reshape([-1 if d == dim else 1 for d in range(len(sequences))]))
    return tuple(grid)


def indices(dimensions: Sequence[int]) -> Tensor:
    """The indices of a grid: at [d, i, j, ...] the index along dimension d.

    >>> import relume as rl
    >>> rl.indices((1, 2))
    tensor([[[0, 0]],
    <BLANKLINE>
            [[0, 1]]])
    """
    return _ops["stack"](meshgrid(*(_ops["arange"](0, size, 1) for size in dimensions)), 0)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Index tensors of the main diagonal of a square tensor.

    >>> import relume as rl
    >>> rl.eye(2)[rl.diag_indices(2)]
    tensor([1., 1.])
    """
    return (_ops["arange"](0, n, 1),) * ndim


def identity(n: int, dtype: Any = None) -> Tensor:
    """A square matrix of ones on the diagonal.

    >>> import relume as rl
    >>> rl.identity(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _ops["eye"](n, dtype=dtype)


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """A matrix of ones at and below diagonal k.

    >>> import relume as rl
    >>> rl.tri(2, 3)
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    return _ops["tril"](_ops["ones"]((n, n if m is None else m), dtype=dtype), k)


FUNCTIONS = (
    append,
    array_split,
    broadcast_arrays,
    choose,
    compress,
    copy,
    delete,
    diag_indices,
    expand_dims,
    extract,
    identity,
    indices,
    insert,
    ix_,
    matrix_transpose,
    permute_dims,
    put_along_axis,
    resize,
    rollaxis,
    take_along_axis,
    tri,
    trim_zeros,
    unstack,
)
