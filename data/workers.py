"""The worker processes of a DataLoader, seen from the main process."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
import weakref
from collections.abc import Iterator
from multiprocessing import connection as connections
from typing import Any

from relume.data import channel, worker
from relume.data.worker import NewEpoch, Result, Task

_JOIN_SECONDS = 1.0


class WorkerPool:
    """Processes that make batches, and the pipes to them."""

    def __init__(self, make_settings: Any, count: int, context: Any) -> None:
        context = context or multiprocessing.get_context()
        self.processes: list[Any] = []
        self.pipes: list[Any] = []
        try:
            for number in range(count):
                ours, theirs = context.Pipe(duplex=True)
                process = context.Process(
                    target=worker.run,
                    args=(make_settings(number), theirs),
                    daemon=True,
                )
                process.start()
                theirs.close()
                self.processes.append(process)
                self.pipes.append(ours)
        finally:
            # Runs when the pool is garbage, at the latest at the interpreter's exit.
            self._finalizer = weakref.finalize(self, _end, self.processes, self.pipes)

    def close(self) -> None:
        """Ends the processes."""
        self._finalizer()

    @property
    def is_open(self) -> bool:
        """May tasks be sent?"""
        return self._finalizer.alive

    def send(self, number: int, message: Any) -> None:
        """Sends a worker something to do."""
        try:
            channel.send(self.pipes[number], message)
        except ConnectionError:
            self._report_death(number)

    def receive(self, timeout: float) -> tuple[int, Result]:
        """The next result of any worker.

        Args:
            timeout: seconds to wait; 0 waits as long as it takes.

        Raises:
            RuntimeError: no result came in time, or a worker has ended.
        """
        end = time.monotonic() + timeout if timeout > 0 else None
        while True:
            left = None if end is None else max(end - time.monotonic(), 0)
            sentinels = [process.sentinel for process in self.processes]
            ready = connections.wait([*self.pipes, *sentinels], left)
            for number, pipe in enumerate(self.pipes):
                if pipe in ready:
                    try:
                        return number, channel.receive(pipe)
                    except (EOFError, ConnectionError):
                        self._report_death(number)
            for number, sentinel in enumerate(sentinels):
                if sentinel in ready:
                    self._report_death(number)
            if not ready:
                raise RuntimeError(f"no batch came from the workers within {timeout} seconds")

    def _report_death(self, number: int) -> None:
        process = self.processes[number]
        process.join(_JOIN_SECONDS)
        code = process.exitcode
        how = f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        pid = process.pid
        self.close()
        raise RuntimeError(f"worker {number} of the DataLoader (process {pid}) {how}{hint}")


def _end(processes: list[Any], pipes: list[Any]) -> None:
    """Asks the workers to end, and makes those end that do not."""
    for pipe in pipes:
        with contextlib.suppress(OSError):
            channel.send(pipe, None)
        pipe.close()
    end = time.monotonic() + _JOIN_SECONDS
    for process in processes:
        process.join(max(end - time.monotonic(), 0))
        if process.is_alive():
            process.terminate()
            process.join()


class WorkerEpoch:
    """One pass over a DataLoader by its workers: an iterator of batches.

    A task is sent to a worker `ahead` batches before it is needed; results wait in `arrived`
    until it is their turn.
    """

    def __init__(
        self,
        pool: WorkerPool,
        tasks: Iterator[Any],
        epoch: int,
        seed: int,
        ahead: int,
        timeout: float,
        in_order: bool,
        keep_pool: bool,
    ) -> None:
        self.pool = pool
        self.tasks = tasks
        self.epoch = epoch
        self.timeout = timeout
        self.in_order = in_order
        self.keep_pool = keep_pool
        self.arrived: dict[int, Result] = {}
        self.owners: dict[int, int] = {}  # of tasks that were sent
        self.active = list(range(len(pool.processes)))
        self.next_task = 0
        self.next_result = 0
        self.turn = 0
        for number in self.active:
            pool.send(number, NewEpoch(seed))
        for _ in range(ahead * len(self.active)):
            self._send_task()

    def __iter__(self) -> WorkerEpoch:
        return self

    def _send_task(self) -> None:
        if not self.active:
            return
        try:
            indices = next(self.tasks)
        except StopIteration:
            return
        owner = self.active[self.turn % len(self.active)]
        self.turn += 1
        self.owners[self.next_task] = owner
        self.pool.send(owner, Task(self.epoch, self.next_task, indices))
        self.next_task += 1

    def __next__(self) -> Any:
        try:
            result = self._next_result()
        except BaseException as error:
            if not isinstance(error, StopIteration) or not self.keep_pool:
                self.pool.close()
            raise
        return result.batch

    def _next_result(self) -> Result:
        while True:
            result = self._take_arrived()
            if result is None:
                if not self.owners:
                    raise StopIteration
                self._receive()
                continue
            owner = self.owners.pop(result.number)
            if result.finished:  # this worker's part of an iterable dataset is at its end
                if owner in self.active:
                    self.active.remove(owner)
                self._send_task()
                continue
            self._send_task_to(owner)
            if result.failure is not None:
                result.failure.raise_again()
            return result

    def _send_task_to(self, owner: int) -> None:
        """Keeps the worker that has just given a batch busy."""
        if owner in self.active:
            self.turn = self.active.index(owner)
        self._send_task()

    def _take_arrived(self) -> Result | None:
        """A result whose turn it is."""
        if not self.in_order:
            return self.arrived.pop(next(iter(self.arrived))) if self.arrived else None
        while self.next_result < self.next_task and self.next_result not in self.owners:
            self.next_result += 1
        return self.arrived.pop(self.next_result, None)

    def _receive(self) -> None:
        _, result = self.pool.receive(self.timeout)
        if result.epoch == self.epoch:  # not from a pass that was left before its end
            self.arrived[result.number] = result
