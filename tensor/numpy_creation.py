"""NumPy's ways to make arrays and indices: `array`, `mgrid`, `r_`, `s_`, windows, triangles."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor import windows
from relume.tensor.creation import as_tensor, asarray

_ops = _C.ops


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0) -> Tensor:
    """A tensor of numbers, nested lists or an array; a copy unless `copy` is False or None.

    Args:
        copy: None copies only where it must; False refuses to.
        ndmin: how many dimensions there are at least; missing ones are put before the others.

    >>> import relume as rl
    >>> rl.array([1, 2], ndmin=2)
    tensor([[1, 2]])
    """
    result = asarray(object, dtype=dtype, copy=copy)
    return result.reshape((1,) * max(0, ndmin - result.ndim) + result.shape)


def asanyarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor on the memory of `a` where that is possible.

    >>> import relume as rl
    >>> rl.asanyarray([1, 2])
    tensor([1, 2])
    """
    return as_tensor(a, dtype)


def ascontiguousarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor in row-major order, of at least one dimension.

    >>> import relume as rl
    >>> rl.ascontiguousarray(rl.ones(2, 3).T).is_contiguous()
    True
    """
    tensor = as_tensor(a, dtype).contiguous()
    return tensor.reshape(1) if tensor.ndim == 0 else tensor


def _symmetric(name: str, like: str) -> Any:
    make = getattr(windows, f"{name}_window")

    def window(M: int) -> Tensor:
        return make(M, periodic=False, dtype="float64")

    window.__name__ = window.__qualname__ = like
    window.__doc__ = f"""`{name}_window` with the same start and end, in float64.

    >>> import relume as rl
    >>> rl.{like}(3).shape
    (3,)
    """
    return window


bartlett = _symmetric("bartlett", "bartlett")
blackman = _symmetric("blackman", "blackman")
hamming = _symmetric("hamming", "hamming")
hanning = _symmetric("hann", "hanning")


def kaiser(M: int, beta: float) -> Tensor:
    """`kaiser_window` with the same start and end, in float64.

    >>> import relume as rl
    >>> rl.kaiser(1, 5.0)
    tensor([1.], dtype=float64)
    """
    return windows.kaiser_window(M, periodic=False, beta=beta, dtype="float64")


def diag_indices_from(arr: Tensor) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor with equal sizes.

    >>> import relume as rl
    >>> rl.diag_indices_from(rl.ones(2, 2))
    (tensor([0, 1]), tensor([0, 1]))
    """
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"diag_indices_from() needs equal sizes, not shape {arr.shape}")
    return (_ops["arange"](0, arr.shape[0], 1),) * arr.ndim


def _triangle(arr: Tensor, keep: str, k: int) -> tuple[Tensor, ...]:
    if arr.ndim != 2:
        raise ValueError(f"{keep}_indices_from() takes a matrix, not shape {arr.shape}")
    return tuple(_ops["nonzero"](_ops[keep](_ops["ones"](arr.shape, dtype="int8"), k)).unbind(1))


def tril_indices_from(arr: Tensor, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of a matrix, from diagonal k down.

    >>> import relume as rl
    >>> rl.tril_indices_from(rl.ones(2, 2))
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
    """
    return _triangle(arr, "tril", k)


def triu_indices_from(arr: Tensor, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of a matrix, from diagonal k up.

    >>> import relume as rl
    >>> rl.triu_indices_from(rl.ones(2, 2), 1)
    (tensor([0]), tensor([1]))
    """
    return _triangle(arr, "triu", k)


def block(arrays: Any) -> Tensor:
    """A tensor of blocks: innermost lists are joined along the last dimension, and so on.

    >>> import relume as rl
    >>> rl.block([[rl.ones(1, 1), rl.zeros(1, 2)], [rl.zeros(1, 1), rl.ones(1, 2)]])
    tensor([[1., 0., 0.],
            [0., 1., 1.]])
    """

    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def leaves(part: Any) -> list[Tensor]:
        return [x for p in part for x in leaves(p)] if isinstance(part, list) else [as_tensor(part)]

    ndim = max([depth(arrays), *(leaf.ndim for leaf in leaves(arrays))])

    def join(part: Any, dim: int) -> Tensor:
        if isinstance(part, list):
            return _ops["cat"]([join(p, dim + 1) for p in part], dim)
        return array(part, copy=None, ndmin=ndim)

    return join(arrays, -depth(arrays)) if isinstance(arrays, list) else join(arrays, 0)


def _axis_of(key: slice) -> Tensor:
    """The numbers that a slice stands for; a step of 5j means 5 numbers, the end included."""
    start = 0 if key.start is None else key.start
    if isinstance(key.step, complex):
        return _ops["linspace"](start, key.stop, int(abs(key.step)), dtype="float64")
    numbers = _ops["arange"](start, key.stop, 1 if key.step is None else key.step)
    return numbers.to("float64") if numbers.is_floating_point() else numbers


class _Grid:
    """`mgrid` and `ogrid`: grids of coordinates by slices."""

    def __init__(self, dense: bool) -> None:
        self._dense = dense

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _axis_of(key)
        axes = [_axis_of(part) for part in key]
        kind = "float64" if any(axis.is_floating_point() for axis in axes) else "int64"
        grids = [
            axis.to(kind).reshape([-1 if i == dim else 1 for i in range(len(axes))])
            for dim, axis in enumerate(axes)
        ]
        if not self._dense:
            return tuple(grids)
        shape = [axis.numel() for axis in axes]
        return _ops["stack"]([grid.expand(shape) for grid in grids])


class _Index:
    """`s_` and `index_exp`: what stands in the brackets."""

    def __init__(self, as_tuple: bool) -> None:
        self._as_tuple = as_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self._as_tuple and not isinstance(key, tuple) else key


class _Rows:
    """`r_` and `c_`: numbers, slices and tensors joined."""

    def __init__(self, as_columns: bool) -> None:
        self._as_columns = as_columns

    def __getitem__(self, key: Any) -> Tensor:
        parts = [
            _axis_of(part) if isinstance(part, slice) else array(part, copy=None, ndmin=1)
            for part in (key if isinstance(key, tuple) else (key,))
        ]
        if self._as_columns:
            parts = [part.unsqueeze(1) if part.ndim == 1 else part for part in parts]
            return _ops["cat"](parts, -1)
        return _ops["cat"](parts, 0)


FUNCTIONS = (
    array,
    asanyarray,
    ascontiguousarray,
    bartlett,
    blackman,
    block,
    diag_indices_from,
    hamming,
    hanning,
    kaiser,
    tril_indices_from,
    triu_indices_from,
)
# What is used with brackets.
OBJECTS = {
    "c_": _Rows(True),
    "index_exp": _Index(True),
    "mgrid": _Grid(True),
    "ogrid": _Grid(False),
    "r_": _Rows(False),
    "s_": _Index(False),
}
