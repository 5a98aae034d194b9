"""File descriptors on their way from one process to another.

The sender deposits a descriptor and sends the parcel; the receiver fetches the descriptor from a
thread of the sender. Unlike multiprocessing's own way this works until the sender's very end: a
process that ends waits until its parcels are fetched, but no longer than ten seconds.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from multiprocessing import AuthenticationError, util
from multiprocessing.connection import Client, Listener
from multiprocessing.context import get_spawning_popen
from multiprocessing.process import current_process
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

__all__ = ["parcel_of"]

_SECONDS_TO_WAIT = 10.0
_LOST = (ConnectionError, FileNotFoundError, EOFError)


class _Office:
    """The parcels of this process that nobody has fetched yet; a thread hands them out."""

    def __init__(self) -> None:
        self._open()
        util.register_after_fork(self, _Office._open_in_child)

    def _open(self) -> None:
        self.lock = threading.Lock()
        self.deposits: dict[int, int] = {}
        self.last_key = 0
        self.listener: Listener | None = None
        self.address = ""
        # After the threads of queues (-5) have sent everything.
        util.Finalize(None, self._wait, exitpriority=-10)

    def _open_in_child(self) -> None:
        """What the parent has to hand out is no business of its forked child."""
        for descriptor in self.deposits.values():
            os.close(descriptor)
        if self.listener is not None:
            self.listener.close()
        self._open()

    def deposit(self, descriptor: int) -> tuple[str, int]:
        """Keeps a copy of a descriptor; returns where it can be fetched."""
        with self.lock:
            if self.listener is None:
                self._start()
            self.last_key += 1
            self.deposits[self.last_key] = os.dup(descriptor)
            return self.address, self.last_key

    def _start(self) -> None:
        # An address in Linux's abstract namespace: no file that could be gone or left behind.
        self.address = f"\0relume-{os.getpid()}-{secrets.token_hex(8)}"
        authkey = bytes(current_process().authkey)
        self.listener = Listener(self.address, "AF_UNIX", backlog=128, authkey=authkey)
        threading.Thread(target=self._serve, args=(self.listener,), daemon=True).start()

    def _serve(self, listener: Listener) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            try:
                with listener.accept() as connection:
                    key, pid = connection.recv()
                    descriptor = self.deposits[key]
                    send_handle(connection, descriptor, pid)
                    connection.recv()  # it has arrived
                os.close(descriptor)
                del self.deposits[key]
            except (*_LOST, AuthenticationError, KeyError):
                continue  # whoever asked has to ask again

    def _wait(self) -> None:
        end = time.monotonic() + _SECONDS_TO_WAIT
        while self.deposits and time.monotonic() < end:
            time.sleep(0.002)


_office = _Office()


class _Parcel:
    """A deposited descriptor, as it is sent."""

    def __init__(self, descriptor: int) -> None:
        self.place = _office.deposit(descriptor)

    def detach(self) -> int:
        """The descriptor, in the receiving process, which owns it."""
        address, key = self.place
        try:
            authkey = bytes(current_process().authkey)
            with Client(address, "AF_UNIX", authkey=authkey) as connection:
                connection.send((key, os.getpid()))
                descriptor = recv_handle(connection)
                connection.send(None)
                return descriptor
        except _LOST as error:
            raise RuntimeError(
                "the process that sent a tensor has ended before it was unpacked here, or it was "
                "unpacked twice; keep the sender alive until then"
            ) from error


def parcel_of(descriptor: int) -> Any:
    """Something that can be pickled now, and has a method `detach() -> int` where it arrives."""
    spawning: Any = get_spawning_popen()
    if spawning is not None:  # an argument of a process that is being started
        return spawning.DupFd(spawning.duplicate_for_child(descriptor))
    return _Parcel(descriptor)
