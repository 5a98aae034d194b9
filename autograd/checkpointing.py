"""Trading time for memory: what backward needs is computed again instead of kept."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.autograd.grad_mode import enable_grad
from relume.autograd.graph import saved_tensors_hooks

__all__ = ["checkpoint", "checkpoint_sequential"]


class _Place:
    """Stands for a tensor that was not kept; the graph owns it."""

    def __init__(self, region: _Region, tensor: Tensor) -> None:
        self.region = region
        self.like = (tensor.shape, tensor.dtype)
        self.tensor: Tensor | None = None  # from when it was computed again


class _Region:
    """One checkpointed call: how to run it again, and the places of what it does not keep."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, preserve_rng_state: bool
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.generator = _current_generator() if preserve_rng_state else None
        self.rng_state = self.generator.get_state() if self.generator is not None else None
        inputs = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
        self.versions = [(x, x._version) for x in inputs]
        self.places: list[weakref.ref[_Place]] = []
        self.first_run = True

    def run(self) -> Any:
        with saved_tensors_hooks(self.keep_place, self.fill):
            result = self.function(*self.args, **self.kwargs)
        self.first_run = False
        return result

    def keep_place(self, tensor: Tensor) -> _Place:
        place = _Place(self, tensor)
        self.places.append(weakref.ref(place))
        return place

    def fill(self, place: _Place) -> Tensor:
        if place.tensor is None:
            self.run_again()
        assert place.tensor is not None
        return place.tensor

    def run_again(self) -> None:
        if self.first_run:
            raise RuntimeError("checkpoint(): the function itself may not run backward()")
        for tensor, version in self.versions:
            if tensor._version != version:
                raise RuntimeError(
                    f"checkpoint(): an argument of shape {tensor.shape} was changed in place after "
                    "the call, which can no longer be repeated; clone it before the change"
                )
        count = 0

        def take(tensor: Tensor) -> Tensor:
            nonlocal count
            place = self.places[count]() if count < len(self.places) else None
            count += 1
            if place is not None:
                if place.like != (tensor.shape, tensor.dtype):
                    raise RuntimeError(
                        "checkpoint(): the function saved a tensor of shape "
                        f"{tensor.shape} ({tensor.dtype}) where it had saved {place.like[0]} "
                        f"({place.like[1]}); it must do the same each time"
                    )
                place.tensor = tensor
            return tensor

        with enable_grad(), _RngState(self), saved_tensors_hooks(take, lambda tensor: tensor):
            self.function(*self.args, **self.kwargs)
        if count != len(self.places):
            raise RuntimeError(
                f"checkpoint(): the function saved {len(self.places)} tensors and {count} when it "
                "was run again; it must do the same each time"
            )


class _RngState:
    """Random numbers as in the first run, for a `with` block."""

    def __init__(self, region: _Region) -> None:
        self.generator, self.state = region.generator, region.rng_state

    def __enter__(self) -> None:
        if self.generator is not None:
            self.now = self.generator.get_state()
            self.generator.set_state(self.state)

    def __exit__(self, *exception: Any) -> None:
        if self.generator is not None:
            self.generator.set_state(self.now)


def _current_generator() -> Any:
    """What the calling thread draws from."""
    chosen = _C.use_generator(None)
    _C.use_generator(chosen)
    return _C.default_generator() if chosen is None else chosen


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    preserve_rng_state: bool = True,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Calls `function(*args, **kwargs)` without keeping what its backward needs.

    Backward runs the function again to get it: memory for the inside of one call at a time, for
    one more forward pass. Gradients of any order, `grad()`, hooks and tensors that the function
    uses without being given them all work as without a checkpoint. (Chen, Xu, Zhang & Guestrin
    2016, "Training Deep Nets with Sublinear Memory Cost".)

    Args:
        function: must do the same when it is run again, and not run backward() itself.
        preserve_rng_state: draw the same random numbers again, as dropout needs.
        use_reentrant: taken for PyTorch's sake; there is one way here.

    Returns:
        What the function returns.

    Raises:
        RuntimeError: in backward, when an argument was changed in place or the function did
            something else the second time.

    >>> import relume as rl
    >>> x = rl.ones(3).requires_grad_()
    >>> y = rl.autograd.checkpoint(lambda x: x.exp().sin().exp(), x)
    >>> y.sum().backward()
    >>> x.grad.shape
    (3,)
    """
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    return _Region(function, args, kwargs, preserve_rng_state).run()


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]], segments: int, input: Any, **options: Any
) -> Any:
    """Applies functions (or layers) one after the other, checkpointed in `segments` parts.

    The square root of their number is a good number of parts.

    Args:
        functions: each takes what the one before returned.
        segments: how many parts; at least 1.
        input: what the first function takes.

    >>> import relume as rl
    >>> x = rl.ones(3).requires_grad_()
    >>> rl.autograd.checkpoint_sequential([rl.sin, rl.exp, rl.tanh, rl.exp], 2, x).sum().backward()
    >>> x.grad.shape
    (3,)
    """
    steps = list(functions)
    if segments < 1:
        raise ValueError(f"checkpoint_sequential() needs at least one segment, not {segments}")
    size = -(-len(steps) // segments) if steps else 1

    def chain(part: list[Callable[..., Any]]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in part:
                value = step(value)
            return value

        return run

    for start in range(0, len(steps), size):
        input = checkpoint(chain(steps[start : start + size]), input, **options)
    return input
