"""Functions with a derivative written in Python."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor


class Context:
    """What forward leaves for backward; any other attribute may be stored too.

    Attributes:
        needs_input_grad: for every argument of forward, is its gradient wanted?
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: list[_Saved | None] = []
        self._released = False
        self._node_address = 0  # of the tape's node, while backward runs
        self._dirty: tuple[Tensor, ...] = ()
        self._not_differentiable: tuple[Tensor, ...] = ()
        self._fill_missing_gradients = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs, outputs or other tensors; in-place changes of them are noticed."""
        self._saved = [None if tensor is None else _Saved(tensor) for tensor in tensors]

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declares the inputs that forward changed in place; they must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declares the outputs through which no gradient flows."""
        self._not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None, not zeros, for an output that nobody used."""
        self._fill_missing_gradients = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors. RuntimeError when they were freed or changed in place since."""
        if self._released:
            raise RuntimeError(
                "backward through a Function a second time: what it had saved was freed by the "
                "first backward; use retain_graph=True there"
            )
        return tuple(None if s is None else s.read(self._node_address) for s in self._saved)


class _Saved:
    """A saved tensor. An output is kept off the tape, as its node would else keep itself alive."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.version = tensor._version
        self.output_index: int | None = None

    def becomes_output(self, index: int) -> None:
        self.tensor = self.tensor.detach()
        self.output_index = index
        self.version = self.tensor._version

    def read(self, node_address: int) -> Tensor:
        if self.tensor._version != self.version:
            raise RuntimeError(
                f"a tensor of shape {self.tensor.shape} that was saved for backward has been "
                "changed in place since; clone it before the change"
            )
        if self.output_index is None or not node_address or not _C.is_grad_enabled():
            return self.tensor
        return _C.output_of_custom_function(self.tensor, node_address, self.output_index)


class _Derivative:
    """Calls a Function's backward for the node of one application."""

    def __init__(self, function: type[Function], context: Context, outputs: list[Tensor]) -> None:
        self.function = function
        self.context = context
        self.tensor_positions: list[int] = []
        self.outputs = [(output.shape, output.dtype) for output in outputs]

    def __call__(self, gradients: list[Any], needed: list[bool], address: int) -> list[Any]:
        context = self.context
        if context._fill_missing_gradients:
            gradients = [
                _C.ops["zeros"](shape, dtype=dtype) if gradient is None else gradient
                for gradient, (shape, dtype) in zip(gradients, self.outputs, strict=True)
            ]
        context._node_address = address
        try:
            results = self.function.backward(context, *gradients)
        finally:
            context._node_address = 0
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(context.needs_input_grad)
        if len(results) != expected:
            raise RuntimeError(
                f"{self.function.__name__}.backward() must return {expected} gradients, one per "
                f"argument of forward(), but returned {len(results)}"
            )
        return [results[position] for position in self.tensor_positions]

    def release(self) -> None:
        if self.context._saved:
            self.context._saved = []
            self.context._released = True


class Function:
    """An operation with its own derivative.

    Subclasses define two static methods: `forward(ctx, *args)` returns a tensor or a tuple of
    tensors, `backward(ctx, *grad_outputs)` returns one gradient (or None) per argument of
    forward. Written in terms of ops, backward can be differentiated itself.

    >>> import relume as rl
    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * grad_output
    >>> x = rl.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor([12.])
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Computes the result; to be defined by subclasses."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of forward's arguments; to be defined by subclasses."""
        raise NotImplementedError("a Function needs a static method backward(ctx, *grad_outputs)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and records it on the tape."""
        enabled = _C.is_grad_enabled()
        needs = tuple(enabled and isinstance(x, Tensor) and x.requires_grad for x in args)
        context = Context(needs)
        before = _C.set_grad_enabled(False)
        try:
            result = cls.forward(context, *args)
        finally:
            _C.set_grad_enabled(before)
        if not any(needs):
            return result
        outputs = list(result) if isinstance(result, tuple) else [result]
        _record(cls, context, args, outputs)
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _contains(tensors: tuple[Tensor, ...], tensor: Tensor) -> bool:
    return any(candidate is tensor for candidate in tensors)


def _record(
    cls: type[Function], context: Context, args: tuple[Any, ...], outputs: list[Any]
) -> None:
    """Puts the outputs on the tape; replaces those that cannot be put there as they are."""
    inputs = [(i, x) for i, x in enumerate(args) if isinstance(x, Tensor)]
    for tensor in context._dirty:
        if tensor.requires_grad and tensor.is_leaf:
            raise RuntimeError(
                f"{cls.__name__} changes a leaf that requires a gradient in place; clone it first"
            )
    recorded = []
    for index, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            raise TypeError(
                f"{cls.__name__}.forward() must return tensors, not {type(output).__name__}"
            )
        for saved in context._saved:
            if saved is not None and saved.tensor is output:
                saved.becomes_output(index)
        if _contains(context._not_differentiable, output):
            recorded.append(output.detach())  # keeps its place among the gradients
            continue
        is_input = any(output is x for _, x in inputs)
        if is_input and not _contains(context._dirty, output):
            output = output.detach()
        outputs[index] = output
        recorded.append(output)
    derivative = _Derivative(cls, context, recorded)
    derivative.tensor_positions = [i for i, _ in inputs]
    _C.attach_custom_function(cls.__name__, derivative, [x for _, x in inputs], recorded)
