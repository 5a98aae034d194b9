"""vmap: a function of one sample as a function of a batch.

The function runs once for each sample, and its results are stacked. Every function can be mapped
that way, whatever it does with its arguments, and all of it is on the tape: gradients of mapped
functions, mapped gradients and maps of maps need no rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import _C
from relume._C import Tensor

__all__ = ["vmap"]


def _spread(dims: Any, value: Any, what: str) -> Any:
    """`dims` in the structure of `value`: one number counts for everything below it."""
    if isinstance(dims, list | tuple) and isinstance(value, list | tuple):
        if len(dims) != len(value):
            raise ValueError(f"vmap(): {what} has {len(dims)} entries for {len(value)} values")
        return type(value)(_spread(d, v, what) for d, v in zip(dims, value, strict=True))
    if isinstance(dims, dict) and isinstance(value, dict):
        return {key: _spread(dims.get(key), item, what) for key, item in value.items()}
    if dims is not None and not isinstance(dims, int):
        raise TypeError(f"vmap(): {what} {dims!r} does not fit a {type(value).__name__}")
    return _walk(lambda leaf: dims, value)


def _walk(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """A function of every leaf of nested lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        parts = [_walk(function, *items) for items in zip(value, *others, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {
            key: _walk(function, item, *(other[key] for other in others))
            for key, item in value.items()
        }
    return function(value, *others)


def _batch_size(values: Any, dims: Any) -> int:
    """The common size of all dimensions that are mapped over."""
    sizes: set[int] = set()

    def collect(value: Any, dim: int | None) -> None:
        if dim is None:
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                f"vmap() maps over tensors, not {type(value).__name__}; give it in_dims None"
            )
        sizes.add(value.size(dim))

    _walk(collect, values, dims)
    if len(sizes) != 1:
        found = f"have sizes {sorted(sizes)}" if sizes else "are all None"
        raise ValueError(f"vmap() needs one batch size, but the mapped dimensions {found}")
    return sizes.pop()


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Maps a function over a dimension of its arguments.

    Args:
        func: takes tensors of one sample (also in lists, tuples or dicts) and returns tensors.
        in_dims: the dimension of the samples: one number for all arguments, or one for each; None
            for an argument that every call gets whole.
        out_dims: where the samples' dimension is in the results.
        randomness: taken for PyTorch's sake; samples draw one after another.
        chunk_size: taken for PyTorch's sake, without effect.

    Returns:
        A function of the batch. Keyword arguments are mapped over their first dimension.

    Raises:
        ValueError: dimensions of different sizes; an empty batch.

    >>> import relume as rl
    >>> rl.vmap(rl.dot)(rl.tensor([[1.0, 2.0], [3.0, 4.0]]), rl.ones(2, 2))
    tensor([3., 7.])
    >>> rl.func.vmap(rl.func.grad(lambda x: x**3))(rl.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"randomness must be 'error', 'different' or 'same', not {randomness!r}")

    def batched(*args: Any, **kwargs: Any) -> Any:
        dims = _spread(in_dims, args, "in_dims")
        named_dims = _spread(0, kwargs, "in_dims")
        count = _batch_size([args, kwargs], [dims, named_dims])
        if count == 0:
            raise ValueError("vmap() cannot map over an empty batch: no call shows the results")
        results = []
        for i in range(count):
            state = _C.default_generator().get_state() if randomness == "same" else None
            results.append(func(*_sample(args, dims, i), **_sample(kwargs, named_dims, i)))
            if state is not None and i + 1 < count:
                _C.default_generator().set_state(state)
        return _stacked(results, _spread(out_dims, results[0], "out_dims"))

    return batched


def _sample(values: Any, dims: Any, number: int) -> Any:
    return _walk(lambda v, d: v if d is None else v.select(d, number), values, dims)


def _stacked(results: list[Any], dims: Any) -> Any:
    def stack(*leaves: Any) -> Any:
        dim, *tensors = leaves
        if not all(isinstance(t, Tensor) for t in tensors):
            kinds = sorted({type(t).__name__ for t in tensors})
            raise TypeError(f"vmap(): the function must return tensors, not {', '.join(kinds)}")
        return tensors[0] if dim is None else _C.ops["stack"](tensors, dim)

    return _walk(lambda first, dim, *rest: stack(dim, first, *rest), results[0], dims, *results[1:])
