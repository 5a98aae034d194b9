"""Tensors between processes: `multiprocessing` passes their memory on, not their contents.

A tensor that goes through a `multiprocessing` queue, pipe, pool or argument is moved into
shared memory, and the other process gets a tensor on that memory: what one writes, the other
sees. Views of one storage that are sent together stay views of one. `requires_grad` goes along,
`grad` does not.

The memory is an anonymous file, passed as a descriptor; the kernel frees it with its last user,
however the processes end. The sender has to be alive when the receiver unpacks the message: a
process that ends waits for that, but no longer than ten seconds.

This module is `relume.multiprocessing`: everything of Python's `multiprocessing`, and `spawn`.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import traceback
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from relume import _C
from relume._C import Storage, Tensor
from relume.tensor.parcels import parcel_of
from relume.tensor.serialization import parts_of

__all__ = ["ProcessContext", "ProcessError", "spawn", "start_processes"]


def __getattr__(name: str) -> Any:
    return getattr(multiprocessing, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(multiprocessing)})


def _reduce_storage(storage: Storage) -> tuple[Any, ...]:
    storage.share_memory_()
    parcel = parcel_of(storage._descriptor())
    return _rebuild_storage, (parcel, storage.nbytes, storage.dtype.name)


def _rebuild_storage(parcel: Any, bytes: int, dtype: str) -> Storage:
    return _C.open_shared_storage(parcel.detach(), bytes, dtype)


def _reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    return parts_of(tensor, None)


def _register_subclass(kind: type[Tensor], **options: Any) -> None:
    super(Tensor, kind).__init_subclass__(**options)
    ForkingPickler.register(kind, _reduce_tensor)


def share_memory_(tensor: Tensor) -> Tensor:
    """Moves the tensor's storage into memory that other processes can share; returns itself.

    All tensors on the storage move along. An array that `numpy()` gave before keeps the old
    memory. A shared storage cannot be resized.

    Raises:
        MemoryError: there is not enough memory.

    >>> import relume as rl
    >>> t = rl.ones(3)
    >>> view = t[1:]
    >>> t.share_memory_()
    tensor([1., 1., 1.])
    >>> view.is_shared()
    True
    """
    storage = tensor.storage()
    if storage is not None:
        storage.share_memory_()
    return tensor


def is_shared(tensor: Tensor) -> bool:
    """Is the tensor in memory that other processes can share?

    >>> import relume as rl
    >>> rl.ones(3).is_shared()
    False
    """
    storage = tensor.storage()
    return storage is not None and storage.is_shared()


class ProcessError(RuntimeError):
    """A process that `spawn` started has failed; the message holds its traceback."""


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except BaseException:
        errors.put((index, traceback.format_exc()))
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that `spawn(join=False)` started.

    Attributes:
        processes: the multiprocessing processes.
    """

    def __init__(self, processes: list[Any], errors: Any) -> None:
        self.processes = processes
        self._errors = errors
        self._waiting = {process.sentinel: process for process in processes}

    def pids(self) -> list[int | None]:
        """The process numbers of the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Waits until a process ends; True when all have ended without a failure.

        Args:
            timeout: seconds to wait at most; False is the answer when nothing ended.

        Raises:
            ProcessError: a process failed; the others are ended.
        """
        if self._waiting:
            for sentinel in multiprocessing.connection.wait(list(self._waiting), timeout):
                process = self._waiting.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    self.end()
                    raise ProcessError(self._failure(process))
        return not self._waiting

    def end(self) -> None:
        """Ends the processes that still run, and waits for them."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()

    def _failure(self, process: Any) -> str:
        index = self.processes.index(process)
        if self._errors.empty():
            return f"process {index} ended with exit code {process.exitcode}"
        index, story = self._errors.get()
        return f"process {index} failed:\n{story}"


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs `fn(i, *args)` in `nprocs` processes, i = 0, 1, ..., and waits for them.

    When one fails, the others are ended.

    Args:
        fn: a function that can be pickled: of a module, not a lambda.
        args: further arguments; their tensors are shared.
        nprocs: how many processes.
        join: wait for the end; False returns a ProcessContext at once.
        daemon: the processes end with this one.
        start_method: "spawn" starts a fresh Python, "fork" is faster and inherits everything.

    Raises:
        ProcessError: a process raised an exception or died.
    """
    context: Any = multiprocessing.get_context(start_method)
    errors = context.SimpleQueue()
    processes = [
        context.Process(target=_run, args=(fn, index, args, errors), daemon=daemon)
        for index in range(nprocs)
    ]
    for process in processes:
        process.start()
    running = ProcessContext(processes, errors)
    if not join:
        return running
    try:
        while not running.join():
            pass
    finally:
        running.end()
    return None


def start_processes(*args: Any, **options: Any) -> ProcessContext | None:
    """The same as `spawn`, under PyTorch's other name."""
    return spawn(*args, **options)


# PyTorch's names: its two kinds of failure are one here.
ProcessRaisedException = ProcessExitedException = ProcessError


def install() -> None:
    """Teaches multiprocessing about tensors, and adds the methods to Tensor."""
    ForkingPickler.register(Storage, _reduce_storage)
    ForkingPickler.register(Tensor, _reduce_tensor)
    attributes: dict[str, Any] = {
        "share_memory_": share_memory_,
        "is_shared": is_shared,
        "__init_subclass__": classmethod(_register_subclass),
    }
    for name, value in attributes.items():
        setattr(Tensor, name, value)
