"""Datasets: samples by number, or one after another."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import relume as rl
from relume import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by number: subclasses define `__getitem__` and `__len__`.

    `__getitems__(indices)`, if there is one, gets all samples of a batch at once.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__()")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after another: subclasses define `__iter__`.

    With worker processes every worker iterates over a copy: split the samples among them with
    `get_worker_info()`.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Slices of tensors along their first dimension, as tuples.

    Args:
        tensors: of the same first size.

    >>> import relume as rl
    >>> TensorDataset(rl.ones(3, 2), rl.tensor([7, 8, 9]))[1]
    (tensor([1., 1.]), tensor(8))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors or any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            sizes = [tuple(t.shape) for t in tensors]
            raise ValueError(f"TensorDataset needs tensors of one first size, not {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Samples of several datasets together: as tuples, or by name as dicts.

    >>> StackDataset(letter=["a", "b"], number=[1, 2])[1]
    {'letter': 'b', 'number': 2}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes datasets either by position or by name")
        self.datasets: Any = kwargs or args
        lengths = {len(dataset) for dataset in (kwargs.values() if kwargs else args)}
        if len(lengths) > 1:
            raise ValueError(f"the datasets have different lengths: {sorted(lengths)}")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """One dataset after another.

    >>> len(ConcatDataset([[1, 2], [3]])), ConcatDataset([[1, 2], [3]])[-1]
    (3, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs at least one dataset")
        self.cumulative_sizes: list[int] = []
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError("datasets without numbers cannot be concatenated; use ChainDataset")
            self.cumulative_sizes.append(sum(self.cumulative_sizes[-1:]) + len(dataset))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        index %= len(self)
        which = bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - start]


class ChainDataset(IterableDataset):
    """Iterable datasets one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset):
    """Some samples of a dataset.

    >>> Subset("abcd", [3, 0])[0]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Parts of a dataset, chosen at random, without overlap.

    Args:
        lengths: how many samples each part gets, or fractions that sum to 1.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-6:
        if any(not 0 <= fraction <= 1 for fraction in lengths):
            raise ValueError(f"fractions must be between 0 and 1, they are {list(lengths)}")
        counts = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):  # what rounding left over, one to each
            counts[i % len(counts)] += 1
    else:
        counts = [int(length) for length in lengths]
    if sum(counts) != total:
        raise ValueError(f"the lengths sum to {sum(counts)}, the dataset has {total} samples")
    order = rl.randperm(total, generator=generator).tolist()
    parts = []
    start = 0
    for count in counts:
        parts.append(Subset(dataset, order[start : start + count]))
        start += count
    return parts
