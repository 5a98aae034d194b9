"""Derivatives of functions: Jacobians, Hessians and their products with vectors.

Each takes a function of tensors and the point, one tensor or a tuple. Results follow the form
of what is given: a tensor for a tensor, a tuple for a tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.autograd.grad_mode import enable_grad
from relume.autograd.gradients import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_zeros_like = _C.ops["zeros_like"]


class _Point:
    """The inputs, as tensors that gradients can be taken of, and the outputs there."""

    def __init__(self, func: Callable[..., Any], inputs: Any, create_graph: bool) -> None:
        self.is_tuple = isinstance(inputs, tuple)
        given = inputs if self.is_tuple else (inputs,)
        if not given or not all(isinstance(x, Tensor) for x in given):
            raise TypeError("inputs must be a tensor or a tuple of tensors")
        with enable_grad():
            # A view is a new place on the tape: gradients with respect to it stop there.
            self.inputs = tuple(
                x.view(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_()
                for x in given
            )
            result = func(*self.inputs)
        self.many_outputs = isinstance(result, tuple)
        self.outputs = result if self.many_outputs else (result,)
        if not all(isinstance(y, Tensor) for y in self.outputs):
            raise TypeError("the function must return a tensor or a tuple of tensors")

    def as_inputs(self, values: Any) -> Any:
        return tuple(values) if self.is_tuple else values[0]

    def as_outputs(self, values: Any) -> Any:
        return tuple(values) if self.many_outputs else values[0]


def _gradients(
    outputs: Any, inputs: Any, seeds: Any, create_graph: bool, strict: bool, retain: bool = True
) -> tuple[Tensor, ...]:
    """Gradients with zeros where nothing depends on an input (with strict: an error)."""
    pairs = [(y, s) for y, s in zip(outputs, seeds, strict=True) if y.requires_grad]
    if strict and len(pairs) < len(outputs):
        raise RuntimeError("an output does not depend on any of the inputs (strict=True)")
    found: tuple[Tensor | None, ...] = (None,) * len(inputs)
    if pairs:
        tracked, vectors = zip(*pairs, strict=True)
        found = grad(tracked, inputs, vectors, retain, create_graph, allow_unused=True)
    if strict and any(g is None for g in found):
        raise RuntimeError("no output depends on one of the inputs (strict=True)")
    return tuple(_zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _vectors(v: Any, like: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    """`v` as a tuple, checked against what it goes with; ones for a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"v is needed unless there is a single {what} with one element")
        return (_C.ops["ones_like"](like[0]),)
    v = v if isinstance(v, tuple) else (v,)
    if [x.shape for x in v] != [x.shape for x in like]:
        raise ValueError(
            f"v must have the shapes of the {what}s, {[x.shape for x in like]}, "
            f"not {[x.shape for x in v]}"
        )
    return v


def _release(values: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return values if create_graph else tuple(x.detach() for x in values)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """A vector times the Jacobian: (outputs, v J), by one backward pass.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple.
        v: of the outputs' shapes; may be left out for one output with one element.
        create_graph: results can be differentiated further.
        strict: raise an error when an output does not depend on an input.

    >>> import relume as rl
    >>> from relume.autograd.functional import vjp
    >>> vjp(lambda x: x * x, rl.tensor([1.0, 2.0]), rl.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    point = _Point(func, inputs, create_graph)
    seeds = _vectors(v, point.outputs, "output")
    result = _gradients(point.outputs, point.inputs, seeds, create_graph, strict, create_graph)
    outputs = _release(point.outputs, create_graph)
    return point.as_outputs(outputs), point.as_inputs(_release(result, create_graph))


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The Jacobian times a vector: (outputs, J v).

    The gradient v' J is linear in v', so its own gradient is J v: two backward passes.

    Arguments as of `vjp`, with v of the inputs' shapes.

    >>> import relume as rl
    >>> from relume.autograd.functional import jvp
    >>> jvp(lambda x: x * x, rl.tensor([1.0, 2.0]), rl.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    point = _Point(func, inputs, create_graph)
    tangents = _vectors(v, point.inputs, "input")
    seeds = tuple(_zeros_like(y).requires_grad_() for y in point.outputs)
    gradients = _gradients(point.outputs, point.inputs, seeds, True, strict)
    result = _gradients(gradients, seeds, tangents, create_graph, False)
    outputs = _release(point.outputs, create_graph)
    return point.as_outputs(outputs), point.as_outputs(_release(result, create_graph))


def _rows(
    output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """d output / d input for each input, of shape (*output, *input): one pass per element."""
    size = output.numel()
    identity = _C.ops["eye"](size, dtype=output.dtype).reshape(size, *output.shape)
    rows = [_gradients((output,), inputs, (seed,), create_graph, strict) for seed in identity]
    if not rows:
        return tuple(_C.ops["zeros"](output.shape + x.shape, dtype=x.dtype) for x in inputs)
    return tuple(
        _C.ops["stack"](list(column)).reshape(output.shape + x.shape)
        for column, x in zip(zip(*rows, strict=True), inputs, strict=True)
    )


def _check_strategy(name: str, strategy: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"{name} must be 'reverse-mode' or 'forward-mode', not {strategy!r}")


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of a function's outputs by its inputs.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple.
        create_graph: the result can be differentiated further.
        strict: raise an error when an output does not depend on an input.
        vectorize, strategy: taken for PyTorch's sake; rows are made one after another, backward.

    Returns:
        For one output and one input a tensor of shape (*output.shape, *input.shape); a tuple for
        a tuple of inputs, and for a tuple of outputs a tuple of those.

    >>> import relume as rl
    >>> rl.autograd.functional.jacobian(lambda x: x * x, rl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy("strategy", strategy)
    point = _Point(func, inputs, create_graph)
    rows = [_rows(output, point.inputs, create_graph, strict) for output in point.outputs]
    return point.as_outputs([point.as_inputs(_release(row, create_graph)) for row in rows])


def _scalar(func: Callable[..., Any]) -> Callable[..., Tensor]:
    def checked(*inputs: Any) -> Tensor:
        result = func(*inputs)
        result = result[0] if isinstance(result, tuple) and len(result) == 1 else result
        if not isinstance(result, Tensor) or result.numel() != 1:
            shape = result.shape if isinstance(result, Tensor) else type(result).__name__
            raise RuntimeError(f"the function must return one number, not {shape}")
        return result.reshape(())

    return checked


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function that returns one number.

    Arguments as of `jacobian`.

    Returns:
        For one input a tensor of shape (*input.shape, *input.shape); for a tuple of inputs a
        tuple of tuples, [i][j] of shape (*inputs[i].shape, *inputs[j].shape).

    >>> import relume as rl
    >>> rl.autograd.functional.hessian(lambda x: (x**3).sum(), rl.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy("outer_jacobian_strategy", outer_jacobian_strategy)
    scalar = _scalar(func)

    def gradient(*inputs: Any) -> Any:
        gradients = _gradients((scalar(*inputs),), inputs, (None,), True, strict)
        return gradients if is_tuple else gradients[0]

    is_tuple = isinstance(inputs, tuple)
    return jacobian(gradient, inputs, create_graph, strict)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """A vector times the Hessian: (output, v H), by two backward passes.

    Arguments as of `vjp`; the function returns one number, v has the inputs' shapes.

    >>> import relume as rl
    >>> from relume.autograd.functional import vhp
    >>> vhp(lambda x: (x**3).sum(), rl.tensor([1.0, 2.0]), rl.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    point = _Point(_scalar(func), inputs, create_graph)
    vectors = _vectors(v, point.inputs, "input")
    gradients = _gradients(point.outputs, point.inputs, (None,), True, strict)
    result = _gradients(gradients, point.inputs, vectors, create_graph, strict, create_graph)
    (output,) = _release(point.outputs, create_graph)
    return output, point.as_inputs(_release(result, create_graph))


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The Hessian times a vector: (output, H v). A Hessian is symmetric: the same as `vhp`.

    >>> import relume as rl
    >>> from relume.autograd.functional import hvp
    >>> hvp(lambda x: (x**3).sum(), rl.tensor([1.0, 2.0]), rl.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return vhp(func, inputs, v, create_graph, strict)
