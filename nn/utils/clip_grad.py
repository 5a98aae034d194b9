"""Keeping gradients small."""

from __future__ import annotations

import math
from collections.abc import Iterable

import relume as rl
from relume import Tensor
from relume.autograd import no_grad


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    return [tensor.grad for tensor in tensors if tensor.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The p-norm of all elements of all tensors.

    >>> import relume as rl
    >>> get_total_norm([rl.tensor([3.0]), rl.tensor([[4.0]])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return rl.tensor(0.0)
    norms = rl.stack([tensor.detach().norm(norm_type) for tensor in tensors])
    total = norms.norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"the total norm of order {norm_type} is {total.item()}")
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor
) -> None:
    """Scales gradients, whose norm is known, down to max_norm at most."""
    scale = float(max_norm) / (total_norm + 1e-6)
    if scale.item() < 1:
        for gradient in _gradients(parameters):
            gradient.mul_(scale)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales gradients down, in place, so that the norm of all together is at most max_norm.

    Args:
        parameters: tensors, whose `grad` is meant; those without one do not count.
        norm_type: p of the p-norm; may be inf.
        error_if_nonfinite: raise RuntimeError when the norm is nan or infinite.

    Returns:
        The norm before.

    >>> import relume as rl
    >>> w = rl.tensor([1.0, 1.0], requires_grad=True)
    >>> (w * rl.tensor([3.0, 4.0])).sum().backward()
    >>> clip_grad_norm_(w, 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6, 0.8])
    """
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(tensors), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(tensors, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Brings every element of the gradients between -clip_value and clip_value, in place.

    >>> import relume as rl
    >>> w = rl.tensor([1.0, 1.0], requires_grad=True)
    >>> (w * rl.tensor([3.0, -0.5])).sum().backward()
    >>> clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1. , -0.5])
    """
    for gradient in _gradients(parameters):
        gradient.clamp_(-clip_value, clip_value)
