"""Running the tape backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if value is None or isinstance(value, Tensor) else tuple(value)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of outputs with respect to inputs; `grad` of no tensor is touched.

    Args:
        outputs: what to differentiate.
        inputs: with respect to what: leaves or tensors on the way.
        grad_outputs: gradients of the outputs, of their shapes; may be left out for outputs with
            one element (taken as 1).
        retain_graph: keep what the graph has saved; default: as create_graph.
        create_graph: record the backward pass, for gradients of gradients.
        allow_unused: None for an input that no output depends on, instead of an error.

    Returns:
        One gradient per input, of the input's shape and type.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> (g,) = grad((x**2).sum(), x)
    >>> g
    tensor([2., 4.])
    """
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    gradients = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    if not inputs:
        raise ValueError("grad() needs at least one input")
    retain = create_graph if retain_graph is None else retain_graph
    return tuple(_C.run_backward(outputs, gradients, inputs, retain, create_graph, allow_unused))


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Adds the gradients of `tensors` to `grad` of every leaf that they were computed from.

    Arguments as of `grad`.
    """
    outputs = _as_tuple(tensors)
    gradients = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    _C.run_backward(outputs, gradients, (), retain, create_graph, False)
