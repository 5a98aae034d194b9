"""Torch7's `nn.utils`: the same for a tensor, a module, or (nested) tables of them.

>>> import relume as rl
>>> from relume import legacy_nn as nn
>>> protos = rl.Table({"rnn": nn.Linear(2, 2), "state": rl.zeros(2, dtype=rl.float64)})
>>> _ = nn.utils.recursiveType(protos, "torch.FloatTensor")
>>> protos.rnn.weight.torch_typename, protos.state.torch_typename
('torch.FloatTensor', 'torch.FloatTensor')
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import copying, nested
from relume.legacy_nn.types import DTYPES, GPU_TYPES, dtype_of, new_empty

__all__ = [
    "addSingletonDimension",
    "clear",
    "contiguousView",
    "recursiveAdd",
    "recursiveCopy",
    "recursiveFill",
    "recursiveResizeAs",
    "recursiveType",
]


def recursiveType(value: Any, typename: str, tensorCache: Any = None) -> Any:
    """Converts tensors, and all tensors in tables and modules, to a Torch7 type.

    Args:
        value: a tensor, which is converted into a new one, or a table or module, whose tensors
            are converted in their places.
        typename: such as "torch.FloatTensor".
        tensorCache: a dict, kept between calls: what shares memory across calls still does
            afterwards.

    Returns:
        The tensor, table or module.

    Raises:
        ValueError: for a name that is no Torch7 tensor type.
    """
    dtype_of(typename)
    typename = GPU_TYPES.get(typename, typename)
    copier = copier_in(tensorCache, typename)
    if isinstance(value, Tensor):
        return value if value.dtype == copier.dtype else copier.copy(value)
    copying.cast(value, typename, copier)
    return value


def copier_in(cache: Any, typename: str) -> copying.TensorCopier:
    """What converts to a type and remembers what it has converted."""
    if cache is None:
        return copying.TensorCopier(DTYPES[typename])
    if typename not in cache:
        cache[typename] = copying.TensorCopier(DTYPES[typename])
    return cache[typename]


def recursiveResizeAs(first: Any, second: Any) -> tuple[Any, Any]:
    """Gives `first` the structure and the sizes of `second`; what it holds is undefined then.

    Returns:
        `first` (a new table or tensor where it had another form) and `second`.
    """
    if nested.is_table(second):
        own = nested.elements(first) if nested.is_table(first) else []
        parts = nested.elements(second)
        own += [None] * (len(parts) - len(own))
        resized = [recursiveResizeAs(a, b)[0] for a, b in zip(own, parts, strict=False)]
        return nested.table(resized), second
    if isinstance(second, Tensor):
        first = first if isinstance(first, Tensor) else rl.empty((0,), dtype=second.dtype)
        return first.resize_(tuple(second.shape)), second
    raise TypeError(f"expected a tensor or a table of tensors, got {nested.describe(second)}")


def recursiveFill(value: Any, number: float) -> Any:
    """Fills all tensors with a number.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x = rl.zeros(2)
    >>> _ = nn.utils.recursiveFill([x, [x]], 3)
    >>> x.tolist()
    [3.0, 3.0]
    """
    for tensor in nested.tensors_in(value):
        tensor.detach().fill_(number)
    return value


def recursiveAdd(first: Any, *scale_and_second: Any) -> tuple[Any, Any]:
    """Adds the tensors of a second structure to those of the first: `recursiveAdd(a, b)`, or
    `recursiveAdd(a, 0.5, b)` for half of it.

    Returns:
        `first`, which has changed, and the second.
    """
    scale, second = (1, *scale_and_second)[-2:]
    for tensor, other in nested.pair_up(first, second):
        tensor.detach().add_(other, alpha=scale)
    return first, second


def recursiveCopy(first: Any, second: Any) -> tuple[Any, Any]:
    """Copies the tensors of `second` into those of `first`, which are resized as it takes.

    Returns:
        `first` (a new table or tensor where it had another form) and `second`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.utils.recursiveCopy(None, [rl.ones(2), rl.ones(1)])[0].as_list()[0].tolist()
    [1.0, 1.0]
    """
    first, _ = recursiveResizeAs(first, second)
    for tensor, other in nested.pair_up(first, second):
        tensor.detach().copy_(other)
    return first, second


def addSingletonDimension(tensor: Tensor, dim: int = 1) -> Tensor:
    """A view with one more dimension of size 1.

    Args:
        tensor: anything.
        dim: the place of the new dimension, counted from 1.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.utils.addSingletonDimension(rl.ones(2, 3), 2).shape
    (2, 1, 3)
    """
    if not 1 <= dim <= tensor.ndim + 1:
        raise IndexError(
            f"addSingletonDimension: dim {dim} should be in 1..{tensor.ndim + 1} for "
            f"{nested.describe(tensor)}"
        )
    return tensor.unsqueeze(dim - 1)


def contiguousView(tensor: Tensor, *sizes: int) -> Tensor:
    """A view in other sizes, of a copy where the tensor is not contiguous.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.utils.contiguousView(rl.ones(2, 3).t(), -1).shape
    (6,)
    """
    return tensor.contiguous().reshape(sizes)


def clear(module: Any, *names: Any) -> Any:
    """Empties fields of a module: tensors become empty, tables too, the rest None.

    Args:
        module: any.
        names: of fields, or one list of them.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.Tanh()
    >>> _ = layer.forward(rl.ones(3))
    >>> nn.utils.clear(layer, "output", "gradInput").output.shape
    (0,)
    """
    fields = vars(module)
    if len(names) == 1 and nested.is_table(names[0]):
        names = tuple(nested.elements(names[0]))
    for name in names:
        value = fields.get(name)
        if isinstance(value, Tensor):
            fields[name] = new_empty(value.torch_typename)
        elif nested.is_table(value):
            fields[name] = Table()
        elif value is not None:
            del fields[name]
    return module
