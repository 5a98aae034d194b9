"""Methods of Tensor that run the tape, or watch and change gradients on their way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relume import _C
from relume._C import HookHandle, Tensor
from relume.autograd import gradients


def backward(
    tensor: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradient of this tensor to `grad` of every leaf that it was computed from.

    Args:
        gradient: what to start with, of this tensor's shape; may be left out for one element.
        retain_graph: keep what the graph has saved, so that backward can run again.
        create_graph: record the backward pass itself, for gradients of gradients.
        inputs: only these tensors get a gradient.

    Raises:
        RuntimeError: nothing to differentiate, a graph that was freed, or a saved tensor that
            was changed in place.

    >>> import relume as rl
    >>> x = rl.tensor([3.0], requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor([6.])
    """
    gradients.backward(tensor, gradient, retain_graph, create_graph, inputs)


def register_hook(tensor: Tensor, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
    """Calls `hook(grad)` each time backward has computed the gradient of this tensor.

    Args:
        hook: a tensor that it returns takes the gradient's place. It must not change its
            argument in place. The tensor keeps the hook alive, and the hook what it refers to.

    Returns:
        A handle: `handle.remove()` takes the hook away.

    Raises:
        RuntimeError: the tensor does not require a gradient.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> (x * 3).sum().backward()
    >>> x.grad
    tensor([30., 30.])
    >>> handle.remove()
    """
    return _C.register_hook(tensor, hook)


def register_post_accumulate_grad_hook(
    tensor: Tensor, hook: Callable[[Tensor], None]
) -> HookHandle:
    """Calls `hook(tensor)` each time backward has added to the `grad` of this leaf.

    What it returns is not used. An optimizer's step in such a hook lets go of each gradient
    before the next one is computed.

    Raises:
        RuntimeError: the tensor is no leaf that requires a gradient.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> def step(w):
    ...     with rl.no_grad():
    ...         w -= 0.1 * w.grad
    ...     w.grad = None
    >>> handle = w.register_post_accumulate_grad_hook(step)
    >>> (w * 2).sum().backward()
    >>> w
    tensor([0.8], requires_grad=True)
    """
    return _C.register_accumulation_hook(tensor, hook)


def retain_grad(tensor: Tensor) -> None:
    """Keeps the gradient of a tensor that an op made in its `grad`, as leaves do.

    Raises:
        RuntimeError: the tensor does not require a gradient.

    >>> import relume as rl
    >>> x = rl.tensor([2.0], requires_grad=True)
    >>> y = x * 3
    >>> y.retain_grad()
    >>> (y * y).sum().backward()
    >>> y.grad
    tensor([12.])
    """
    _C.retain_grad(tensor)


def install() -> None:
    """Adds the methods to Tensor."""
    attributes: dict[str, Any] = {
        "backward": backward,
        "register_hook": register_hook,
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
        "retain_grad": retain_grad,
        "retains_grad": property(_C.retains_grad, doc="Will backward keep its gradient?"),
    }
    for name, value in attributes.items():
        setattr(Tensor, name, value)
