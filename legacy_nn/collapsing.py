"""Unrolled networks: clones that share their parameters become one cell that is used many times.

Torch7's layers keep what backward needs in themselves, so a recurrent network had to be cloned
once per time step, buffers and all. Here a step needs no more than its tape: `CellUse`.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.clones import find_clones, things_in
from relume.legacy_nn.copying import contents
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record
from relume.legacy_nn.rnn.step_clone import shared_clone
from relume.legacy_nn.tied_gradients import add_all


class CellUse(Module):
    """One of several uses of a cell: runs the cell, and keeps of this use only the tape.

    Args:
        cell: a module, which other uses may share.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> cell = nn.Linear(3, 4)
    >>> first, second = nn.CellUse(cell), nn.CellUse(cell)
    >>> x = rl.ones(3, dtype=rl.float64)
    >>> first.forward(x).tolist() == second.forward(x).tolist() == cell.forward(x).tolist()
    True
    """

    __slots__ = ("_random_state",)

    parameter_names = ()
    _random_state: Any  # of the random numbers before the forward

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self.cell = cell
        self._type = cell.__dict__.get("_type")
        self.train = cell.train

    def __getattr__(self, name: str) -> Any:
        if name in ("output", "gradInput") or "cell" not in self.__dict__:
            return super().__getattr__(name)
        return getattr(self.cell, name)  # its weight, its modules, ...

    def children(self) -> list[Any]:
        return [self.cell]

    def replace_children(self, function: Any) -> None:
        self.cell = function(self.cell)

    def parameters(self) -> tuple[list, list]:
        return self.cell.parameters()

    def compute(self, input: Activation) -> Activation:
        return self.cell(input)

    def updateOutput(self, input: Activation) -> Activation:
        self._random_state = rl.get_rng_state() if self.train else None
        output = self._recorded(input).output
        self.output = nested.map_tensors(Tensor.detach, output)
        return self.output

    def _recorded(self, input: Activation) -> Record:
        record = self._record = Record(input, [], self.cell)
        record.leaves += self.parameters()[0]
        return record

    def _rerun(self, input: Activation) -> Record:
        """Runs the cell once more with the random numbers of the forward."""
        now = rl.get_rng_state()
        if self._random_state is not None:
            rl.set_rng_state(self._random_state)
        try:
            with rl.enable_grad():
                return self._recorded(input)
        finally:
            rl.set_rng_state(now)

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._accumulate(self._differentiate(input, gradOutput, False, True), scale)

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self._set_grad_input(input, self._differentiate(input, gradOutput, True, False))
        return self.gradInput

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        gradients = self._differentiate(input, gradOutput, True, True)
        self._set_grad_input(input, gradients)
        self._accumulate(gradients, scale)
        return self.gradInput

    def _accumulate(self, gradients: list, scale: float) -> None:
        add_all(self.parameters()[1], gradients, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        gradients = self._differentiate(input, gradOutput, False, True)
        add_all(self.parameters()[0], gradients, -lr)

    def training(self) -> Any:
        self.cell.training()
        return super().training()

    def evaluate(self) -> Any:
        self.cell.evaluate()
        return super().evaluate()

    def reset(self, stdv: float | None = None) -> None:
        self.cell.reset(stdv)

    def clearState(self) -> Any:
        self._random_state = None
        self.cell.clearState()
        return super().clearState()

    def _in_file(self) -> Any:
        """What files have in its place: a clone of the cell, which shares its parameters."""
        return shared_clone(self.cell)

    def __str__(self) -> str:
        return str(self.cell)


def collapse_clones(root: Any) -> Any:
    """Puts one cell, used many times, in the place of clones that share their parameters.

    Works in place on lists of clones (char-rnn's `clone_many_times`), on tables and checkpoints
    that hold them, on the `sharedClones` of recurrent layers and on unrolled graphs. Outputs and
    gradients stay the same, through `forward` and `backward` as before; the clones' buffers go.

    Args:
        root: what holds the clones. Without clones, nothing changes.

    Returns:
        `root`, in which every clone is a `CellUse` of the first one.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> cell = nn.Linear(3, 3)
    >>> steps = [cell.clone("weight", "bias", "gradWeight", "gradBias") for _ in range(4)]
    >>> _ = nn.collapse_clones(steps)
    >>> len({id(step.cell) for step in steps})
    1
    """
    replacements: dict[int, Any] = {}
    for group in find_clones(root):
        if has_steps(group.cell):
            continue
        for module in group.modules:
            replacements[id(module)] = CellUse(group.cell)
        group.cell.clearState()
    return replace_everywhere(root, replacements)


def has_steps(cell: Any) -> bool:
    """Does a cell hold recurrent modules, which all its clones share and which count steps?"""
    return any(getattr(module, "keeps_its_steps", False) for module in cell.walk())


def expand_clones(root: Any) -> Any:
    """The opposite of `collapse_clones`: every use becomes a clone, as Torch7 wants them.

    Files get clones in any case: Torch7 has no `CellUse`.

    >>> from relume import legacy_nn as nn
    >>> cell = nn.Linear(3, 3)
    >>> steps = nn.collapse_clones([cell, cell.clone("weight", "bias", "gradWeight", "gradBias")])
    >>> nn.expand_clones(steps)[1].weight is cell.weight
    True
    """
    replacements: dict[int, Any] = {}
    expanded: set[int] = set()  # cells of which one use has become the cell itself
    for value, _ in things_in(root):
        if isinstance(value, CellUse):
            cell = value.cell
            is_first = id(cell) not in expanded
            expanded.add(id(cell))
            replacements[id(value)] = cell if is_first else shared_clone(cell)
    return replace_everywhere(root, replacements)


def replace_everywhere(root: Any, replacements: dict[int, Any]) -> Any:
    """Puts `replacements[id(x)]` in the place of every x below an object."""
    everything = [value for value, _ in things_in(root)]
    for value in everything:
        inside = contents(value)
        if id(value) in replacements or inside is None:
            continue
        items = enumerate(inside) if isinstance(inside, list) else list(inside.items())
        for key, element in items:
            if id(element) in replacements:
                inside[key] = replacements[id(element)]
    return replacements.get(id(root), root)
