"""What NumPy's users ask of arrays, and write into them, by NumPy's names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.creation import as_tensor
from relume.tensor.dtype_limits import finfo, result_type

_ops = _C.ops


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Have both the same shape and elements?

    Args:
        equal_nan: NaN equals NaN.

    >>> import relume as rl
    >>> rl.array_equal(rl.tensor([1, 2]), [1, 2])
    True
    """
    a, b = as_tensor(a1), as_tensor(a2)
    if a.shape != b.shape:
        return False
    same = a == b
    if equal_nan:
        same = same | (a != a) & (b != b)
    return bool(same.all())


def array_equiv(a1: Any, a2: Any) -> bool:
    """Have both the same elements once they are broadcast to one shape?

    >>> import relume as rl
    >>> rl.array_equiv(rl.tensor([1, 1]), 1)
    True
    """
    try:
        return bool((as_tensor(a1) == as_tensor(a2)).all())
    except ValueError:
        return False


def astype(x: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """The tensor in another type; itself when that changes nothing and `copy` is False.

    >>> import relume as rl
    >>> rl.astype(rl.tensor([1.7]), rl.int64)
    tensor([1])
    """
    return x.to(dtype, copy=copy)


def iscomplexobj(x: Any) -> bool:
    """Is it of a complex type?

    >>> import relume as rl
    >>> rl.iscomplexobj(rl.tensor([1j])), rl.iscomplexobj(2.0)
    (True, False)
    """
    return as_tensor(x).is_complex()


def isrealobj(x: Any) -> bool:
    """Is it of a type that is not complex?

    >>> import relume as rl
    >>> rl.isrealobj(rl.tensor([1]))
    True
    """
    return not iscomplexobj(x)


def ndim(a: Any) -> int:
    """The number of dimensions of a tensor, a list or a number.

    >>> import relume as rl
    >>> rl.ndim([[1, 2]])
    2
    """
    return as_tensor(a).ndim


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of a tensor, a list or a number.

    >>> import relume as rl
    >>> rl.shape([[1, 2]])
    (1, 2)
    """
    return as_tensor(a).shape


def size(a: Any, axis: int | None = None) -> int:
    """How many elements there are, or how many along a dimension.

    >>> import relume as rl
    >>> rl.size(rl.ones(2, 3)), rl.size(rl.ones(2, 3), 1)
    (6, 3)
    """
    tensor = as_tensor(a)
    return tensor.numel() if axis is None else tensor.shape[axis]


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """All indices of a shape, the last one running fastest.

    >>> import relume as rl
    >>> list(rl.ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return itertools.product(*map(range, sizes))


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Pairs of an index and the number there.

    >>> import relume as rl
    >>> list(rl.ndenumerate(rl.tensor([[5, 6]])))
    [((0, 0), 5), ((0, 1), 6)]
    """
    tensor = as_tensor(arr)
    return zip(ndindex(tensor.shape), tensor.detach().reshape(-1).tolist(), strict=True)


def shares_memory(a: Tensor, b: Tensor) -> bool:
    """Do two tensors look at one storage?

    >>> import relume as rl
    >>> a = rl.ones(3)
    >>> rl.shares_memory(a, a[1:]), rl.shares_memory(a, a.clone())
    (True, False)
    """
    first, second = a.storage(), b.storage()
    return first is not None and second is not None and first.data_ptr() == second.data_ptr()


def real_if_close(a: Tensor, tol: float = 100) -> Tensor:
    """The real part of complex numbers whose imaginary parts are all about 0.

    Args:
        tol: how large they may be, in units of the type's precision, or as a number when below 1.

    >>> import relume as rl
    >>> rl.real_if_close(rl.tensor([2 + 0j]))
    tensor([2.])
    """
    if not a.is_complex():
        return a
    limit = tol * finfo(a.real.dtype).eps if tol > 1 else tol
    return a.real if bool((a.imag.abs() < limit).all()) else a


def spacing(x: Tensor) -> Tensor:
    """How far the next number of the type is, away from 0.

    >>> import relume as rl
    >>> rl.spacing(rl.tensor([1.0])) == 2**-23
    tensor([ True])
    """
    outward = _ops["copysign"](_ops["full_like"](x, float("inf")), x)
    return _ops["nextafter"](x, outward) - x


def bitwise_count(x: Tensor) -> Tensor:
    """How many bits of the absolute value are 1.

    >>> import relume as rl
    >>> rl.bitwise_count(rl.tensor([7, -8]))
    tensor([3, 1], dtype=uint8)
    """
    rest = x.to("int64").abs()
    total = _ops["zeros_like"](rest)
    for shift in range(64):
        total = total + ((rest >> shift) & 1)
    return total.to("uint8")


def sort_complex(a: Tensor) -> Tensor:
    """Complex numbers in the order of their real parts, then of their imaginary parts.

    >>> import relume as rl
    >>> rl.sort_complex(rl.tensor([2.0, 1.0]))
    tensor([1.+0.j, 2.+0.j], dtype=complex64)
    """
    numbers = a if a.is_complex() else a.to(result_type(a, 0j))
    by_imaginary = numbers.imag.argsort(-1, stable=True)
    numbers = numbers.gather(-1, by_imaginary)
    return numbers.gather(-1, numbers.real.argsort(-1, stable=True))


# ---- writing ----


def fill_diagonal(a: Tensor, val: Any, wrap: bool = False) -> None:
    """Sets the diagonal of a tensor in place; in tall matrices over and over with `wrap`.

    >>> import relume as rl
    >>> a = rl.zeros(2, 2)
    >>> rl.fill_diagonal(a, 5)
    >>> a
    tensor([[5., 0.],
            [0., 5.]])
    """
    a.fill_diagonal_(val, wrap)


def copyto(dst: Tensor, src: Any, where: Any = True) -> None:
    """Writes `src` into `dst`, where a mask is true.

    >>> import relume as rl
    >>> a = rl.zeros(3)
    >>> rl.copyto(a, 7, where=rl.tensor([True, False, True]))
    >>> a
    tensor([7., 0., 7.])
    """
    source = as_tensor(src)
    dst.copy_(source if where is True else _ops["where"](as_tensor(where), source, dst))


def putmask(a: Tensor, mask: Any, values: Any) -> None:
    """Writes values into `a` where a mask is true: to each element the one at its place.

    >>> import relume as rl
    >>> a = rl.arange(4)
    >>> rl.putmask(a, a > 1, [10, 20])
    >>> a
    tensor([ 0,  1, 10, 20])
    """
    flat = as_tensor(values, a.dtype).reshape(-1)
    places = _ops["arange"](0, a.numel(), 1).reshape(a.shape) % flat.numel()
    a.copy_(_ops["where"](as_tensor(mask), flat[places], a))


def place(arr: Tensor, mask: Any, vals: Any) -> None:
    """Writes values, one after the other and over again, into `arr` where a mask is true.

    >>> import relume as rl
    >>> a = rl.arange(4)
    >>> rl.place(a, a > 0, [10, 20])
    >>> a
    tensor([ 0, 10, 20, 10])
    """
    chosen, flat = as_tensor(mask), as_tensor(vals, arr.dtype).reshape(-1)
    count = int(chosen.sum().item())
    arr[chosen] = flat[_ops["arange"](0, count, 1) % flat.numel()]


FUNCTIONS = (
    array_equal,
    array_equiv,
    astype,
    bitwise_count,
    copyto,
    fill_diagonal,
    iscomplexobj,
    isrealobj,
    ndenumerate,
    ndim,
    ndindex,
    place,
    putmask,
    real_if_close,
    shape,
    shares_memory,
    size,
    sort_complex,
    spacing,
)
