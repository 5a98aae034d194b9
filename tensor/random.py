"""Torch7's random numbers: one default generator per thread, which Python and Lua share.

The sequence after `manual_seed(n)` is the one that `torch.manualSeed(n)` gave in Torch7, on any
machine: uniform, normal, bernoulli, ... and the order in which tensors are filled. A thread that is
started later draws from a generator of its own; its seed follows from the main thread's seed and
from how many threads drew before it. Functions that draw take `generator=`.
"""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.devices import check_device

__all__ = ["Generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


class Generator(_C.Generator):
    """A source of random numbers of its own.

    Inside of `with generator:` everything that draws in this thread draws from it, Lua included.

    Args:
        seed: where the sequence starts; None takes it from the system's entropy.

    Methods: manual_seed(n), seed(), initial_seed(), get_state(), set_state(state), random(),
    random_below(n), uniform(low=0, high=1), normal(mean=0, std=1).

    >>> import relume as rl
    >>> generator = rl.Generator(seed=1)
    >>> with generator:
    ...     print(rl.rand([2]))
    tensor([0.417 , 0.9972])
    """

    def __init__(self, seed: int | None = None, device: Any = None) -> None:
        check_device(seed if isinstance(seed, str) else device)  # PyTorch's Generator("cpu")
        super().__init__(None if isinstance(seed, str) else seed)
        self._before: list[Any] = []

    def manual_seed(self, seed: int) -> Generator:
        """Restarts the sequence at `seed`; returns the generator."""
        super().manual_seed(seed)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator_in, (self.get_state(), self.initial_seed())

    def __enter__(self) -> Generator:
        self._before.append(_C.use_generator(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _C.use_generator(self._before.pop())


def _generator_in(state: Tensor, seed: int) -> Generator:
    """A generator from its pickle."""
    generator = Generator(seed)
    generator.set_state(state)
    return generator


def manual_seed(seed: int) -> None:
    """Restarts the default generator's sequence at `seed`, as torch.manualSeed does.

    Args:
        seed: any integer; its low 32 bits decide.

    >>> import relume as rl
    >>> rl.manual_seed(1)
    >>> rl.rand([1], dtype=rl.float64).item()
    0.4170219984371215
    """
    _C.default_generator().manual_seed(seed)


def seed() -> int:
    """Restarts the default generator from the system's entropy; returns the seed.

    >>> import relume as rl
    >>> rl.initial_seed() == rl.seed()
    False
    """
    return _C.default_generator().seed()


def initial_seed() -> int:
    """The seed with which the default generator's sequence began.

    >>> import relume as rl
    >>> rl.manual_seed(123)
    >>> rl.initial_seed()
    123
    """
    return _C.default_generator().initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator: a uint8 tensor of shape (5048,), Torch7's bytes.

    >>> import relume as rl
    >>> state = rl.get_rng_state()
    >>> a = rl.rand([3])
    >>> rl.set_rng_state(state)
    >>> bool((rl.rand([3]) == a).all())
    True
    """
    return _C.default_generator().get_state()


def set_rng_state(state: Tensor) -> None:
    """Puts the default generator into a state that `get_rng_state` (or Torch7) returned.

    Args:
        state: a uint8 tensor of shape (5048,).

    Raises:
        TypeError, ValueError: these bytes are no state.

    >>> import relume as rl
    >>> rl.set_rng_state(rl.get_rng_state())
    """
    _C.default_generator().set_state(state)
