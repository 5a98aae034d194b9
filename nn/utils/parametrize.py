"""Parameters that are functions of others: `module.weight` is computed whenever it is read.

A parametrization is a module; its forward gives the parameter. The free parameters and the modules
stand in `module.parametrizations.weight`, under PyTorch's names, so that state dicts fit both ways.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relume import Tensor
from relume.autograd import no_grad
from relume.nn.containers import ModuleDict, ModuleList
from relume.nn.module import Module
from relume.nn.parameter import Parameter

_cache: dict[tuple[int, str], Tensor] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Inside of the block every parametrized tensor is computed once.

    >>> from relume import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache
    before = _cache
    _cache = {} if before is None else before
    try:
        yield
    finally:
        _cache = before


class ParametrizationList(ModuleList):
    """The modules that make one tensor, and what they make it from.

    Attributes:
        original: the free parameter; original0, original1, ... where the first module's
            right_inverse gives several.
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        self.is_tensor = True
        self.ntensors = 1
        try:
            with no_grad():
                free = self._inverse(original)
        except NotImplementedError:  # no inverse: the free tensor begins as the given one
            free = original
        if isinstance(free, Tensor):
            self._take("original", original, free)
        else:
            self.is_tensor = False
            self.ntensors = len(free)
            for i, part in enumerate(free):
                self._take(f"original{i}", original, part)

    def _take(self, name: str, original: Tensor, value: Tensor) -> None:
        """Registers a free tensor: as a parameter where the original was one."""
        if not isinstance(original, Parameter):
            self.register_buffer(name, value.detach())
        elif value is original:
            self.register_parameter(name, original)
        elif value.shape == original.shape and value.dtype == original.dtype and self.is_tensor:
            original.data = value.detach()  # optimizers that know the parameter go on knowing it
            self.register_parameter(name, original)
        else:
            self.register_parameter(name, Parameter(value.detach(), original.requires_grad))

    def _inverse(self, value: Any) -> Any:
        for module in reversed(list(self)):
            inverse = getattr(module, "right_inverse", None)
            if inverse is not None:
                value = inverse(value)
        return value

    def originals(self) -> list[Tensor]:
        """The free tensors."""
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Tensor:
        first, *others = list(self)
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Sets the free tensors so that the result becomes `value`, where the modules can."""
        with no_grad():
            free = self._inverse(value)
            for target, part in zip(
                self.originals(), [free] if self.is_tensor else free, strict=True
            ):
                if target.shape == part.shape:
                    target.copy_(part)
                else:
                    target.data = part.detach()


def _computed(name: str) -> property:
    """The attribute that computes the tensor."""

    def read(module: Any) -> Tensor:
        parametrization = module.parametrizations[name]
        if _cache is None:
            return parametrization()
        key = (id(module), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def write(module: Any, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(read, write)


def _new_of(base: type, names: tuple[str, ...]) -> Any:
    kind: Any = _parametrized_class(base, names)
    return kind.__new__(kind)


def _reduce(module: Any, protocol: int) -> tuple[Any, ...]:
    kind = type(module)
    return _new_of, (kind._base_class, tuple(kind._computed_names)), module.__dict__


def _set(module: Any, name: str, value: Any) -> None:
    """Module's own way of setting comes after the computed attributes."""
    found = getattr(type(module), name, None)
    if isinstance(found, property):
        found.__set__(module, value)
    else:
        Module.__setattr__(module, name, value)


def _parametrized_class(base: type, names: tuple[str, ...]) -> type:
    """A class like `base` in which these attributes are computed."""
    members: dict[str, Any] = {name: _computed(name) for name in names}
    members |= {"_base_class": base, "_computed_names": names}
    members |= {"__reduce_ex__": _reduce, "__setattr__": _set}
    return type(f"Parametrized{base.__name__}", (base,), members)


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Makes a parameter or buffer the result of a module.

    Args:
        module: whose tensor it is.
        tensor_name: its name.
        parametrization: gives the tensor from a free one of which it may, in `right_inverse`,
            say how it is found for a given tensor. Further ones are applied one after another.
        unsafe: do not check that type and shape stay.

    Returns:
        The module.

    Raises:
        ValueError: no such parameter; a result of another type or shape.

    >>> import relume as rl
    >>> from relume import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        before = getattr(module, tensor_name).detach().clone()
        chain.append(parametrization)
        if hasattr(parametrization, "right_inverse"):
            chain.right_inverse(before)
        _check_result(module, tensor_name, before, unsafe)
        return module
    original = module._parameters.get(tensor_name)
    if original is None:
        original = module._buffers.get(tensor_name)
    if original is None:
        raise ValueError(f"{type(module).__name__} has no parameter or buffer {tensor_name!r}")
    before = original.detach().clone()
    chain = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    base, names = _base_and_names(module)
    if not names:
        module.add_module("parametrizations", ModuleDict())
    module.__dict__["_modules"]["parametrizations"][tensor_name] = chain
    module.__class__ = _parametrized_class(base, (*names, tensor_name))
    _check_result(module, tensor_name, before, unsafe)
    return module


def _base_and_names(module: Any) -> tuple[type, tuple[str, ...]]:
    kind = type(module)
    return getattr(kind, "_base_class", kind), getattr(kind, "_computed_names", ())


def _check_result(module: Any, name: str, before: Tensor, unsafe: bool) -> None:
    if unsafe:
        return
    with no_grad():
        after = getattr(module, name)
    if after.shape != before.shape or after.dtype != before.dtype:
        raise ValueError(
            f"the parametrization makes a tensor of {after.dtype} and shape {after.shape} of "
            f"{name!r}, which has {before.dtype} and {before.shape}; unsafe=True allows that"
        )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Is this tensor (or any, without a name) computed?

    >>> from relume import nn
    >>> is_parametrized(nn.Linear(2, 2))
    False
    """
    names = _base_and_names(module)[1]
    return bool(names) if tensor_name is None else tensor_name in names


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes the tensor a parameter (or buffer) again.

    Args:
        leave_parametrized: with the value that was computed; False takes the free tensor's.

    Returns:
        The module.

    >>> from relume import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> [name for name, _ in remove_parametrizations(layer, "weight").named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{tensor_name!r} of {type(module).__name__} is not parametrized")
    chain = module.parametrizations[tensor_name]
    free = chain.originals()
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach().clone()
    elif not chain.is_tensor:
        raise ValueError("leave_parametrized=False needs a parametrization of a single tensor")
    else:
        value = free[0].detach()
    base, names = _base_and_names(module)
    rest = tuple(name for name in names if name != tensor_name)
    module.__class__ = _parametrized_class(base, rest) if rest else base
    del module.parametrizations[tensor_name]
    if not rest:
        delattr(module, "parametrizations")
    if not isinstance(free[0], Parameter):
        module.register_buffer(tensor_name, value)
    elif chain.is_tensor:
        free[0].data = value
        module.register_parameter(tensor_name, free[0])
    else:
        module.register_parameter(tensor_name, Parameter(value, free[0].requires_grad))
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that the module had before."""
    return _base_and_names(module)[0]


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Gives another module the same parametrizations and values of the free tensors."""
    names = [tensor_name] if tensor_name else list(_base_and_names(from_module)[1])
    for name in names:
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization))
        target = to_module.parametrizations[name]
        with no_grad():
            for own, other in zip(target.originals(), source.originals(), strict=True):
                own.copy_(other)
    return to_module
