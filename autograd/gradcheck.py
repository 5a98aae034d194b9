"""Checking derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relume import _C
from relume._C import Tensor
from relume.autograd.grad_mode import no_grad
from relume.autograd.gradients import grad


class GradientError(AssertionError):
    """A derivative that differs from what differences say."""


def _outputs_of(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    """The floating and complex outputs, which a gradient can be taken of."""
    results = function(*inputs)
    results = [results] if isinstance(results, Tensor) else list(results)
    return [
        r
        for r in results
        if isinstance(r, Tensor) and (r.dtype.is_floating_point or r.dtype.is_complex)
    ]


def _parts(array: np.ndarray) -> np.ndarray:
    """The elements in one row, a complex one as its real and its imaginary part."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _whole(parts: np.ndarray, like: Tensor) -> Tensor:
    """The tensor of the type and shape of `like` that these are the parts of."""
    kind: Any = like.dtype.numpy
    array = np.ascontiguousarray(parts).view(kind).reshape(like.shape)
    return _C.tensor_from_data(array, None)


def _checked_inputs(inputs: Any) -> list[Any]:
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck needs an input with requires_grad=True")
    for tensor in wanted:
        if tensor.dtype.name not in ("float64", "complex128"):
            raise ValueError(
                f"gradcheck needs float64 or complex128 inputs, not {tensor.dtype.name}: "
                "differences of shorter floats are too coarse"
            )
    return inputs


def _numeric_jacobians(
    function: Callable[..., Any], inputs: list[Any], position: int, eps: float
) -> list[np.ndarray]:
    """d output / d inputs[position] by central differences, one matrix per output."""

    def evaluate(values: np.ndarray) -> list[np.ndarray]:
        changed = list(inputs)
        changed[position] = _whole(values, inputs[position])
        with no_grad():
            return [_parts(r.detach().numpy().copy()) for r in _outputs_of(function, changed)]

    start = _parts(inputs[position].detach().numpy().copy())
    columns = []
    for i in range(start.size):
        step = np.zeros_like(start)
        step[i] = eps
        columns.append(
            [
                (high - low) / (2 * eps)
                for high, low in zip(evaluate(start + step), evaluate(start - step), strict=True)
            ]
        )
    outputs = len(evaluate(start))
    sizes = [r.size for r in evaluate(start)]
    return [
        np.stack([column[k] for column in columns]) if columns else np.zeros((0, sizes[k]))
        for k in range(outputs)
    ]


def _real_size(tensor: Tensor) -> int:
    return tensor.numel() * (2 if tensor.dtype.is_complex else 1)


def _analytic_jacobian(output: Tensor, inputs: list[Tensor]) -> list[np.ndarray]:
    """d output / d input by the tape, one matrix (input size x output size) per input."""
    size = _real_size(output)
    jacobians = [np.zeros((_real_size(x), size)) for x in inputs]
    for j in range(size):
        seed = _parts(np.zeros(output.shape, dtype=output.dtype.numpy))
        seed[j] = 1
        gradients = grad(output, inputs, _whole(seed, output), retain_graph=True, allow_unused=True)
        for jacobian, gradient in zip(jacobians, gradients, strict=True):
            if gradient is not None:
                jacobian[:, j] = _parts(gradient.detach().numpy())
    return jacobians


def gradcheck(
    function: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compares the tape's derivative of a function with central differences.

    Args:
        function: takes `inputs`, returns a tensor or a tuple of tensors.
        inputs: a tensor or a sequence; those with requires_grad are checked and must be float64
            or complex128, whose real and imaginary parts are checked as numbers of their own.
        eps: the step of the differences.
        atol, rtol: how far the two may be apart.
        raise_exception: False returns False instead of raising.

    Raises:
        GradientError: with the input, the output, the place and both values.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], dtype=rl.float64, requires_grad=True)
    >>> rl.autograd.gradcheck(lambda x: x * x, x)
    True
    """
    inputs = _checked_inputs(inputs)
    try:
        _compare(function, inputs, eps, atol, rtol)
    except GradientError:
        if raise_exception:
            raise
        return False
    return True


def _compare(
    function: Callable[..., Any], inputs: list[Any], eps: float, atol: float, rtol: float
) -> None:
    positions = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    outputs = _outputs_of(function, inputs)
    wanted = [inputs[i] for i in positions]
    numeric = {i: _numeric_jacobians(function, inputs, i, eps) for i in positions}
    for k, output in enumerate(outputs):
        if output.requires_grad:
            analytic = _analytic_jacobian(output, wanted)
        else:
            analytic = [np.zeros((_real_size(x), _real_size(output))) for x in wanted]
        for i, matrix in zip(positions, analytic, strict=True):
            expected = numeric[i][k]
            wrong = ~np.isclose(matrix, expected, atol=atol, rtol=rtol, equal_nan=True)
            if wrong.any():
                place = tuple(int(n) for n in np.argwhere(wrong)[0])
                raise GradientError(
                    f"the derivative of output {k} (shape {output.shape}) for input {i} "
                    f"(shape {inputs[i].shape}) is wrong in {int(wrong.sum())} of {wrong.size} "
                    f"places; first: input element {place[0]}, output element {place[1]}: the tape "
                    f"says {matrix[place]:.8g}, differences say {expected[place]:.8g}"
                )


def gradgradcheck(
    function: Callable[..., Any],
    inputs: Any,
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Checks the second derivative: gradcheck of the gradient as a function.

    Arguments as of `gradcheck`; `grad_outputs` are the gradients of the outputs that the first
    derivative starts from (random ones by default).

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], dtype=rl.float64, requires_grad=True)
    >>> rl.autograd.gradgradcheck(lambda x: x * x * x, x)
    True
    """
    inputs = _checked_inputs(inputs)
    outputs = [r for r in _outputs_of(function, inputs) if r.requires_grad]
    if not outputs:
        return True
    if grad_outputs is None:
        random = np.random.default_rng(0)
        grad_outputs = [
            _C.tensor_from_data(random.uniform(0.5, 1.5, r.shape), None)
            .to(r.dtype)
            .requires_grad_()
            for r in outputs
        ]
    count = len(inputs)

    def gradient(*arguments: Any) -> list[Tensor]:
        # Both the evaluation by differences (off the tape) and the one on it need the graph.
        before = _C.set_grad_enabled(True)
        try:
            own = [
                x.detach().requires_grad_()
                if isinstance(x, Tensor) and i in checked and not x.requires_grad
                else x
                for i, x in enumerate(arguments[:count])
            ]
            wanted = [own[i] for i in sorted(checked)]
            results = [r for r in _outputs_of(function, own) if r.requires_grad]
            gradients = grad(
                results, wanted, arguments[count:], create_graph=True, allow_unused=True
            )
            return [g for g in gradients if g is not None]
        finally:
            _C.set_grad_enabled(before)

    checked = {i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad}
    return gradcheck(
        gradient,
        [*inputs, *grad_outputs],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )
