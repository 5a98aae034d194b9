"""The base class of layers and networks: PyTorch's protocol."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relume import Tensor
from relume.nn.hooks import ForwardHook, ModuleHooks, RemovableHandle
from relume.nn.loading import IncompatibleKeys, StateLoading
from relume.nn.parameter import Buffer, Parameter
from relume.tensor.dtypes import bfloat16, float16, float32, float64

_ATTRIBUTE_GROUPS = ("_parameters", "_buffers", "_modules")


TORCH_LAYER_ADVICE = (
    "a layer of legacy_nn, which a relume.nn.Module neither trains nor saves: "
    "make it one with nn.TorchLayer(layer)"
)


def is_torch_layer(value: Any) -> bool:
    """Is it a layer of Torch7 (relume.legacy_nn)?"""
    return hasattr(value, "updateOutput") and hasattr(value, "torch_typename")


class Module(StateLoading):
    """A layer or a network: holds parameters, buffers and other modules, and computes.

    Subclasses call `super().__init__()`, assign parameters and modules to attributes, and
    define `forward`.

    Attributes:
        training: True in training mode (dropout drops, batch norm uses the batch).

    >>> import relume as rl
    >>> from relume import nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.first = nn.Linear(3, 4)
    ...         self.last = nn.Linear(4, 1)
    ...     def forward(self, x):
    ...         return self.last(self.first(x).tanh())
    >>> net = Net()
    >>> net(rl.ones(5, 3)).shape
    (5, 1)
    >>> list(net.state_dict())
    ['first.weight', 'first.bias', 'last.weight', 'last.bias']
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _hooks: ModuleHooks | None = None

    def __init__(self) -> None:
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _non_persistent_buffers_set=set(),
        )

    # ---- computing ----

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """forward(*args, **kwargs) with the hooks around it."""
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return self._hooks.call(self, args, kwargs)

    # ---- attributes ----

    def __getattr__(self, name: str) -> Any:
        # Parameters first and without a loop: every forward comes here for each of its weights.
        members = self.__dict__
        if "_parameters" in members:
            if name in members["_parameters"]:
                return members["_parameters"][name]
            if name in members["_modules"]:
                return members["_modules"][name]
            if name in members["_buffers"]:
                return members["_buffers"][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif not self._replace_registered(name, value):
            if is_torch_layer(value):
                warnings.warn(f"{name!r} is {TORCH_LAYER_ADVICE}", stacklevel=2)
            object.__setattr__(self, name, value)

    def _replace_registered(self, name: str, value: Any) -> bool:
        """Assigns to a registered name what is no parameter or module: a tensor or None."""
        members = self.__dict__
        for group, kind in zip(_ATTRIBUTE_GROUPS, (Parameter, Tensor, Module), strict=True):
            if name in members.get(group, ()):
                if value is not None and not isinstance(value, kind):
                    raise TypeError(
                        f"{type(self).__name__}.{name} must be a {kind.__name__} or None, "
                        f"not {type(value).__name__}"
                    )
                members[group][name] = value
                return True
        return False

    def __delattr__(self, name: str) -> None:
        for group in _ATTRIBUTE_GROUPS:
            if name in self.__dict__.get(group, ()):
                del self.__dict__[group][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _register(self, group: str, name: str, value: Any) -> None:
        members = self.__dict__
        if group not in members:
            raise AttributeError(
                f"call super().__init__() in {type(self).__name__}.__init__() before assigning "
                f"{name!r}"
            )
        if not isinstance(name, str):
            raise TypeError(f"a name must be a string, not {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"a name must not be empty nor contain a dot: {name!r}")
        for other in _ATTRIBUTE_GROUPS:
            if other != group:
                members[other].pop(name, None)
        members.pop(name, None)
        members[group][name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name; None reserves the name.

        Raises:
            TypeError: no Parameter.
            KeyError: an empty name, one with a dot, or one that an attribute has.
        """
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"{name!r} must be a Parameter or None, not {type(param).__name__}")
        if param is not None and not param.is_leaf:
            raise ValueError(f"{name!r} is the result of a computation; a parameter is a leaf")
        self._refuse_taken_name(name)
        self._register("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is state but no parameter, such as a running mean.

        Args:
            persistent: is it part of `state_dict`?

        >>> import relume as rl
        >>> from relume import nn
        >>> layer = nn.Module()
        >>> layer.register_buffer("steps", rl.zeros(1))
        >>> layer.steps
        tensor([0.])
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"{name!r} must be a Tensor or None, not {type(tensor).__name__}")
        self._refuse_taken_name(name)
        self._register("_buffers", name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child under a name."""
        if module is not None and not isinstance(module, Module):
            kind = type(module).__name__
            if is_torch_layer(module):
                kind = TORCH_LAYER_ADVICE
            raise TypeError(f"{name!r} must be a Module or None, not {kind}")
        self._refuse_taken_name(name)
        self._register("_modules", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    def _refuse_taken_name(self, name: str) -> None:
        # Python would find the class's attribute first and never come to __getattr__.
        if isinstance(name, str) and hasattr(type(self), name):
            raise KeyError(f"the class {type(self).__name__} has an attribute {name!r} already")

    # ---- walks over the tree ----

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Pairs (name, module): this module, then everything below it, each object once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs (name, module) of the direct children, each once."""
        seen: set[Module] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """The direct children."""
        return (child for _, child in self.named_children())

    def _named_members(
        self, group: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in module.__dict__[group].items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs (name, parameter), those of the modules below included.

        >>> from relume import nn
        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 1)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, those of the modules below included, each once."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Pairs (name, buffer), those of the modules below included."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, those of the modules below included."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; "" is this module. AttributeError when there is none.

        >>> from relume import nn
        >>> nn.Sequential(nn.Sequential(nn.ReLU())).get_submodule("0.0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            child = getattr(module, name, None)
            if not isinstance(child, Module):
                raise AttributeError(f"{type(module).__name__} has no module {name!r} ({target!r})")
            module = child
        return module

    def set_submodule(self, target: str, module: Module) -> None:
        """Puts a module at a dotted path, whose last part may be new."""
        if not target:
            raise ValueError("a path is needed: a module cannot replace itself")
        path, _, name = target.rpartition(".")
        setattr(self.get_submodule(path), name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path. AttributeError when there is none."""
        return self._member_at(target, Parameter, "_parameters")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. AttributeError when there is none."""
        return self._member_at(target, Tensor, "_buffers")

    def _member_at(self, target: str, kind: type, group: str) -> Any:
        path, _, name = target.rpartition(".")
        value = self.get_submodule(path).__dict__[group].get(name)
        if not isinstance(value, kind):
            raise AttributeError(f"{type(self).__name__} has no {kind.__name__} at {target!r}")
        return value

    # ---- changing everything below ----

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Calls a function with every module below and then with this one; returns itself."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Any:
        """Replaces every parameter, gradient and buffer by a function of it."""
        for child in self.children():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                gradient, parameter.grad = parameter.grad, None
                parameter.data = fn(parameter.data)
                if gradient is not None:
                    parameter.grad = fn(gradient.detach()).requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves parameters and buffers to a type or a device, in place; returns itself.

        Args:
            args: a floating dtype, a device, or a tensor to be like. Integer buffers keep
                their type.

        >>> import relume as rl
        >>> from relume import nn
        >>> nn.Linear(2, 1).to(rl.float64).weight.dtype
        relume.float64
        """
        return self._apply(lambda t: t.to(*args, **kwargs) if t.dtype.is_floating_point else t)

    def _to_floating(self, dtype: Any) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.dtype.is_floating_point else t)

    def float(self) -> Any:
        """Floating parameters and buffers as float32, in place."""
        return self._to_floating(float32)

    def double(self) -> Any:
        """Floating parameters and buffers as float64, in place."""
        return self._to_floating(float64)

    def half(self) -> Any:
        """Floating parameters and buffers as float16, in place."""
        return self._to_floating(float16)

    def bfloat16(self) -> Any:
        """Floating parameters and buffers as bfloat16, in place."""
        return self._to_floating(bfloat16)

    def type(self, dst_type: Any) -> Any:
        """All parameters and buffers in a type, in place."""
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self) -> Any:
        """Everything on the CPU, in place."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Everything on a GPU, in place; a ValueError says that there is none."""
        return self._apply(lambda t: t.to("cuda"))

    def share_memory(self) -> Any:
        """Moves everything into memory that processes share, in place."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True) -> Any:
        """Training mode on or off, for this module and all below; returns itself."""
        if not isinstance(mode, bool):
            raise ValueError(f"mode must be True or False, not {mode!r}")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Any:
        """Evaluation mode: the same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Says for all parameters whether the tape records them; returns itself."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad = parameter.grad.detach().zero_()

    # ---- hooks ----

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", ModuleHooks())
        assert self._hooks is not None
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before every forward; what it returns replaces the inputs.

        Args:
            prepend: before the hooks that are there already.
            with_kwargs: call `hook(module, args, kwargs)`, which returns None or both.
        """
        hooks = self._own_hooks().forward_pre
        return RemovableHandle(hooks, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after every forward; what it returns replaces output.

        Args:
            with_kwargs: call `hook(module, args, kwargs, output)`.
            always_call: also when forward raises (with output None).

        >>> import relume as rl
        >>> from relume import nn
        >>> layer = nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 10)
        >>> layer(rl.tensor([1.0]))
        tensor([10.])
        >>> handle.remove()
        """
        hooks = self._own_hooks().forward
        return RemovableHandle(hooks, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the inputs' gradients are there.

        Both are tuples, with None for what is no tensor with a gradient. What the hook returns
        replaces grad_input.
        """
        return RemovableHandle(self._own_hooks().backward, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The same as register_full_backward_hook."""
        return self.register_full_backward_hook(hook)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, grad_output)` before backward passes this module.

        What the hook returns replaces grad_output.
        """
        return RemovableHandle(self._own_hooks().backward_pre, hook, prepend)

    # ---- printing ----

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {_indented(repr(child))}" for name, child in self._modules.items()]
        return _layout(self._get_name(), self.extra_repr(), lines)

    # ---- pickling ----

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


def _indented(text: str) -> str:
    """A text with all lines but the first moved to the right."""
    return text.replace("\n", "\n  ")


def _layout(name: str, extra: str, lines: list[str]) -> str:
    """`Name(extra)` or, with children or a long `extra`, one line for each of them."""
    extra_lines = extra.split("\n") if extra else []
    if not lines and len(extra_lines) <= 1:
        return f"{name}({extra})"
    return f"{name}(\n  " + "\n  ".join(extra_lines + lines) + "\n)"


__all__ = ["IncompatibleKeys", "Module"]
