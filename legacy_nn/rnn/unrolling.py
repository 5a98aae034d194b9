"""The hidden states of recurrent modules while a sequence is applied under the tape."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

from relume import Tensor
from relume.legacy_nn import nested

_active: ContextVar[Unrolling | None] = ContextVar("unrolling", default=None)


class Unrolling:
    """Within this, every call of a recurrent module is the next step of one sequence.

    Nothing is kept in the modules: the states belong to this object, and to the tape.

    Args:
        states: what to begin with, as `detached_states` of another unrolling gave it.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> cell = nn.FastLSTM(3, 2)
    >>> x = rl.ones(1, 3, dtype=rl.float64)
    >>> with nn.Unrolling():
    ...     first, second = cell(x), cell(x)
    >>> bool((first == second).all())
    False
    """

    def __init__(self, states: dict[Any, Any] | None = None) -> None:
        self.states = dict(states or {})
        self._outer: Token | None = None

    def __enter__(self) -> Unrolling:
        self._outer = _active.set(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._outer is not None
        _active.reset(self._outer)

    def detached_states(self) -> dict[Any, Any]:
        """The states of all modules now, cut off from the tape."""
        return {
            module: nested.map_tensors(Tensor.detach, state)
            for module, state in self.states.items()
        }


def active_unrolling() -> Unrolling:
    """The unrolling that calls belong to now; a new one, of a single step, when there is none."""
    return _active.get() or Unrolling()
