"""Functions on several tensors, or that give several: splitting, joining, grids, contractions."""

from __future__ import annotations

import builtins
import operator
import string
from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.dimensions import takes_numpy_names

_ops = _C.ops


def _given(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one or as one list."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        return list(tensors[0])
    return list(tensors)


@takes_numpy_names
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: int | None = None,
) -> list[Tensor]:
    """Views of parts of a dimension; sizes need not be equal.

    Args:
        indices_or_sections: how many parts (the first ones are larger by one where it does not
            come out even), or where to cut, as a list or a tensor of integers.
        indices, sections: the same by the name of what it is.

    Raises:
        TypeError: none of these was given, or several.

    >>> import relume as rl
    >>> [part.tolist() for part in rl.tensor_split(rl.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    >>> [part.tolist() for part in rl.tensor_split(rl.arange(5), (1, 4))]
    [[0], [1, 2, 3], [4]]
    """
    given = [where for where in (indices_or_sections, indices, sections) if where is not None]
    if len(given) != 1:
        raise TypeError("tensor_split() takes one of indices_or_sections, indices and sections")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    if isinstance(where, list | tuple):
        return _ops["split_at"](input, tuple(where), dim)
    return _ops["split_evenly"](input, where, dim)


def _split_along(name: str, input: Tensor, indices_or_sections: Any, dim: int) -> list[Tensor]:
    if input.ndim == 0:
        raise ValueError(f"{name}() cannot split a 0-d tensor")
    if isinstance(indices_or_sections, int) and input.size(dim) % builtins.max(
        indices_or_sections, 1
    ):
        raise ValueError(
            f"{name}() needs sections of equal size, but dimension {dim} has size "
            f"{input.size(dim)}, which {indices_or_sections} does not divide; use tensor_split"
        )
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """Views of equal parts side by side: of the second dimension, of a vector the only one.

    >>> import relume as rl
    >>> [part.tolist() for part in rl.hsplit(rl.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if input.ndim < 2 else 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """Views of equal parts of the first dimension of a tensor of two or more.

    >>> import relume as rl
    >>> [part.shape for part in rl.vsplit(rl.ones(4, 2), 2)]
    [(2, 2), (2, 2)]
    """
    if input.ndim < 2:
        raise ValueError(f"vsplit() needs at least 2 dimensions, not shape {input.shape}")
    return _split_along("vsplit", input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> list[Tensor]:
    """Views of equal parts of the third dimension.

    >>> import relume as rl
    >>> [part.shape for part in rl.dsplit(rl.ones(1, 2, 4), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    if input.ndim < 3:
        raise ValueError(f"dsplit() needs at least 3 dimensions, not shape {input.shape}")
    return _split_along("dsplit", input, indices_or_sections, 2)


def broadcast_tensors(*tensors: Any) -> list[Tensor]:
    """The tensors as views of the shape that they broadcast to together.

    >>> import relume as rl
    >>> [t.shape for t in rl.broadcast_tensors(rl.ones(3), rl.ones(2, 1))]
    [(2, 3), (2, 3)]
    """
    return _ops["broadcast_tensors"](_given(tensors))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * builtins.max((len(size) for size in sizes), default=0)
    for size in sizes:
        for place, length in enumerate(reversed(size), start=1):
            if length == 1:
                continue
            if result[-place] not in (1, length):
                raise ValueError(
                    f"shapes {', '.join(map(str, sizes))} cannot be broadcast together"
                )
            result[-place] = length
    return tuple(result)


def meshgrid(*tensors: Any, indexing: str = "ij") -> list[Tensor]:
    """The coordinates of a grid, one tensor for each axis, as views.

    Args:
        tensors: vectors, the places along each axis.
        indexing: "ij": dimension i belongs to vector i; "xy" exchanges the first two.

    >>> import relume as rl
    >>> rows, columns = rl.meshgrid(rl.arange(2), rl.arange(3))
    >>> columns
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    return _ops["meshgrid"](_given(tensors), indexing)


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, one row each.

    >>> import relume as rl
    >>> rl.cartesian_prod(rl.tensor([1, 2]), rl.tensor([5, 6])).tolist()
    [[1, 5], [1, 6], [2, 5], [2, 6]]
    """
    return _ops["cartesian_prod"](_given(tensors))


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    >>> import relume as rl
    >>> rl.block_diag(rl.ones(1, 2), rl.ones(1)).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return _ops["block_diag"](_given(tensors))


def _atleast(name: str) -> Any:
    def atleast(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _ops[name](tensors[0])
        return tuple(_ops[name](tensor) for tensor in _given(tensors))

    atleast.__name__ = atleast.__qualname__ = name
    atleast.__doc__ = (
        f"The tensor with at least {name[-2]} dimension(s); several tensors give a tuple.\n\n"
        f">>> import relume as rl\n>>> rl.{name}(rl.tensor(3)).ndim\n{name[-2]}\n"
    )
    return atleast


atleast_1d, atleast_2d, atleast_3d = map(_atleast, ("atleast_1d", "atleast_2d", "atleast_3d"))


def _equation(arguments: Sequence[Any]) -> tuple[str, list[Tensor]]:
    """The equation and the operands of: operand, its numbers, ..., and the result's numbers."""
    letters = dict(enumerate(string.ascii_letters))

    def text(sublist: Any) -> str:
        try:
            return "".join("..." if n is Ellipsis else letters[operator.index(n)] for n in sublist)
        except KeyError as error:
            raise ValueError(f"einsum() numbers dimensions from 0 to 51, not {error}") from None

    pairs, rest = arguments[: len(arguments) // 2 * 2], arguments[len(arguments) // 2 * 2 :]
    equation = ",".join(map(text, pairs[1::2]))
    return equation + (f"->{text(rest[0])}" if rest else ""), list(pairs[::2])


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Einstein's summation: products of tensors, summed over the letters that the result lacks.

    Args:
        equation: a letter for each dimension of each operand, "ij,jk->ik"; "..." stands for
            dimensions that broadcast. Without an arrow the result has the letters that stand once,
            in alphabetical order.
        operands: the tensors. In place of an equation they may be followed by lists of numbers
            for their dimensions: einsum(a, [0, 1], b, [1, 2], [0, 2]).

    >>> import relume as rl
    >>> a, b = rl.ones(2, 3), rl.ones(3, 4)
    >>> rl.einsum("ij,jk->ik", a, b).shape
    (2, 4)
    """
    if isinstance(equation, Tensor):
        return _ops["einsum"](*_equation((equation, *operands)))
    return _ops["einsum"](equation, _given(operands))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums products over pairs of dimensions of two tensors.

    Args:
        dims: how many last dimensions of `a` meet as many first ones of `b`, or two lists with
            the dimensions of each.

    >>> import relume as rl
    >>> rl.tensordot(rl.ones(2, 3), rl.ones(3, 4), dims=1).shape
    (2, 4)
    >>> rl.tensordot(rl.ones(2, 3), rl.ones(4, 3), dims=([1], [1])).shape
    (2, 4)
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= builtins.min(a.ndim, b.ndim):
            raise ValueError(
                f"tensordot() cannot contract {dims} dimensions of shapes {a.shape} and {b.shape}"
            )
        pair: Any = (range(a.ndim - dims, a.ndim), range(dims))
    else:
        pair = [(part,) if isinstance(part, int) else part for part in dims]
    first, second = pair
    return _ops["contract_dims"](a, b, tuple(first), tuple(second))


def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, in the order of multiplication that costs least.

    >>> import relume as rl
    >>> rl.chain_matmul(rl.ones(2, 3), rl.ones(3, 4), rl.ones(4, 5)).shape
    (2, 5)
    """
    chain = _given(matrices)
    if not chain:
        raise ValueError("chain_matmul() needs at least one matrix")
    sizes = [matrix.size(0) for matrix in chain] + [chain[-1].size(1)]
    split = _cheapest_splits(sizes)

    def multiply(first: int, last: int) -> Tensor:
        if first == last:
            return chain[first]
        middle = split[first, last]
        return _ops["mm"](multiply(first, middle), multiply(middle + 1, last))

    return multiply(0, len(chain) - 1)


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each product of consecutive matrices (dynamic programming over lengths)."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            options = (
                (
                    cost[first, middle]
                    + cost[middle + 1, last]
                    + sizes[first] * sizes[middle + 1] * sizes[last + 1],
                    middle,
                )
                for middle in range(first, last)
            )
            cost[first, last], split[first, last] = builtins.min(options)
    return split


FUNCTIONS = (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    chain_matmul,
    dsplit,
    einsum,
    hsplit,
    meshgrid,
    tensor_split,
    tensordot,
    vsplit,
)
METHODS = {f.__name__: f for f in (dsplit, hsplit, tensor_split, vsplit)}
