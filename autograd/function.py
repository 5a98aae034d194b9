"""Functions with a derivative written in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
        self.tensor: Tensor | None = tensor
        self.shape = tensor.shape
        self.version = tensor._version
        self.output_index: int | None = None
        self.input_index: int | None = None
        self.unpack: Callable[[], Tensor] | None = None  # with hooks for saved tensors in force

    def becomes_output(self, index: int) -> None:
        assert self.tensor is not None
        self.tensor = self.tensor.detach()
        self.output_index = index
        self.version = self.tensor._version

    def pack(self) -> None:
        """Lets the hooks in force keep something else; leaves are alive anyway."""
        tensor = self.tensor
        if tensor is None or (tensor.is_leaf and tensor.requires_grad):
            return
        self.unpack = _C.pack_saved_tensor(tensor.detach())
        if self.unpack is not None:
            self.tensor = None

    def read(self, node_address: int) -> Tensor:
        tensor = self.tensor
        if tensor is None:
            assert self.unpack is not None
            tensor = self.unpack()
        elif tensor._version != self.version:
            raise RuntimeError(
                f"a tensor of shape {self.shape} that was saved for backward has been "
                "changed in place since; clone it before the change"
            )
        if not node_address or not _C.is_grad_enabled():
            return tensor
        if self.output_index is not None:
            return _C.output_of_custom_function(tensor, node_address, self.output_index)
        if self.input_index is not None and self.unpack is not None:
            return _C.input_of_custom_function(tensor, node_address, self.input_index)
        return tensor


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

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context, for a forward that is written without one: `forward(*args)`."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and records it on the tape."""
        enabled = _C.is_grad_enabled()
        needs = tuple(enabled and isinstance(x, Tensor) and x.requires_grad for x in args)
        context = Context(needs)
        before = _C.set_grad_enabled(False)
        try:
            if cls.setup_context is Function.setup_context:
                result = cls.forward(context, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(context, args, result)
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
    for saved in context._saved:
        if saved is not None:
            saved.input_index = next(
                (i for i, (_, x) in enumerate(inputs) if saved.tensor is x), None
            )
            saved.pack()
    derivative = _Derivative(cls, context, recorded)
    derivative.tensor_positions = [i for i, _ in inputs]
    _C.attach_custom_function(cls.__name__, derivative, [x for _, x in inputs], recorded)


class _Twice(Function):
    """Passes gradients on; going back through it is the error that once_differentiable promises."""

    @staticmethod
    def forward(ctx: Any, name: str, *gradients: Any) -> Any:
        ctx.name = name
        return tuple(g.detach() if isinstance(g, Tensor) else _C.ops["zeros"](0) for g in gradients)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            f"{ctx.name} is marked with once_differentiable: its derivative cannot be "
            "differentiated again"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a Function's backward that is not written with differentiable operations.

    It runs off the tape; taking a gradient of the gradient is an error, not a wrong number.

    >>> import relume as rl
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return rl.from_numpy(2 * x.detach().numpy()) * grad_output
    >>> x = rl.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    @functools.wraps(backward)
    def wrapped(ctx: Any, *grad_outputs: Any) -> Any:
        enabled = _C.set_grad_enabled(False)
        try:
            results = backward(ctx, *grad_outputs)
        finally:
            _C.set_grad_enabled(enabled)
        if not enabled:
            return results
        many = isinstance(results, tuple)
        gradients = list(results) if many else [results]
        # The error must be met from whatever the gradients depend on.
        sources = [g for g in grad_outputs if isinstance(g, Tensor)]
        sources += [s for s in ctx.saved_tensors if s is not None]
        if not any(source.requires_grad for source in sources):
            return results
        marked = _Twice.apply(backward.__qualname__, *_with_sources(gradients, sources))
        gradients = [None if g is None else m for g, m in zip(gradients, marked, strict=False)]
        return tuple(gradients) if many else gradients[0]

    return wrapped


def _with_sources(gradients: list[Any], sources: list[Tensor]) -> list[Any]:
    return [*gradients, *(source for source in sources if source.requires_grad)]
