"""Methods that NumPy's arrays have, by NumPy's names, and PyTorch's questions to a tensor."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.numeric_functions import argpartition, divmod, partition, ptp

_ops = _C.ops


def _astype(tensor: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """The tensor in another type; itself when that changes nothing and `copy` is False.

    >>> import relume as rl
    >>> rl.tensor([1.7]).astype("int64")
    tensor([1])
    """
    return tensor.to(dtype, copy=copy)


def _fill(tensor: Tensor, value: Any) -> None:
    """Sets every element to a number."""
    tensor.fill_(value)


def _tobytes(tensor: Tensor) -> bytes:
    """The bytes of the elements in row-major order.

    >>> import relume as rl
    >>> rl.tensor([1, 2], dtype="uint8").tobytes()
    b'\\x01\\x02'
    """
    return memoryview(tensor.detach().contiguous()).tobytes()


def is_nonzero(input: Tensor) -> bool:
    """Is its one element other than 0? ValueError for more elements.

    >>> import relume as rl
    >>> rl.is_nonzero(rl.tensor([0.5]))
    True
    """
    return bool(input)


def _is_signed(tensor: Tensor) -> bool:
    """Can its type hold numbers below 0?"""
    return tensor.dtype.name not in ("bool", "uint8")


def _is_same_size(tensor: Tensor, other: Tensor) -> bool:
    """Have both the same shape?"""
    return tensor.shape == other.shape


def _is_set_to(tensor: Tensor, other: Tensor) -> bool:
    """Do both look at the same elements in the same way?"""
    return (
        tensor.data_ptr() == other.data_ptr()
        and tensor.shape == other.shape
        and tensor.stride() == other.stride()
        and tensor.dtype == other.dtype
    )


def numel(input: Tensor) -> int:
    """How many elements it has.

    >>> import relume as rl
    >>> rl.numel(rl.ones(2, 3))
    6
    """
    return input.numel()


def _fill_diagonal(tensor: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Sets the main diagonal in place and returns the tensor.

    Args:
        wrap: start anew after every square of a matrix that is taller than wide.

    >>> import relume as rl
    >>> rl.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if tensor.ndim < 2:
        raise ValueError(f"fill_diagonal_() needs at least 2 dimensions, not shape {tensor.shape}")
    if tensor.ndim > 2 and len(set(tensor.shape)) > 1:
        raise ValueError(f"fill_diagonal_() needs dimensions of one size, not shape {tensor.shape}")
    step = sum(tensor.stride())
    length = min(tensor.shape)
    tensor.as_strided((length,), (step,), tensor.storage_offset()).fill_(fill_value)
    if wrap and tensor.ndim == 2:
        columns = tensor.size(1)
        for start in range(columns + 1, tensor.size(0), columns + 1):
            tensor[start:].diagonal().fill_(fill_value)
    return tensor


def _resize_as(tensor: Tensor, other: Tensor) -> Tensor:
    """Torch7's resizeAs: the shape of `other` on the same storage, which grows when it must."""
    return tensor.resize_(other.shape)


def _apply(tensor: Tensor, function: Any) -> Tensor:
    """Sets every element to function(element), in place.

    >>> import relume as rl
    >>> rl.tensor([1.0, 2.0]).apply_(lambda x: x + 1)
    tensor([2., 3.])
    """
    values = [function(x) for x in tensor.detach().reshape(-1).tolist()]
    return tensor.copy_(_C.tensor_from_data(values, tensor.dtype).reshape(tensor.shape))


def _map(tensor: Tensor, other: Tensor, function: Any) -> Tensor:
    """Sets every element a to function(a, b) with b from `other`, in place."""
    pairs = zip(
        tensor.detach().reshape(-1).tolist(),
        other.detach().expand(tensor.shape).reshape(-1).tolist(),
        strict=True,
    )
    values = [function(a, b) for a, b in pairs]
    return tensor.copy_(_C.tensor_from_data(values, tensor.dtype).reshape(tensor.shape))


def _cuda(tensor: Tensor, *device: Any, **options: Any) -> Tensor:
    """Refuses: tensors are on the CPU."""
    return tensor.to(device="cuda")


def _itself(tensor: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """The tensor itself: PyTorch's question or request has one answer here."""
    return tensor


def _false(tensor: Tensor) -> bool:
    """False: there are no such tensors here."""
    return False


FUNCTIONS = (is_nonzero, numel)
# What PyTorch asks of tensors of kinds that relume does not have.
_KINDS = "conj distributed inference neg pinned".split()
_KIND_PROPERTIES = (
    "ipu maia meta mkldnn mps mtia nested quantized sparse sparse_csr vulkan xla xpu".split()
)


def reversed_divmod(tensor: _C.Tensor, other: Any) -> tuple[_C.Tensor, _C.Tensor]:
    return divmod(_C.tensor_from_data(other, None), tensor)


METHODS = {
    "__divmod__": divmod,
    "__rdivmod__": reversed_divmod,
    "argpartition": argpartition,
    "partition": partition,
    **{f"is_{kind}": _false for kind in _KINDS},
    **{f"is_{kind}": property(_false) for kind in _KIND_PROPERTIES},
    **dict.fromkeys(("pin_memory", "resolve_conj", "resolve_neg", "to_dense"), _itself),
    "cuda": _cuda,
    "get_device": lambda tensor: -1,
    "dim_order": lambda tensor: tuple(sorted(range(tensor.ndim), key=lambda d: -tensor.stride(d))),
    "untyped_storage": lambda tensor: tensor.storage(),
    "new": lambda tensor, *size: tensor.new_empty(*size) if size else tensor.new_empty(0),
    "apply_": _apply,
    "astype": _astype,
    "copy": lambda tensor: tensor.clone(),
    "fill": _fill,
    "fill_diagonal_": _fill_diagonal,
    "is_cpu": property(lambda tensor: True),
    "is_cuda": property(lambda tensor: False),
    "is_nonzero": is_nonzero,
    "is_same_size": _is_same_size,
    "is_set_to": _is_set_to,
    "is_signed": _is_signed,
    "map_": _map,
    "ndimension": lambda tensor: tensor.ndim,
    "ptp": ptp,
    "resize_as_": _resize_as,
    "split_with_sizes": lambda tensor, split_sizes, dim=0: tensor.split(split_sizes, dim),
    "sum_to_size": lambda tensor, *size: _ops["sum_to"](tensor, *size),
    "tobytes": _tobytes,
}
