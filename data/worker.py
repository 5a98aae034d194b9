"""What a worker process of a DataLoader does."""

from __future__ import annotations

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import relume as rl
from relume.data import channel

PARENT_CHECK_SECONDS = 5.0


@dataclass
class WorkerInfo:
    """Who a worker is.

    Attributes:
        id: 0, 1, ...
        num_workers: how many there are.
        seed: what its random generators were seeded with.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is; None in the main process."""
    return _worker_info


@dataclass
class Settings:
    """All that a worker needs to know."""

    dataset: Any
    collate: Callable[[Any], Any]
    has_batches: bool
    is_iterable: bool
    drop_last: bool
    init: Callable[[int], Any] | None
    id: int
    num_workers: int


@dataclass
class NewEpoch:
    """Begin anew: seed the generators, and iterate from the start."""

    seed: int


@dataclass
class Task:
    """Make the batch of these numbers (of an iterable dataset: of so many samples)."""

    epoch: int
    number: int
    indices: Any


@dataclass
class Result:
    """A batch, or that there are no more, or what went wrong."""

    epoch: int
    number: int
    batch: Any = None
    finished: bool = False
    failure: Failure | None = None


@dataclass
class Failure:
    """An exception that is raised again in another process."""

    kind: type[BaseException]
    message: str

    @classmethod
    def of(cls, error: BaseException, where: str) -> Failure:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(type(error), f"in {where}:\n{text}")

    def raise_again(self) -> None:
        """Raises the exception, with the traceback of the other process in its message."""
        if self.kind is KeyError:  # whose message is shown with quotes and backslashes
            raise KeyError(_Verbatim(self.message))
        try:
            error = self.kind(self.message)
        except Exception:  # it wants other arguments
            raise RuntimeError(self.message) from None
        raise error


class _Verbatim(str):
    def __repr__(self) -> str:
        return str(self)


class Fetcher:
    """Makes batches out of a dataset."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.iterator: Iterator[Any] | None = None
        self.ended = False
        if settings.is_iterable:
            self.iterator = iter(settings.dataset)

    def fetch(self, indices: Any) -> Any:
        """The batch of these numbers, or of so many samples. StopIteration at the end."""
        settings = self.settings
        if self.iterator is None:
            return settings.collate(self._samples(indices))
        if self.ended:
            raise StopIteration
        if not settings.has_batches:
            return settings.collate(next(self.iterator))
        samples = []
        for _ in indices:
            try:
                samples.append(next(self.iterator))
            except StopIteration:
                self.ended = True
                break
        if not samples or (settings.drop_last and len(samples) < len(indices)):
            raise StopIteration
        return settings.collate(samples)

    def _samples(self, indices: Any) -> Any:
        dataset = self.settings.dataset
        if not self.settings.has_batches:
            return dataset[indices]
        if hasattr(dataset, "__getitems__") and dataset.__getitems__:
            return dataset.__getitems__(indices)
        return [dataset[i] for i in indices]


def seed_everything(seed: int) -> None:
    """Seeds relume, Python and NumPy.

    NumPy gets a state derived from the seed: its generator and relume's are of one kind, and one
    number would make both draw the same.
    """
    rl.manual_seed(seed)
    random.seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))


def run(settings: Settings, connection: Connection) -> None:
    """Answers tasks until None comes or the parent process has gone."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    rl.set_num_threads(1)
    worker = _Worker(settings)
    try:
        while True:
            while not connection.poll(PARENT_CHECK_SECONDS):
                if os.getppid() != parent:
                    return
            message = channel.receive(connection)
            if message is None:
                return
            if isinstance(message, NewEpoch):
                worker.begin(message)
            else:
                _answer(connection, worker.work(message), settings.id)
    except (EOFError, ConnectionError):  # the parent has gone
        pass


def _answer(connection: Connection, result: Result, worker: int) -> None:
    try:
        channel.send(connection, result)
    except ConnectionError:
        raise
    except Exception as error:  # what cannot be pickled
        failure = Failure.of(error, f"worker {worker}, sending a batch")
        channel.send(connection, Result(result.epoch, result.number, failure=failure))


class _Worker:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.fetcher: Fetcher | None = None
        self.broken: Failure | None = None
        self.is_new = True

    def begin(self, epoch: NewEpoch) -> None:
        global _worker_info
        settings = self.settings
        seed = epoch.seed + settings.id
        _worker_info = WorkerInfo(settings.id, settings.num_workers, seed, settings.dataset)
        seed_everything(seed)
        self.broken = None
        try:
            if self.is_new and settings.init is not None:
                settings.init(settings.id)
            self.is_new = False
            self.fetcher = Fetcher(settings)
        except Exception as error:
            self.broken = Failure.of(error, f"worker {settings.id}")

    def work(self, task: Task) -> Result:
        if self.broken is not None:
            return Result(task.epoch, task.number, failure=self.broken)
        assert self.fetcher is not None
        try:
            batch = self.fetcher.fetch(task.indices)
            return Result(task.epoch, task.number, batch)
        except StopIteration as error:
            if self.settings.is_iterable:
                return Result(task.epoch, task.number, finished=True)
            failure = Failure.of(RuntimeError(f"StopIteration: {error}"), "a worker")
            return Result(task.epoch, task.number, failure=failure)
        except Exception as error:
            failure = Failure.of(error, f"worker {self.settings.id} of a DataLoader")
            return Result(task.epoch, task.number, failure=failure)
