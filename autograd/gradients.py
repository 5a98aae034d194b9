"""Running the tape backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if value is None or isinstance(value, Tensor) else tuple(value)


def _seeds(outputs: tuple[Any, ...], grad_outputs: Any) -> tuple[Any, ...]:
    return (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of outputs with respect to inputs; `grad` of no tensor is touched.

    Args:
        outputs: what to differentiate.
        inputs: with respect to what: leaves or tensors on the way.
        grad_outputs: gradients of the outputs, of their shapes; may be left out for outputs with
            one element (taken as 1).
        retain_graph: keep what the graph has saved; default: as create_graph.
        create_graph: record the backward pass, for gradients of gradients.
        only_inputs: must be True, as in PyTorch: `backward` is for the gradients of all leaves.
        allow_unused: None for an input that no output depends on, instead of an error.
        is_grads_batched: the first dimension of each of grad_outputs counts vectors, which go
            back one after the other; each result has that dimension too.
        materialize_grads: zeros for an input that no output depends on.

    Returns:
        One gradient per input, of the input's shape and type.

    Raises:
        RuntimeError: an input that no output depends on, a graph that was freed, or a saved
            tensor that was changed in place.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> (g,) = grad((x**2).sum(), x)
    >>> g
    tensor([2., 4.])
    """
    if not only_inputs:
        raise ValueError("grad(): only_inputs must be True; use backward() for all leaves")
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    seeds = _seeds(outputs, grad_outputs)
    if not inputs:
        raise ValueError("grad() needs at least one input")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): materialize_grads=True is for unused inputs; allow them")
    retain = create_graph if retain_graph is None else retain_graph
    allow = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        results = _batched(outputs, inputs, seeds, retain, create_graph, allow)
    else:
        results = tuple(_C.run_backward(outputs, seeds, inputs, retain, create_graph, allow))
    if not materialize_grads:
        return results
    return tuple(
        _C.ops["zeros_like"](x) if g is None else g for g, x in zip(results, inputs, strict=True)
    )


def _batched(
    outputs: tuple[Any, ...],
    inputs: tuple[Any, ...],
    seeds: tuple[Any, ...],
    retain: bool,
    create_graph: bool,
    allow: bool,
) -> tuple[Tensor | None, ...]:
    counts = {seed.shape[0] if seed.ndim else 0 for seed in seeds if seed is not None}
    if len(counts) != 1 or 0 in counts:
        raise ValueError(
            "grad(): with is_grads_batched all of grad_outputs need a first dimension of one "
            f"common size, got {[None if s is None else s.shape for s in seeds]}"
        )
    (count,) = counts
    rows = []
    for i in range(count):
        row = tuple(None if seed is None else seed[i] for seed in seeds)
        keep = retain or i + 1 < count
        rows.append(_C.run_backward(outputs, row, inputs, keep, create_graph, allow))
    return tuple(
        None if column[0] is None else _C.ops["stack"](list(column))
        for column in zip(*rows, strict=True)
    )


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of `tensors` to `grad` of every leaf that they were computed from.

    Arguments as of `grad`, but with `inputs` only those tensors get a gradient.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    outputs = _as_tuple(tensors)
    seeds = _seeds(outputs, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _C.run_backward(outputs, seeds, (), retain, create_graph, False)
        return
    inputs = _as_tuple(inputs)
    for x, g in zip(inputs, grad(outputs, inputs, seeds, retain, create_graph, True), strict=True):
        if g is not None:
            _add_gradient(x, g, create_graph)


def _add_gradient(tensor: Tensor, gradient: Tensor, create_graph: bool) -> None:
    enabled = _C.set_grad_enabled(create_graph)
    try:
        if tensor.grad is None:
            tensor.grad = gradient if create_graph else gradient.clone()
        elif create_graph:
            tensor.grad = tensor.grad + gradient
        else:
            tensor.grad += gradient
    finally:
        _C.set_grad_enabled(enabled)
