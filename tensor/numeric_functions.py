"""NumPy's functions on numbers that are a few ops of the registry, on the tape."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor
from relume.tensor.dimensions import chosen_dimension
from relume.tensor.dtype_limits import result_type
from relume.tensor.list_functions import broadcast_tensors

_ops = _C.ops


def ptp(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The largest element minus the smallest, over dimensions (`axis` is `dim`), or over all.

    >>> import relume as rl
    >>> rl.ptp(rl.tensor([[1, 5], [2, 9]]), axis=1)
    tensor([4, 7])
    """
    dim = chosen_dimension(dim, axis)
    keep = keepdim or keepdims
    return _ops["amax"](input, dim, keep) - _ops["amin"](input, dim, keep)


def divmod(input: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    """The quotient rounded down, and the remainder, which has the sign of the divisor.

    >>> import relume as rl
    >>> rl.divmod(rl.tensor([7, -7]), 3)
    (tensor([ 2, -3]), tensor([1, 2]))
    """
    return _ops["floor_divide"](input, other), _ops["remainder"](input, other)


def modf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part, both with the sign of the element.

    >>> import relume as rl
    >>> rl.modf(rl.tensor([1.5, -2.25]))
    (tensor([ 0.5 , -0.25]), tensor([ 1., -2.]))
    """
    return _ops["frac"](input), _ops["trunc"](input)


def _running(
    name: str, start: int, input: Tensor, axis: int | None, dtype: Any, include_initial: bool
) -> Tensor:
    if axis is None and input.ndim != 1:
        raise ValueError(f"cumulative_{name}() needs an axis for a tensor of shape {input.shape}")
    dim = 0 if axis is None else axis
    total = _ops[f"cum{name}"](input, dim, dtype=dtype)
    if not include_initial:
        return total
    shape = list(total.shape)
    shape[dim] = 1
    return _ops["cat"]([_ops["full"](shape, start, dtype=total.dtype), total], dim)


def cumulative_sum(
    input: Tensor, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums up to each index of a dimension, with the empty sum before them if asked.

    >>> import relume as rl
    >>> rl.cumulative_sum(rl.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _running("sum", 0, input, axis, dtype, include_initial)


def cumulative_prod(
    input: Tensor, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The products up to each index of a dimension, with the empty product before them if asked.

    >>> import relume as rl
    >>> rl.cumulative_prod(rl.tensor([2, 3]), include_initial=True)
    tensor([1, 2, 6])
    """
    return _running("prod", 1, input, axis, dtype, include_initial)


def ediff1d(input: Tensor, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours, of the elements as one row, with values put around them.

    >>> import relume as rl
    >>> rl.ediff1d(rl.tensor([1, 4, 9]), to_begin=0)
    tensor([0, 3, 5])
    """
    row = input.reshape(-1)
    parts = [to_begin, row[1:] - row[:-1], to_end]
    given = [as_tensor(p, dtype=row.dtype).reshape(-1) for p in parts if p is not None]
    return _ops["cat"](given, 0)


def vecdot(x1: Tensor, x2: Tensor, axis: int = -1) -> Tensor:
    """Products of vectors along a dimension, the first ones conjugated; the others broadcast.

    >>> import relume as rl
    >>> rl.vecdot(rl.tensor([[1, 2], [3, 4]]), rl.tensor([1, 1]))
    tensor([3, 7])
    """
    first, second = broadcast_tensors(x1, x2)
    kind = result_type(first, second)
    left = _ops["conj"](first).to(kind).movedim(axis, -1).unsqueeze(-2)
    right = second.to(kind).movedim(axis, -1).unsqueeze(-1)
    return _ops["matmul"](left, right).squeeze(-1).squeeze(-1)


def matvec(x1: Tensor, x2: Tensor) -> Tensor:
    """Products of matrices (..., n, m) with vectors (..., m).

    >>> import relume as rl
    >>> rl.matvec(rl.ones(4, 2, 3), rl.ones(3)).shape
    (4, 2)
    """
    return _ops["matmul"](x1, x2.unsqueeze(-1)).squeeze(-1)


def vecmat(x1: Tensor, x2: Tensor) -> Tensor:
    """Products of vectors (..., n), conjugated, with matrices (..., n, m).

    >>> import relume as rl
    >>> rl.vecmat(rl.ones(2), rl.ones(4, 2, 3)).shape
    (4, 3)
    """
    return _ops["matmul"](_ops["conj"](x1).unsqueeze(-2), x2).squeeze(-2)


def digitize(input: Tensor, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each element falls into; 0 is before the first edge.

    Args:
        bins: edges, rising or falling.
        right: a bin holds its right edge (or its left one).

    >>> import relume as rl
    >>> rl.digitize(rl.tensor([0.2, 6.4, 3.0]), [0.0, 1.0, 2.5, 4.0])
    tensor([1, 4, 3])
    """
    edges = as_tensor(bins)
    if edges.numel() > 1 and edges[0].item() > edges[-1].item():
        return edges.numel() - _ops["searchsorted"](edges.flip(0), input, right=not right)
    return _ops["searchsorted"](edges, input, right=not right)


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The order of rows by several keys, the last of which counts most.

    >>> import relume as rl
    >>> rl.lexsort((rl.tensor([9, 4, 0]), rl.tensor([1, 5, 1])))
    tensor([2, 0, 1])
    """
    rows = [as_tensor(key) for key in keys]
    order = _ops["sort"](rows[0], axis)[1]
    for row in rows[1:]:
        order = _ops["gather"](order, axis, _ops["sort"](_ops["gather"](row, axis, order), axis)[1])
    return order


def partition(input: Tensor, kth: Any, axis: int | None = -1) -> Tensor:
    """The elements in an order in which the kth stands where sorting puts it.

    >>> import relume as rl
    >>> rl.partition(rl.tensor([7, 1, 5]), 1)
    tensor([1, 5, 7])
    """
    row = input.reshape(-1) if axis is None else input
    _check_places(kth, row, axis or 0)
    return _ops["sort"](row, -1 if axis is None else axis)[0]


def argpartition(input: Tensor, kth: Any, axis: int | None = -1) -> Tensor:
    """The indices of the elements in the order of `partition`.

    >>> import relume as rl
    >>> rl.argpartition(rl.tensor([7, 1, 5]), 1)
    tensor([1, 2, 0])
    """
    row = input.reshape(-1) if axis is None else input
    _check_places(kth, row, axis or 0)
    return _ops["sort"](row, -1 if axis is None else axis)[1]


def _check_places(kth: Any, row: Tensor, axis: int) -> None:
    size = row.size(axis)
    for place in (kth,) if isinstance(kth, int) else kth:
        if not -size <= place < size:
            raise ValueError(f"kth={place} is out of range for a dimension of size {size}")


def apply_along_axis(function: Callable[..., Any], axis: int, input: Tensor, *args: Any) -> Tensor:
    """What a function gives for each vector along a dimension, in the place of the vectors.

    Args:
        function: of a vector and `args`; gives a number or a tensor, always of one shape.

    >>> import relume as rl
    >>> rl.apply_along_axis(lambda row: row[0] + row[-1], 1, rl.tensor([[1, 2, 3], [4, 5, 6]]))
    tensor([ 4, 10])
    """
    rows = input.movedim(axis, -1)
    outer = rows.shape[:-1]
    results = [as_tensor(function(row, *args)) for row in rows.reshape(-1, rows.size(-1)).unbind(0)]
    if not results:
        raise ValueError(f"apply_along_axis() needs vectors, but the shape is {input.shape}")
    joined = _ops["stack"](results, 0)
    result = joined.reshape((*outer, *joined.shape[1:]))
    place = axis % input.ndim
    count = joined.ndim - 1
    return _ops["movedim"](
        result,
        tuple(builtins.range(len(outer), len(outer) + count)),
        tuple(builtins.range(place, place + count)),
    )


def apply_over_axes(
    function: Callable[[Tensor, int], Tensor], input: Tensor, axes: Sequence[int]
) -> Tensor:
    """A reduction over one dimension after the other, each kept with size 1.

    >>> import relume as rl
    >>> rl.apply_over_axes(rl.sum, rl.ones(2, 3, 4), (0, 2)).shape
    (1, 3, 1)
    """
    for axis in (axes,) if isinstance(axes, int) else axes:
        result = function(input, axis)
        input = result if result.ndim == input.ndim else result.unsqueeze(axis % input.ndim)
    return input


def fromfunction(function: Callable[..., Any], shape: Sequence[int], dtype: Any = None) -> Any:
    """A function of the indices of a grid: of one tensor for each dimension.

    >>> import relume as rl
    >>> rl.fromfunction(lambda i, j: i * 10 + j, (2, 2), dtype=rl.int64)
    tensor([[ 0,  1],
            [10, 11]])
    """
    rows = [_ops["arange"](0, size, 1, dtype=dtype or _C.default_float()) for size in shape]
    return function(*_ops["meshgrid"](rows, "ij"))


def piecewise(input: Tensor, conditions: Any, functions: Sequence[Any]) -> Tensor:
    """A function given by pieces: at each place that of the last condition that holds there.

    Args:
        conditions: masks.
        functions: one for each condition, and perhaps one for where none holds (otherwise 0);
            numbers are constant functions.

    >>> import relume as rl
    >>> x = rl.tensor([-2.0, 3.0])
    >>> rl.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 1.0])
    tensor([2., 1.])
    """
    masks = [as_tensor(c) for c in (conditions if isinstance(conditions, list) else [conditions])]
    if len(functions) not in (len(masks), len(masks) + 1):
        raise ValueError(
            f"piecewise() needs {len(masks)} or {len(masks) + 1} functions for its conditions, "
            f"not {len(functions)}"
        )
    otherwise = functions[-1] if len(functions) > len(masks) else 0
    result = _ops["zeros_like"](input) + _value(otherwise, input)
    for mask, function in zip(masks, functions, strict=False):
        result = _ops["where"](mask, _value(function, input), result)
    return result


def _value(function: Any, input: Tensor) -> Any:
    return function(input) if callable(function) else as_tensor(function, dtype=input.dtype)


def histogram2d(
    x: Tensor,
    y: Tensor,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points fall into each cell of a grid, and the edges of the grid.

    Args:
        x, y: the coordinates of the points, of shape (n,).
        bins: a count of cells, or one count or the edges for each of x and y.
        range: ((lowest x, highest x), (lowest y, highest y)); by default those of the points.
        density: give the density instead of the count: its integral over the grid is 1.
        weights: of shape (n,), what a point counts.

    >>> import relume as rl
    >>> counts, _, _ = rl.histogram2d(rl.tensor([0.0, 1.0, 1.0]), rl.tensor([0.0, 1.0, 1.0]), 2)
    >>> counts
    tensor([[1., 0.],
            [0., 2.]])
    """
    pair = (bins, bins) if isinstance(bins, int) else tuple(bins)
    counts, edges = histogramdd(_ops["stack"]([x, y], 1), pair, range, density, weights)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Tensor,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Tensor | None = None,
    *,
    weight: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points fall into each cell of a grid, and the edges along each dimension.

    Args:
        sample: the points, of shape (..., dimensions).
        bins: a count of cells, or one count or the edges for each dimension.
        range: (lowest, highest) for each dimension, also in one row as PyTorch has them; by
            default those of the points.
        density: give the density instead of the count: its integral over the grid is 1.
        weights: of shape (...,), what a point counts; PyTorch's name is weight.

    >>> import relume as rl
    >>> counts, edges = rl.histogramdd(rl.tensor([[0.0], [1.0], [1.0]]), 2)
    >>> counts
    tensor([1., 2.])
    """
    if not sample.is_floating_point():
        sample = sample.to(_C.default_float())
    weights = weight if weights is None else weights
    weights = weights if weights is None else weights.reshape(-1)
    sample = sample.reshape(-1, sample.shape[-1])
    columns = sample.unbind(1)
    kinds = [bins] * len(columns) if isinstance(bins, int) else list(bins)
    limits = [None] * len(columns) if range is None else list(range)
    if limits and isinstance(limits[0], int | float):
        limits = list(zip(limits[::2], limits[1::2], strict=True))
    if not len(kinds) == len(limits) == len(columns):
        raise ValueError(f"points of {len(columns)} dimensions need as many bins and ranges")
    edges = [_edges(c, k, r) for c, k, r in zip(columns, kinds, limits, strict=True)]
    sizes = [edge.numel() - 1 for edge in edges]
    cell = _ops["zeros"]((sample.size(0),), dtype="int64")
    inside = _ops["ones"]((sample.size(0),), dtype="bool")
    for column, edge, size in zip(columns, edges, sizes, strict=True):
        number = _ops["searchsorted"](edge, column.contiguous(), right=True) - 1
        number = _ops["where"](column == edge[-1], size - 1, number)
        inside = inside & (number >= 0) & (number < size)
        cell = cell * size + number
    weight = None if weights is None else weights[inside]
    counts = _ops["bincount"](cell[inside], weight, math.prod(sizes)).to(sample.dtype)
    counts = counts.reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for dim, edge in enumerate(edges):
            shape = [-1 if d == dim else 1 for d in builtins.range(len(edges))]
            counts = counts / edge.diff().reshape(shape)
    return counts, edges


def _edges(column: Tensor, bins: Any, limits: Any) -> Tensor:
    if not isinstance(bins, int):
        return as_tensor(bins, dtype=column.dtype)
    if limits is None:
        low, high = (column.min().item(), column.max().item()) if column.numel() else (0.0, 1.0)
    else:
        low, high = (float(limit) for limit in limits)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return _ops["linspace"](low, high, bins + 1, dtype=column.dtype)


def histogram_bin_edges(a: Tensor, bins: Any = 10, range: Any = None) -> Tensor:
    """The edges of equally wide bins for the elements of a tensor.

    Args:
        bins: how many, or the edges themselves.
        range: (lowest, highest); by default those of the elements.

    >>> import relume as rl
    >>> rl.histogram_bin_edges(rl.tensor([0.0, 2.0]), 2)
    tensor([0., 1., 2.])
    """
    values = a if a.is_floating_point() else a.to(_C.default_float())
    return _edges(values.reshape(-1), bins, range)


def iscomplex(input: Tensor) -> Tensor:
    """Has the element an imaginary part other than 0?

    >>> import relume as rl
    >>> rl.iscomplex(rl.tensor([1 + 1j, 1 + 0j]))
    tensor([ True, False])
    """
    if input.is_complex():
        return _ops["imag"](input) != 0
    return _ops["zeros_like"](input, dtype="bool")


def isscalar(element: Any) -> bool:
    """Is it a number or a text, not a tensor or a list?

    >>> import relume as rl
    >>> rl.isscalar(3.1), rl.isscalar([3.1])
    (True, False)
    """
    return isinstance(element, builtins.int | float | complex | bool | str | bytes)


def range(start: float, end: float, step: float = 1, dtype: Any = None) -> Tensor:
    """Numbers from `start` to `end`, which is one of them, as Torch7's and PyTorch's range.

    >>> import relume as rl
    >>> rl.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    count = int((end - start) / step + 1)
    numbers = _ops["arange"](0, count, 1, dtype="float64") * step + start
    return numbers.to(dtype or _C.default_float())


FUNCTIONS = (
    apply_along_axis,
    apply_over_axes,
    argpartition,
    cumulative_prod,
    cumulative_sum,
    digitize,
    divmod,
    ediff1d,
    fromfunction,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
    iscomplex,
    isscalar,
    lexsort,
    matvec,
    modf,
    partition,
    piecewise,
    ptp,
    range,
    vecdot,
    vecmat,
)
