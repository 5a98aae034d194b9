"""Functions that make functions: the gradient of f is `grad(f)`.

They nest to any order: `grad(grad(f))`. Arguments that are on the tape stay on it, so results
can be differentiated by them; within another function of this module results are
differentiable by everything.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.autograd import functional
from relume.autograd.batching import vmap
from relume.autograd.grad_mode import enable_grad

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]


# Functions of modules, from the room that knows modules.
_OF_MODULES = ("functional_call", "stack_module_state")


def __getattr__(name: str) -> Any:
    if name in _OF_MODULES:
        return getattr(importlib.import_module("relume.nn.utils.stateless"), name)
    raise AttributeError(f"relume.func has no function {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_OF_MODULES])


class _Depth(threading.local):
    """How many functions of this module are being run within each other in this thread."""

    value = 0


_depth = _Depth()


@contextmanager
def _transform(arguments: Any) -> Iterator[bool]:
    """Says whether results have to be differentiable: for somebody outside."""
    outside = _depth.value > 0 or (
        _C.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in arguments)
    )
    _depth.value += 1
    try:
        with enable_grad():
            yield outside
    finally:
        _depth.value -= 1


def _positions(argnums: int | tuple[int, ...], args: tuple[Any, ...]) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(f"argnums names argument {n}, but {len(args)} were given")
        if not isinstance(args[n], Tensor):
            raise TypeError(f"argument {n} must be a Tensor, not {type(args[n]).__name__}")
    return tuple(n % len(args) for n in numbers)


def _of_chosen(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, positions: tuple[int, ...]
) -> Callable[..., Any]:
    """The function as one of the chosen arguments alone."""

    def chosen(*values: Any) -> Any:
        own = list(args)
        for position, value in zip(positions, values, strict=True):
            own[position] = value
        return func(*own, **kwargs)

    return chosen


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that gives both the gradient and the value of `func`.

    Args:
        func: returns one number (with has_aux a pair of it and anything else).
        argnums: which argument, or which arguments (then the gradients are a tuple).

    >>> import relume as rl
    >>> rl.func.grad_and_value(lambda x: (x * x).sum())(rl.tensor([1.0, 3.0]))
    (tensor([2., 6.]), tensor(10.))
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        positions = _positions(argnums, args)
        extra: list[Any] = []

        def value_of(*values: Any) -> Any:
            result = _of_chosen(func, args, kwargs, positions)(*values)
            if has_aux:
                result, aux = result
                extra.append(aux)
            if not isinstance(result, Tensor) or result.numel() != 1:
                raise RuntimeError("grad() is of functions that return one number")
            return result

        with _transform(args) as outside:
            inputs = tuple(args[n] for n in positions)
            value, gradients = functional.vjp(value_of, inputs, None, outside)
        result = gradients[0] if isinstance(argnums, int) else gradients
        return (result, (value, extra[0])) if has_aux else (result, value)

    return gradient


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of `func` as a function.

    Args:
        func: returns one number (with has_aux a pair of it and anything else, which is returned
            after the gradient).
        argnums: by which argument, or by which arguments (then the result is a tuple).

    >>> import relume as rl
    >>> rl.func.grad(rl.func.grad(rl.sin))(rl.tensor(0.5))
    tensor(-0.4794)
    """
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def vjp(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func` and a function that multiplies vectors with its Jacobian from the left.

    >>> import relume as rl
    >>> value, back = rl.func.vjp(lambda x, y: x * y, rl.tensor(2.0), rl.tensor(5.0))
    >>> back(rl.tensor(1.0))
    (tensor(5.), tensor(2.))
    """
    with _transform(primals) as outside:
        point = functional._Point(func, tuple(primals), outside)

    def back(*cotangents: Any) -> Any:
        seeds = cotangents[0] if len(cotangents) == 1 else cotangents
        vectors = functional._vectors(seeds, point.outputs, "output")
        create = outside or _depth.value > 0 or any(v.requires_grad for v in vectors)
        result = functional._gradients(point.outputs, point.inputs, vectors, create, False)
        return functional._release(result, create)

    return point.as_outputs(functional._release(point.outputs, outside)), back


def jvp(func: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of `func` and its derivative in a direction.

    >>> import relume as rl
    >>> rl.func.jvp(lambda x: x * x, (rl.tensor([1.0, 2.0]),), (rl.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with _transform((*primals, *tangents)) as outside:
        return functional.jvp(func, tuple(primals), tuple(tangents), outside)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func` and the function of directions that gives its derivative there.

    >>> import relume as rl
    >>> value, derivative = rl.func.linearize(rl.square, rl.tensor([1.0, 3.0]))
    >>> derivative(rl.tensor([1.0, 1.0]))
    tensor([2., 6.])
    """

    def derivative(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return func(*primals), derivative


def jacrev(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The Jacobian as a function, by one backward pass per output element.

    >>> import relume as rl
    >>> rl.func.jacrev(rl.square)(rl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions = _positions(argnums, args)
        chosen = _of_chosen(func, args, kwargs, positions)
        inputs = tuple(args[n] for n in positions)
        with _transform(args) as outside:
            one = isinstance(argnums, int)
            return functional.jacobian(chosen, inputs[0] if one else inputs, outside)

    return jacobian


def jacfwd(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The Jacobian as a function, by one directional derivative per input element.

    It is the cheaper one for functions with many outputs and few inputs.

    >>> import relume as rl
    >>> rl.func.jacfwd(rl.square)(rl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions = _positions(argnums, args)
        chosen = _of_chosen(func, args, kwargs, positions)
        x = args[positions[0]]
        with _transform(args) as outside:
            directions = _C.ops["eye"](x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
            columns = [functional.jvp(chosen, x, d, outside)[1] for d in directions]
            if not columns:
                return functional.jacobian(chosen, x, outside)
            if isinstance(columns[0], tuple):
                return tuple(_in_last(list(c), x) for c in zip(*columns, strict=True))
            return _in_last(columns, x)

    return jacobian


def _in_last(columns: list[Tensor], like: Tensor) -> Tensor:
    """Stacks along new last dimensions that have the input's shape."""
    return _C.ops["stack"](columns, -1).reshape(columns[0].shape + like.shape)


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The second derivatives of a function of one number, as a function.

    >>> import relume as rl
    >>> rl.func.hessian(lambda x: (x**3).sum())(rl.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacrev(grad(func, argnums), argnums)
