"""What package rnn adds to every module: steps and memory of the recurrent modules inside."""

from __future__ import annotations

from typing import Any

from relume.converters.table import Table
from relume.legacy_nn import nested


class RecurrentMethods:
    """The methods of package rnn that every module has; `Module` inherits them.

    A module that is not recurrent itself passes them on to the modules inside.
    """

    __slots__ = ()

    # Recurrent modules: a copy for another step uses the same object.
    keeps_its_steps = False

    def _inner_modules(self) -> list[Any]:
        children = self.children()  # type: ignore[attr-defined]
        return [child for child in children if isinstance(child, RecurrentMethods)]

    def forget(self) -> Any:
        """Lets all recurrent modules inside begin again: the next forward is their first step.

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.LSTM(2, 2))
        >>> _ = net.forward(rl.zeros(1, 2, dtype=rl.float64))
        >>> net.forget().get(1).step
        1
        """
        for child in self._inner_modules():
            child.forget()
        return self

    def remember(self, mode: str | None = None) -> Any:
        """Says when the sequencers inside keep their memory from one forward to the next.

        Args:
            mode: "both" (the default), "train", "eval" or "neither".
        """
        for child in self._inner_modules():
            child.remember(mode)
        return self

    def maxBPTTstep(self, rho: int) -> None:
        """Limits how many steps gradients go back in the recurrent modules inside."""
        for child in self._inner_modules():
            child.maxBPTTstep(rho)

    def setOutputStep(self, step: int) -> None:
        """Lets the recurrent modules inside show the output of a step (from 1) as `output`."""
        for child in self._inner_modules():
            child.setOutputStep(step)

    def maskZero(self, *arguments: Any) -> Any:
        """Lets the recurrent modules inside zero their states for samples of zeros."""
        for child in self._inner_modules():
            child.maskZero(*arguments)
        return self

    def setZeroMask(self, zeroMask: Any) -> Any:
        """Tells the masking modules inside which samples count as zeros.

        Args:
            zeroMask: time x batch, 1 for samples of zeros; False for none.
        """
        for child in self._inner_modules():
            child.setZeroMask(zeroMask)
        return self

    def setStartState(self, startState: Any) -> None:
        """Sets what the recurrent modules inside begin with, in the structure of modules."""
        children = self._inner_modules()
        for child, state in zip(children, nested.spread(startState, len(children)), strict=True):
            if state is not None:
                child.setStartState(state)

    def stepClone(self) -> Any:
        """A copy for another step: one set of parameters, the same recurrent modules inside."""
        from relume.legacy_nn.rnn.step_clone import step_clone

        return step_clone(self)

    def backwardOnline(self) -> None:
        """Does nothing: all versions since 2016 go back through time in `backward`."""

    def getHiddenState(self, step: int | None = None, input: Any = None) -> Any:
        """The hidden states after a step (0: before the first), in the structure of modules."""
        return self._of_children("getHiddenState", step)

    def getGradHiddenState(self, step: int | None = None, input: Any = None) -> Any:
        """The gradients of the hidden states after a step, in the structure of modules."""
        return self._of_children("getGradHiddenState", step)

    def setHiddenState(self, step: int | None, hiddenState: Any) -> None:
        """Sets hidden states, in the structure that `getHiddenState` gives."""
        self._to_children("setHiddenState", step, hiddenState)

    def setGradHiddenState(self, step: int | None, gradHiddenState: Any) -> None:
        """Sets gradients of hidden states, in the structure that `getGradHiddenState` gives."""
        self._to_children("setGradHiddenState", step, gradHiddenState)

    def _of_children(self, method: str, step: int | None) -> Table | None:
        if not hasattr(self, "modules"):
            return None
        states = Table()
        for position, child in enumerate(self._inner_modules(), 1):
            states[position] = getattr(child, method)(step)
        return states

    def _to_children(self, method: str, step: int | None, states: Any) -> None:
        children = self._inner_modules()
        for child, state in zip(children, nested.spread(states, len(children)), strict=True):
            if state is not None:
                getattr(child, method)(step, state)

    def tie_clones(self) -> None:
        """Makes the parameters of the step clones that a file holds those of the original."""
