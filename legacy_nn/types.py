"""Torch7's tensor types by name, and the default one that constructors use."""

from __future__ import annotations

import relume as rl

DTYPES = {
    "torch.DoubleTensor": rl.float64,
    "torch.FloatTensor": rl.float32,
    "torch.HalfTensor": rl.float16,
    "torch.LongTensor": rl.int64,
    "torch.IntTensor": rl.int32,
    "torch.ShortTensor": rl.int16,
    "torch.CharTensor": rl.int8,
    "torch.ByteTensor": rl.uint8,
}
# What GPU types are here: there is one kind of tensor, on the CPU.
GPU_TYPES = {
    "torch.CudaTensor": "torch.FloatTensor",
    "torch.CudaDoubleTensor": "torch.DoubleTensor",
    "torch.CudaHalfTensor": "torch.HalfTensor",
    "torch.CudaLongTensor": "torch.LongTensor",
    "torch.CudaIntTensor": "torch.IntTensor",
    "torch.CudaShortTensor": "torch.ShortTensor",
    "torch.CudaCharTensor": "torch.CharTensor",
    "torch.CudaByteTensor": "torch.ByteTensor",
}

_default_typename = "torch.DoubleTensor"


def set_default_tensor_type(typename: str) -> None:
    """Sets the type of the parameters that constructors make.

    Args:
        typename: a Torch7 name such as "torch.FloatTensor". Torch7 starts with doubles.

    Raises:
        ValueError: for a name that is no Torch7 tensor type.

    >>> from relume import legacy_nn as nn
    >>> nn.set_default_tensor_type("torch.FloatTensor")
    >>> nn.Linear(2, 3).weight.torch_typename
    'torch.FloatTensor'
    >>> nn.set_default_tensor_type("torch.DoubleTensor")
    """
    global _default_typename
    dtype_of(typename)
    _default_typename = typename


def get_default_tensor_type() -> str:
    """The type of the parameters that constructors make.

    >>> from relume import legacy_nn as nn
    >>> nn.get_default_tensor_type()
    'torch.DoubleTensor'
    """
    return _default_typename


def dtype_of(typename: str):
    """The relume dtype of a Torch7 tensor type; GPU types give their CPU counterpart.

    >>> from relume.legacy_nn.types import dtype_of
    >>> dtype_of("torch.CudaTensor")
    relume.float32
    """
    dtype = DTYPES.get(GPU_TYPES.get(typename, typename))
    if dtype is None:
        raise ValueError(f"{typename!r} is not a tensor type; there are {', '.join(DTYPES)}")
    return dtype


def default_dtype():
    """The relume dtype of the default tensor type."""
    return DTYPES[_default_typename]


def new_empty(typename: str | None = None):
    """A Torch7 tensor without elements, as `torch.Tensor()` makes it: shape (0,)."""
    return rl.empty((0,), dtype=DTYPES[typename or _default_typename])


def new_parameter(*sizes: int):
    """A tensor of the default type, zeros (Torch7 leaves it uninitialised)."""
    return rl.zeros(sizes, dtype=default_dtype())


def long_storage(sizes) -> rl.Storage:
    """A LongStorage, in which Torch7 keeps sizes."""
    storage = rl.tensor([int(size) for size in sizes], dtype=rl.int64).storage()
    assert storage is not None
    return storage


def sizes_of(sizes) -> list[int]:
    """Sizes given as numbers, a list, a Table or a LongStorage, as a list of int."""
    if isinstance(sizes, rl.Storage):
        return list(map(int, sizes.tensor().tolist())) if len(sizes) else []
    if isinstance(sizes, rl.Tensor):
        return [int(size) for size in sizes.tolist()]
    if hasattr(sizes, "as_list"):
        sizes = list(sizes)
    return [int(size) for size in sizes]
