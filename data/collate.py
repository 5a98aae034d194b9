"""Samples joined to a batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Joins samples: tensors, arrays and numbers are stacked, containers are joined by position.

    Args:
        batch: samples of one structure.

    Returns:
        The structure of one sample, with a new first dimension; lists for strings and bytes.

    Raises:
        RuntimeError: tensors or containers of different sizes.
        TypeError: something that cannot be joined.

    >>> default_collate([(1, {"a": 0.5}), (2, {"a": 1.5})])
    [tensor([1, 2]), {'a': tensor([0.5, 1.5], dtype=float64)}]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(batch)
    if isinstance(first, np.ndarray | np.generic):
        return _stacked_arrays(batch)
    if isinstance(first, float):
        return rl.tensor(batch, dtype=rl.float64)
    if isinstance(first, int):
        return rl.tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    return _joined(batch, default_collate)


def _stacked(batch: Sequence[Tensor]) -> Tensor:
    shapes = {tensor.shape for tensor in batch}
    if len(shapes) > 1:
        raise RuntimeError(
            f"samples of different shapes cannot be stacked: {sorted(shapes)[:4]}; give the "
            "DataLoader a collate_fn that pads them"
        )
    return rl.stack(list(batch))


def _stacked_arrays(batch: Sequence[Any]) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(f"arrays of type {batch[0].dtype} cannot become tensors")
    return _stacked([rl.as_tensor(np.asarray(array)) for array in batch])


def _joined(batch: Sequence[Any], join: Callable[[Any], Any]) -> Any:
    """Samples that are containers."""
    first = batch[0]
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: join([sample[key] for sample in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(
            f"samples must be tensors, arrays, numbers, strings or containers of these, not "
            f"{type(first).__name__}"
        )
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("samples that are sequences must have the same length")
    columns = [join(list(column)) for column in zip(*batch, strict=True)]
    if hasattr(first, "_fields"):  # a named tuple
        return type(first)(*columns)
    return columns


def _like_mapping(first: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    if type(first) is dict:
        return values
    try:
        result: Any = copy.copy(first)
        result.update(values)
        return result
    except (AttributeError, TypeError):
        return values


def default_convert(data: Any) -> Any:
    """A sample with its NumPy arrays as tensors: what a loader without batches gives.

    >>> import numpy as np
    >>> default_convert((np.ones(2), "text"))
    (tensor([1., 1.], dtype=float64), 'text')
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return rl.as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple | list):
        return type(data)(default_convert(value) for value in data)
    return data
