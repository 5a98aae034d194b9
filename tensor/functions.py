"""Functions and methods with more than one meaning, composed of registered ops.

Everything else of `relume.Tensor` is either an op of the registry, which is a method by
itself, or a property of the C++ object.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor import (
    aliases,
    convolution,
    creation,
    dtype_limits,
    dtypes,
    in_place,
    index_functions,
    linalg,
    list_functions,
    nan_functions,
    numeric_functions,
    numpy_creation,
    numpy_methods,
    numpy_questions,
    order_functions,
    polynomials,
    printing,
    random_functions,
    rearranging,
    sampled_functions,
    segments,
    set_functions,
    spectrograms,
    windows,
)
from relume.tensor.devices import check_device, device
from relume.tensor.dimensions import chosen_dimension
from relume.tensor.dtypes import dtype as DType
from relume.tensor.typed_tensors import TypedTensor

_ops = _C.ops


def _extreme(name: str, input: Tensor, dim: Any, keepdim: bool, axis: Any) -> Any:
    if isinstance(dim, Tensor):
        return _ops[f"{name}imum"](input, dim)
    dim = chosen_dimension(dim, axis)
    if dim is None:
        if input.numel() == 0:
            raise ValueError(f"{name}(): there are no elements to choose from")
        return _ops[f"a{name}"](input)
    return _ops[f"{name}_with_indices"](input, dim, keepdim)


def max(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """The largest element; with `dim` the pair (values, indices); of two tensors the larger.

    Args:
        dim: a dimension (0-based), or a tensor to compare with element by element.
        keepdim: keep the dimension with size 1.

    >>> import relume as rl
    >>> rl.max(rl.tensor([1, 3, 2]))
    tensor(3)
    >>> values, indices = rl.max(rl.tensor([[1, 3], [5, 4]]), 1)
    >>> indices
    tensor([1, 0])
    """
    return _extreme("max", input, dim, keepdim or keepdims, axis)


def min(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """The smallest element; with `dim` the pair (values, indices); of two tensors the smaller.

    >>> import relume as rl
    >>> rl.min(rl.tensor([4, 3, 7]))
    tensor(3)
    """
    return _extreme("min", input, dim, keepdim or keepdims, axis)


def split(input: Tensor, split_size: Any, dim: int = 0, *, axis: int | None = None) -> list[Tensor]:
    """Parts of a tensor along a dimension, as views.

    Args:
        split_size: the size of every part (the last may be smaller), or a list of sizes.

    >>> import relume as rl
    >>> [part.tolist() for part in rl.split(rl.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    dim = dim if axis is None else axis
    if not isinstance(split_size, int):
        return _ops["split"](input, split_size, dim)
    if split_size <= 0:
        raise ValueError(f"split() needs parts of at least one element, not {split_size}")
    total = input.size(dim)
    sizes = [builtins.min(split_size, total - start) for start in range(0, total, split_size)]
    return _ops["split"](input, sizes or [0], dim)


def equal(input: Tensor, other: Tensor) -> bool:
    """Have two tensors the same shape and elements? NaN equals nothing.

    >>> import relume as rl
    >>> rl.equal(rl.ones(2), rl.ones(3))
    False
    """
    return input.shape == other.shape and bool((input == other).all())


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Are all elements within `atol + rtol * |other|` of each other?

    >>> import relume as rl
    >>> rl.allclose(rl.tensor([1.0]), rl.tensor([1.0 + 1e-7]))
    True
    """
    return bool(_ops["isclose"](input, other, rtol, atol, equal_nan).all())


def norm(
    input: Tensor,
    p: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The p-norm along dimensions, or of all elements: sum(abs(input)**p)**(1/p).

    Args:
        p: any number; inf is the largest absolute value, -inf the smallest, 0 counts the elements
            that are not 0. "fro" is 2; "nuc" is the sum of the singular values of matrices.
        dim: a dimension or several (0-based); None for all.
        keepdim: keep the dimensions with size 1.
        dtype: convert to this type first.

    >>> import relume as rl
    >>> rl.norm(rl.tensor([3.0, -4.0]))
    tensor(5.)
    >>> rl.norm(rl.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    dim = chosen_dimension(dim, axis)
    keepdim = keepdim if keepdims is None else keepdims
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        result = linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)
        return result if out is None else out.copy_(result)
    return _ops["norm"](input, 2 if p in ("fro", None) else p, dim, keepdim, out=out)


def is_tensor(value: Any) -> bool:
    """Is it a relume.Tensor?"""
    return isinstance(value, Tensor)


def is_complex(input: Tensor) -> bool:
    """Does it hold complex numbers?

    >>> import relume as rl
    >>> rl.is_complex(rl.tensor([1j]))
    True
    """
    return input.dtype.is_complex


def is_floating_point(input: Tensor) -> bool:
    """Does it hold floats? Complex numbers are none.

    >>> import relume as rl
    >>> rl.is_floating_point(rl.ones(2))
    True
    """
    return input.dtype.is_floating_point


def _to(
    tensor: Tensor,
    *targets: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Tensor:
    """The tensor in another type or on another device; itself when nothing changes.

    Args:
        targets: a dtype (or its name), a device ("cpu"), or a tensor to be like.
        non_blocking: has no effect on a CPU.
        copy: a new tensor in any case.

    >>> import relume as rl
    >>> rl.tensor([1.5]).to("int64")
    tensor([1])
    """
    for target in targets:
        if isinstance(target, Tensor):
            dtype = target.dtype
        elif isinstance(target, str) and target.split(":")[0] in ("cpu", "cuda"):
            device = target
        else:
            dtype = target
    check_device(device)
    if dtype is None or tensor.dtype == dtype:
        return tensor.clone() if copy else tensor
    return tensor.to_dtype(dtype)


def _converter(dtype: DType) -> Any:
    def convert(tensor: Tensor) -> Tensor:
        return tensor if tensor.dtype is dtype else tensor.to_dtype(dtype)

    convert.__doc__ = f"The tensor as {dtype.name}; itself when it is that already."
    return convert


_TORCH_TYPES = {kind.torch_typename: kind for kind in dtypes.ALL_DTYPES if kind.torch_typename}


def _type(tensor: Tensor, target: Any = None) -> Any:
    """Torch7's name of the type; with an argument the tensor in that type."""
    if target is None:
        return tensor.torch_typename
    if isinstance(target, TypedTensor):
        return tensor.to(target.dtype)
    return tensor.to(_TORCH_TYPES.get(target, target))


def _new_method(name: str) -> Any:
    create = _ops[name]

    def new(tensor: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
        return create(*size, dtype=tensor.dtype if dtype is None else dtype, **options)

    new.__doc__ = f"relume.{name}(*size) in the type of this tensor."
    return new


def _new_full(
    tensor: Tensor, size: Any, fill_value: Any, dtype: Any = None, **options: Any
) -> Tensor:
    """relume.full(size, fill_value) in the type of this tensor."""
    dtype = tensor.dtype if dtype is None else dtype
    return _ops["full"](size, fill_value, dtype=dtype, **options)


def _new_tensor(
    tensor: Tensor,
    data: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """relume.tensor(data) in the type of this tensor."""
    check_device(device)
    made = _C.tensor_from_data(data, tensor.dtype if dtype is None else dtype)
    return made.requires_grad_() if requires_grad else made


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` (0 when only one is given) up to, not including, `end`.

    >>> arange(3)
    tensor([0, 1, 2])
    """
    if end is None:
        start, end = 0, start
    return _ops["arange"](start, end, step, dtype=dtype, device=device, requires_grad=requires_grad)


WRITTEN_HERE = (
    allclose,
    arange,
    equal,
    is_complex,
    is_floating_point,
    is_tensor,
    max,
    min,
    norm,
    split,
    *convolution.FUNCTIONS,
    *creation.FUNCTIONS,
    *aliases.FUNCTIONS,
    *dtype_limits.FUNCTIONS,
    *index_functions.FUNCTIONS,
    *linalg.FUNCTIONS,
    *list_functions.FUNCTIONS,
    *nan_functions.FUNCTIONS,
    *numeric_functions.FUNCTIONS,
    *numpy_creation.FUNCTIONS,
    *numpy_methods.FUNCTIONS,
    *numpy_questions.FUNCTIONS,
    *order_functions.FUNCTIONS,
    *polynomials.FUNCTIONS,
    *printing.FUNCTIONS,
    *random_functions.FUNCTIONS,
    *rearranging.FUNCTIONS,
    *sampled_functions.FUNCTIONS,
    *segments.FUNCTIONS,
    *set_functions.FUNCTIONS,
    *spectrograms.FUNCTIONS,
    *windows.FUNCTIONS,
)


# PyTorch has these methods as functions too.
_METHODS_AS_FUNCTIONS = (
    "addmv_",
    "adjoint",
    "as_strided_",
    "clamp_max_",
    "clamp_min_",
    "detach",
    "detach_",
    "index_put_",
    "is_conj",
    "is_neg",
    "is_same_size",
    "is_signed",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "split_with_sizes",
)


def public_functions() -> dict[str, Any]:
    """Everything that `relume` exports from here: ops of the registry and the functions above."""
    functions: dict[str, Any] = {}
    for row in _C.registry():
        if not {"internal", "method_only", "in_place"} & set(row["traits"]):
            # Interned as the names in programs are, which then compare by address.
            functions[sys.intern(row["name"])] = _ops[row["name"]]
    functions.update(aliases.functions())
    functions.update(in_place.functions())
    functions.update({name: getattr(Tensor, name) for name in _METHODS_AS_FUNCTIONS})
    functions.update(linalg.ALIASES)
    functions.update(numpy_creation.OBJECTS)
    functions.update({f.__name__: f for f in WRITTEN_HERE})
    return functions


def _transposed(tensor: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    return tensor.permute(tuple(range(tensor.ndim))[::-1])


def _adjoint(tensor: Tensor) -> Tensor:
    """The last two dimensions exchanged, complex elements conjugated."""
    return rearranging.matrix_transpose(tensor).conj()


_CONVERSIONS = {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}


def install() -> None:
    """Adds the methods to Tensor."""
    attributes: dict[str, Any] = {
        "allclose": allclose,
        "equal": equal,
        "max": max,
        "min": min,
        "norm": norm,
        "split": split,
        "to": _to,
        "type": _type,
        "type_as": lambda tensor, other: tensor.to(other.dtype),
        "view_as": lambda tensor, other: tensor.view(other.shape),
        "expand_as": lambda tensor, other: tensor.expand(other.shape),
        "reshape_as": lambda tensor, other: tensor.reshape(other.shape),
        "cpu": lambda tensor: tensor,
        "T": property(_transposed),
        "mT": property(rearranging.matrix_transpose),
        "H": property(_adjoint),
        "mH": property(_adjoint),
        "adjoint": _adjoint,
        "real": property(lambda tensor: _ops["real"](tensor)),
        "imag": property(lambda tensor: _ops["imag"](tensor)),
        "is_complex": is_complex,
        "is_floating_point": is_floating_point,
        "device": property(lambda tensor: device(tensor._device_name)),
        "new_tensor": _new_tensor,
        "new_full": _new_full,
        **{f"new_{name}": _new_method(name) for name in ("zeros", "ones", "empty")},
        **{name: _converter(kind) for name, kind in _CONVERSIONS.items()},
        **numpy_methods.METHODS,
        **index_functions.METHODS,
        **linalg.ALIASES,
        **{f.__name__: f for f in linalg.FUNCTIONS},
        **list_functions.METHODS,
        **order_functions.METHODS,
        **random_functions.METHODS,
        **{f.__name__: f for f in spectrograms.FUNCTIONS},
    }
    for name, value in attributes.items():
        setattr(Tensor, name, value)
