"""Large gradients of modules inside a network: let go when they have been used, and made again
when somebody looks.

Torch7's modules keep their `gradInput`, which doubles the memory of a training step. So a
container whose backward can be repeated (all its modules are known to give the same gradients
again) lets go of the large ones as it goes along. `module.gradInput` then runs `updateGradInput`
of the network once more. When weights, inputs or modes have changed since, that would give other
numbers; it is an error, which says what to do.
"""

from __future__ import annotations

import threading
from typing import Any
from weakref import ref

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.types import new_empty

# Elements; below, gradients are kept: they cost little, and can always be looked at.
LARGE = 2**15


class RunningBackward(threading.local):
    """The backward call of the outermost container, in every thread."""

    call: BackwardCall | None = None


running = RunningBackward()


class BackwardCall:
    """One call of `backward` of a network, and all that its result depends on.

    Attributes:
        network: a weak reference to it.
        given: input and gradOutput.
        can_be_repeated: None until somebody needs to know.
        state: what the result depends on, as `state_of` describes it.
    """

    __slots__ = ("can_be_repeated", "given", "network", "state")

    def __init__(self, network: Any, input: Activation, gradOutput: Activation) -> None:
        self.network = ref(network)
        self.given = input, gradOutput
        self.can_be_repeated: bool | None = None
        self.state: list = []

    def may_release(self, gradient: Activation) -> bool:
        """Is a gradient (or something of its size) one to let go?"""
        if not is_large(gradient):
            return False
        if self.can_be_repeated is None:
            self.can_be_repeated = can_repeat(self.network())
        return self.can_be_repeated

    def repeat(self, module: Any) -> None:
        """Sets the `gradInput` of all modules of the network again.

        Raises:
            RuntimeError: they would be others.
        """
        network = self.network()
        if network is None or not same(self.state, state_of(network, self.given)):
            raise RuntimeError(
                f"{module.torch_typename}: its gradInput was let go after backward, because it is "
                "large, and cannot be computed again: weights, inputs or outputs have changed "
                "since. Look at it before that, or call keepGradInputs() of the network before "
                "backward"
            )
        network.updateGradInput(*self.given)


def state_of(network: Any, given: tuple) -> list:
    """What gradients depend on: versions of tensors, modes, and (weakly) the tensors."""
    state: list = [tensor._version for value in given for tensor in nested.tensors_in(value)]
    for module in network.walk():
        state.append(module.train)
        tensors = [module.__dict__.get("output"), *module._own_parameters()]
        for tensor in tensors:
            if isinstance(tensor, Tensor):
                state.append((ref(tensor), tensor._version))
    return state


def same(first: list, second: list) -> bool:
    """Are two states equal, with every tensor alive?"""
    return len(first) == len(second) and all(
        a == b if not isinstance(a, tuple) else a[0]() is b[0]() is not None and a[1] == b[1]
        for a, b in zip(first, second, strict=True)
    )


class Released:
    """Stands where a module has let go of its `gradInput`.

    Attributes:
        call: the backward call that gave it; None where it is gone for good.
        is_table: was it a table?
    """

    __slots__ = ("call", "is_table")

    def __init__(self, call: BackwardCall | None, gradient: Activation) -> None:
        self.call = call
        self.is_table = not isinstance(gradient, Tensor)

    def look_at(self, module: Any) -> Activation:
        """The gradient, computed again if that can be done."""
        if self.call is None:
            return self.empty(module)
        self.call.repeat(module)
        return module.__dict__["gradInput"]

    def empty(self, module: Any) -> Activation:
        """What a file has in its place."""
        if self.is_table:
            return nested.table([])
        return new_empty(module.__dict__.get("_type"))


def all_fields(value: Any) -> dict:
    """The fields of an object, with an empty `gradInput` in the place of one that went."""
    fields = vars(value)
    released = getattr(value, "_released", None)
    if released is None or "gradInput" in fields:
        return fields
    return {**fields, "gradInput": released.empty(value)}


def begin(network: Any, input: Activation, gradOutput: Activation) -> BackwardCall | None:
    """Notes that a container's backward begins: the call, when it is the outermost one."""
    if running.call is not None:
        return None
    running.call = BackwardCall(network, input, gradOutput)
    return running.call


def end(call: BackwardCall | None) -> None:
    """Notes that the backward which `begin` gave this for is over."""
    if call is not None:
        running.call = None
        if call.can_be_repeated:
            call.state = state_of(call.network(), call.given)


def release(module: Any, for_good: bool) -> None:
    """Lets go of a `gradInput` that has been used.

    Args:
        for_good: even when it is small, or could not be computed again.
    """
    gradient = module.__dict__.get("gradInput")
    call = running.call
    if for_good:
        module._released = Released(None, gradient)
    elif call is not None and call.may_release(gradient):
        module._released = Released(call, gradient)
    else:
        module._released = None
        return
    module.__dict__.pop("gradInput", None)


def release_all(modules: list, taken: list[Activation], for_good: bool) -> bool:
    """Does without the `gradInput` of modules, before it is computed.

    Args:
        taken: their inputs, in whose form it would be.
        for_good: even if they are small, or could not be computed again.

    Returns:
        False where they are to be kept.
    """
    call = None if for_good else running.call
    if not for_good and (call is None or not any(map(call.may_release, taken))):
        return False
    for module, own_input in zip(modules, taken, strict=True):
        module._released = Released(call, own_input)
        module.__dict__.pop("gradInput", None)
    return True


def is_large(gradient: Activation) -> bool:
    if type(gradient) is Tensor:
        return gradient.numel() >= LARGE
    return any(tensor.numel() >= LARGE for tensor in nested.tensors_in(gradient))


def can_repeat(network: Any) -> bool:
    """Does `updateGradInput` give the same again, for this and all modules inside?

    So do classes that follow `compute`, and containers that say so of themselves (which those
    that inherit from them have to say again).
    """
    from relume.legacy_nn.whole_graph import METHODS, class_follows_compute

    for module in network.walk():
        cls: Any = type(module)
        if not vars(cls).get("repeats_backward") and not class_follows_compute(cls):
            return False
        if not METHODS.isdisjoint(module.__dict__):
            return False
    return True
