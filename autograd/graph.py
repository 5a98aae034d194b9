"""The graph behind a tensor: its nodes, and what they keep for backward."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from relume import _C
from relume._C import HookHandle, Node, Tensor

__all__ = ["HookHandle", "Node", "save_on_disk", "saved_tensors_hooks"]


class saved_tensors_hooks:
    """Keeps something else in place of the tensors that backward needs, in a `with` block.

    Args:
        pack_hook: takes a tensor when an op saves it and returns anything. It runs off the tape.
        unpack_hook: takes that when backward needs the tensor, and returns the tensor or one
            that is equal in shape and type.

    Leaves that require a gradient are not packed: they are alive anyway.

    >>> import relume as rl
    >>> packed = []
    >>> def pack(tensor):
    ...     packed.append(tensor.shape)
    ...     return tensor.numpy()
    >>> x = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> with rl.autograd.graph.saved_tensors_hooks(pack, rl.from_numpy):
    ...     y = x.exp().sum()
    >>> packed
    [(2,)]
    >>> y.backward()
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self._hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        _C.push_saved_tensor_hooks(*self._hooks)

    def __exit__(self, *exception: Any) -> None:
        _C.pop_saved_tensor_hooks()


class save_on_disk(saved_tensors_hooks):
    """Keeps the tensors that backward needs in files, for graphs that do not fit into memory.

    Args:
        folder: where the files go; they are removed as the graph is.

    >>> import relume as rl
    >>> x = rl.rand(100, 100).requires_grad_()
    >>> with rl.autograd.graph.save_on_disk():
    ...     y = x.exp().tanh().sum()
    >>> y.backward()
    >>> x.grad.shape
    (100, 100)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        def pack(tensor: Tensor) -> Any:
            # Unlinked at once: the system frees it when the graph lets go, even after a crash.
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
            storage = tensor.clone().storage()
            file.write(storage.tobytes() if storage is not None else b"")
            return file, tensor.shape, tensor.dtype

        def unpack(packed: Any) -> Tensor:
            file, shape, dtype = packed
            file.seek(0)
            return _C.storage_from_bytes(file.read(), dtype.name).tensor().view(shape)

        super().__init__(pack, unpack)
