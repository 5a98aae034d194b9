"""Short forms for the modules that cells are built of."""

from __future__ import annotations

from typing import Any

from relume.legacy_nn.composite import make
from relume.legacy_nn.container import ConcatTable, ParallelTable, Sequential
from relume.legacy_nn.rnn.dropout import Dropout


def sequence(*modules: Any) -> Any:
    """Modules one after the other."""
    return filled(Sequential(), modules)


def fan_out(*modules: Any) -> Any:
    """Modules that all get the input."""
    return filled(ConcatTable(), modules)


def parallel(*modules: Any) -> Any:
    """Modules that get one element of the input each."""
    return filled(ParallelTable(), modules)


def filled(container: Any, modules: tuple) -> Any:
    for module in modules:
        container.add(module)
    return container


def cell_dropout(cell: Any) -> Dropout:
    """Dropout that keeps its mask for all steps of a sequence."""
    return Dropout(cell.p, False, False, True, cell.mono)


def with_dropout(cell: Any, layer: Any) -> Any:
    """A layer behind the dropout of a cell."""
    return sequence(cell_dropout(cell), layer)


def dropped_sums(cell: Any, layers: list[Any]) -> Any:
    """Layers side by side, each behind a dropout of its own, their outputs joined."""
    masks = [cell_dropout(cell) for _ in layers]
    return sequence(fan_out(*masks), parallel(*layers), make("JoinTable", 2))
