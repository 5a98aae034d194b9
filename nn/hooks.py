"""Functions that a module calls before and after its forward and backward computation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relume import Tensor
from relume.autograd import Function

_keys = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as does leaving a `with`.

    >>> hooks = {}
    >>> handle = RemovableHandle(hooks, print)
    >>> handle.remove()
    >>> hooks
    {}
    """

    def __init__(self, hooks: dict[int, Any], hook: Any, prepend: bool = False) -> None:
        self.id = next(_keys)
        self._hooks = hooks
        if prepend:
            others = list(hooks.items())
            hooks.clear()
            hooks[self.id] = hook
            hooks.update(others)
        else:
            hooks[self.id] = hook

    def remove(self) -> None:
        """Takes the hook away; a second time it does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


@dataclass
class ForwardHook:
    """A function around forward and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class ModuleHooks:
    """All hooks of one module, and a call of its forward with them."""

    def __init__(self) -> None:
        self.forward_pre: dict[int, ForwardHook] = {}
        self.forward: dict[int, ForwardHook] = {}
        self.backward_pre: dict[int, Callable[..., Any]] = {}
        self.backward: dict[int, Callable[..., Any]] = {}

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The module's forward between its hooks."""
        after = dict(self.forward)
        called: set[int] = set()
        try:
            args, kwargs = self._before_forward(module, args, kwargs)
            watch = None
            if self.backward or self.backward_pre:
                watch = _BackwardWatch(module, self)
                args = watch.enter(args)
            result = module.forward(*args, **kwargs)
            if watch is not None:
                result = watch.leave(result)
            for key, hook in after.items():
                called.add(key)
                result = _after_forward(hook, module, args, kwargs, result)
            return result
        except Exception:
            for key, hook in after.items():
                if hook.always_call and key not in called:
                    _after_forward(hook, module, args, kwargs, None)
            raise

    def _before_forward(self, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for hook in list(self.forward_pre.values()):
            if hook.with_kwargs:
                changed = hook.function(module, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            "a forward pre-hook with kwargs must return None or the pair "
                            f"(args, kwargs), not {changed!r}"
                        )
                    args, kwargs = changed
            else:
                changed = hook.function(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs


def _after_forward(hook: ForwardHook, module: Any, args: Any, kwargs: Any, result: Any) -> Any:
    extra = (kwargs,) if hook.with_kwargs else ()
    changed = hook.function(module, args, *extra, result)
    return result if changed is None else changed


class _Watched(Function):
    """The identity of some tensors; backward passes their gradients through a function."""

    @staticmethod
    def forward(ctx: Any, on_backward: Callable[..., Any], *tensors: Tensor) -> Any:
        ctx.on_backward = on_backward
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        return (None, *ctx.on_backward(gradients))


class _BackwardWatch:
    """Follows one call of a module's forward, to call hooks when backward comes back to it."""

    def __init__(self, module: Any, hooks: ModuleHooks) -> None:
        self.module = module
        self.hooks = hooks
        self.input_positions: list[int] = []
        self.input_count = 0
        self.output_gradients: tuple[Tensor | None, ...] = ()

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, watched."""
        self.input_count = len(args)
        self.input_positions = [
            i for i, value in enumerate(args) if isinstance(value, Tensor) and value.requires_grad
        ]
        if not self.input_positions:
            return args
        watched = _Watched.apply(self.at_inputs, *(args[i] for i in self.input_positions))
        result = list(args)
        for position, tensor in zip(self.input_positions, watched, strict=True):
            result[position] = tensor
        return tuple(result)

    def leave(self, result: Any) -> Any:
        """The outputs, watched: a tensor or a tuple or list with tensors."""
        outputs = [result] if isinstance(result, Tensor) else result
        if not isinstance(outputs, tuple | list):
            return result
        positions = [i for i, y in enumerate(outputs) if isinstance(y, Tensor) and y.requires_grad]
        if not positions:
            return result
        watched = _Watched.apply(self.at_outputs, *(outputs[i] for i in positions))
        replaced = list(outputs)
        for position, tensor in zip(positions, watched, strict=True):
            replaced[position] = tensor
        return replaced[0] if isinstance(result, Tensor) else type(result)(replaced)

    def at_outputs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        for hook in list(self.hooks.backward_pre.values()):
            gradients = _replacement(hook(self.module, gradients), gradients)
        self.output_gradients = gradients
        if not self.input_positions:  # backward ends inside of the module
            self._call_backward_hooks((None,) * self.input_count)
        return gradients

    def at_inputs(self, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        everything: list[Tensor | None] = [None] * self.input_count
        for position, gradient in zip(self.input_positions, gradients, strict=True):
            everything[position] = gradient
        changed = self._call_backward_hooks(tuple(everything))
        return tuple(changed[position] for position in self.input_positions)

    def _call_backward_hooks(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.hooks.backward.values()):
            changed = hook(self.module, gradients, self.output_gradients)
            gradients = _replacement(changed, gradients)
        return gradients


def _replacement(changed: Any, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a backward hook returned, or the gradients when it returned None."""
    if changed is None:
        return gradients
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(gradients):
        raise RuntimeError(
            f"a backward hook returned {len(changed)} gradients instead of {len(gradients)}"
        )
    return changed
