"""How tensors, and arrays of other libraries, stand in a Torch7 file: a view of a storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import relume as rl
from relume import Storage, Tensor
from relume.converters.t7.origins import origin

__all__ = ["Arrays", "View", "type_prefix"]

# The beginning of Torch7's names: torch.FloatTensor, torch.FloatStorage.
TYPE_PREFIXES = {
    rl.uint8: "torch.Byte",
    rl.bool_: "torch.Byte",
    rl.int8: "torch.Char",
    rl.int16: "torch.Short",
    rl.int32: "torch.Int",
    rl.int64: "torch.Long",
    rl.float16: "torch.Half",
    rl.bfloat16: "torch.Float",  # which holds it exactly
    rl.float32: "torch.Float",
    rl.float64: "torch.Double",
}
# Types of NumPy that Torch7 does not have, and those that hold their numbers exactly.
WIDER = {"uint16": np.int32, "uint32": np.int64, "uint64": np.int64}


@dataclass(slots=True)
class View:
    """A tensor as it is written.

    Attributes:
        type_prefix: "torch.Float".
        shape, strides, offset: in the storage that is written.
        storage: where its elements come from; None when it has none.
        first, count: the elements of `storage` that become the storage in the file.
        positions: of these elements where they do not follow one another.
        key: tells the storages of the file apart.
    """

    type_prefix: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: Storage | None = None
    first: int = 0
    count: int = 0
    key: Any = None
    positions: np.ndarray | None = None

    def contents(self) -> tuple[Storage, int, int]:
        """A storage, and the first and the count of its elements that are to be written."""
        assert self.storage is not None
        if self.positions is None:
            return self.storage, self.first, self.count
        gathered = self.storage.tensor()[rl.from_numpy(self.positions)].storage()
        assert gathered is not None
        return gathered, 0, len(gathered)


def type_prefix(dtype: Any) -> str:
    """What Torch7's names of a dtype begin with.

    Raises:
        ValueError: Torch7 has no such numbers.

    >>> import relume as rl
    >>> type_prefix(rl.float32)
    'torch.Float'
    """
    prefix = TYPE_PREFIXES.get(dtype)
    if prefix is None:
        raise ValueError(f"Torch7 has no tensors of {dtype}; save what view_as_real gives")
    return prefix


class Arrays:
    """Every tensor with the whole storage that it looks at, as in Torch7.

    Args:
        keep_gpu_types: tensors that came from a GPU keep the type that they had there.
    """

    def __init__(self, keep_gpu_types: bool = False) -> None:
        self._keep_gpu_types = keep_gpu_types
        self._whole: dict[Any, Tensor] = {}  # storages of other libraries
        self._copies = 0

    # ---- arrays of others ----

    def as_tensor(self, value: Any) -> Tensor | None:
        """The tensor that an array of another library is; None for what is no array.

        Raises:
            ValueError, TypeError: it is one, but of a kind that Torch7 does not have.
        """
        if isinstance(value, np.ndarray):
            return tensor_of_numpy(value)
        if hasattr(value, "untyped_storage"):
            try:
                return self._tensor_of_torch(value)
            except RuntimeError as error:  # sparse ones, those without data, ...
                raise ValueError(f"this tensor has no memory to be written: {error}") from None
        if hasattr(value, "__dlpack__") and not isinstance(value, type):
            return rl.from_dlpack(value).contiguous()
        return None

    def _tensor_of_torch(self, value: Any) -> Tensor:
        """PyTorch's tensors share storages, and go on sharing them in the file."""
        storage = value.untyped_storage()
        key = (storage.data_ptr(), str(value.dtype))
        whole = self._whole.get(key)
        if whole is None or storage.nbytes() == 0:
            elements = storage.nbytes() // value.element_size()
            flat = value.detach().as_strided((elements,), (1,), 0).cpu()
            whole = self._whole[key] = rl.from_dlpack(flat)
        return whole.as_strided(tuple(value.shape), tuple(value.stride()), value.storage_offset())

    # ---- views ----

    def view_of(self, original: Any, tensor: Tensor) -> View:
        """How a tensor is written; `original` is what the user has."""
        tensor = tensor.detach()
        if isinstance(original, np.ndarray) or not is_torch7_view(tensor):
            tensor = tensor.cpu().contiguous()
            return self._view(original, tensor, self._new_key())
        return self._view(original, tensor, None)

    def view_of_storage(self, storage: Storage) -> View:
        """How a storage by itself is written."""
        prefix = self._prefix(storage, storage.dtype)
        return View(prefix, (), (), 0, storage, 0, len(storage), storage._address)

    def _view(self, original: Any, tensor: Tensor, key: Any) -> View:
        prefix = self._prefix(original, tensor.dtype)
        shape, strides = geometry(tensor)
        storage = tensor.storage()
        if storage is None or len(storage) == 0:  # nil, as for a new tensor of Torch7
            return View(prefix, shape, strides, 0)
        key = storage._address if key is None else key
        return View(prefix, shape, strides, tensor.storage_offset(), storage, 0, len(storage), key)

    def _prefix(self, original: Any, dtype: Any) -> str:
        if self._keep_gpu_types:
            name = origin(original)
            if name is not None:
                return name.removesuffix("Tensor").removesuffix("Storage")
        return type_prefix(dtype)

    def _new_key(self) -> Any:
        self._copies += 1
        return ("copy", self._copies)


def geometry(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in Torch7's terms: nothing is empty but the tensor without dimensions,
    and a single number is a vector of one."""
    if tensor.numel() == 0:
        return (), ()
    return tuple(tensor.shape) or (1,), tuple(tensor.stride()) or (1,)


def is_torch7_view(tensor: Tensor) -> bool:
    """Can it be written as a view of its storage: on the CPU, of one type, no step backwards?"""
    storage = tensor.storage()
    return storage is None or (
        storage.dtype == tensor.dtype
        and tensor.device.type == "cpu"
        and all(stride >= 0 for stride in tensor.stride())
    )


def tensor_of_numpy(array: np.ndarray) -> Tensor:
    """A tensor with the elements of an array, on its memory where that can be."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name in WIDER:
        wider = array.astype(WIDER[array.dtype.name])
        if array.dtype == np.uint64 and (wider < 0).any():
            raise ValueError("an array of uint64 has numbers above 2^63 - 1, which Torch7 lacks")
        array = wider
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ValueError(
            f"Torch7 has no tensors of {array.dtype}; an array of text or objects can be saved as "
            "a list, with tolist()"
        )
    return rl.from_numpy(array if array.flags.writeable else np.asarray(Unprotected(array)))


class Unprotected:
    """A read-only array that NumPy takes for a writable one: it will only be read, so it need not
    be copied."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array  # whose memory it is
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }
