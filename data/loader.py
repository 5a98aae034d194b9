"""DataLoader: batches of a dataset, made here or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import relume as rl
from relume.data.collate import default_collate, default_convert
from relume.data.dataset import IterableDataset
from relume.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from relume.data.worker import Fetcher, Settings
from relume.data.workers import WorkerEpoch, WorkerPool

T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Batches of a dataset.

    Args:
        dataset: samples by number, or an IterableDataset.
        batch_size: samples per batch; None gives single samples.
        shuffle: in random order, a new one every time.
        sampler: an order of one's own; batch_sampler: lists of numbers of one's own.
        num_workers: processes that make batches; 0 makes them here.
        collate_fn: joins a list of samples to a batch; `default_collate` by default.
        drop_last: leave out the last batch when it is smaller.
        timeout: seconds to wait for a worker; 0 waits as long as it takes.
        worker_init_fn: is called in every worker with its number.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context.
        generator: a relume.Generator for the order and the workers' seeds.
        prefetch_factor: batches that every worker makes ahead, 2 by default.
        persistent_workers: keep the workers from one pass to the next.
        in_order: give the batches in the order of the sampler, also when others are ready.
        pin_memory, pin_memory_device: taken for PyTorch's sake, without effect.

    Workers draw random numbers from generators seeded with a number that the main process draws
    plus their own number: the same seed gives the same batches. An exception in a worker is
    raised in the main process, with the worker's traceback in its message.

    >>> import relume as rl
    >>> from relume.data import DataLoader, TensorDataset
    >>> dataset = TensorDataset(rl.arange(5), rl.arange(5) * 10)
    >>> for x, y in DataLoader(dataset, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"num_workers must not be negative, it is {num_workers}")
        if timeout < 0:
            raise ValueError(f"timeout must not be negative, it is {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor is for workers: set num_workers")
        if num_workers == 0 and persistent_workers:
            raise ValueError("persistent_workers is for workers: set num_workers")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"prefetch_factor must be positive, it is {prefetch_factor}")
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._is_iterable = isinstance(dataset, IterableDataset)
        if isinstance(multiprocessing_context, str):
            multiprocessing_context = multiprocessing.get_context(multiprocessing_context)
        self.multiprocessing_context = multiprocessing_context
        self._choose_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        has_batches = self.batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if has_batches else default_convert)
        self._pool: WorkerPool | None = None
        self._epoch = 0

    def _choose_order(
        self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        if self._is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an IterableDataset has its own order: no shuffle and no sampler")
        if sampler is not None and shuffle:
            raise ValueError("give either a sampler or shuffle=True")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "a batch_sampler takes the place of batch_size, shuffle, sampler and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("drop_last needs a batch_size")
        if sampler is None:
            if self._is_iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _settings(self, worker: int) -> Settings:
        return Settings(
            self.dataset,
            self.collate_fn,
            self.batch_sampler is not None,
            self._is_iterable,
            self.drop_last,
            self.worker_init_fn,
            worker,
            self.num_workers,
        )

    def _tasks(self) -> Iterator[Any]:
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        # Drawn without workers too: the order does not depend on their number.
        seed = int(rl.empty((1,), dtype=rl.int64).random_(generator=self.generator)[0])
        if self.num_workers == 0:
            return _batches(Fetcher(self._settings(0)), self._tasks())
        pool = self._pool
        if pool is None or not pool.is_open:
            pool = WorkerPool(self._settings, self.num_workers, self.multiprocessing_context)
        if self.persistent_workers:
            self._pool = pool
        self._epoch += 1
        return WorkerEpoch(
            pool,
            self._tasks(),
            self._epoch,
            seed,
            self.prefetch_factor or 2,
            self.timeout,
            self.in_order,
            self.persistent_workers,
        )

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class _Endless:
    """The order of an iterable dataset: one sample after another, until it ends."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _batches(fetcher: Fetcher, tasks: Iterator[Any]) -> Iterator[Any]:
    """The batches of one pass, made in this process."""
    for indices in tasks:
        try:
            batch = fetcher.fetch(indices)
        except StopIteration:
            if fetcher.iterator is None:
                raise
            return
        yield batch
