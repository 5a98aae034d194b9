"""Fields of files that other versions of package rnn wrote, as today's classes expect them."""

from __future__ import annotations

from typing import Any

from relume.converters.table import Table
from relume.legacy_nn.layout_changes import Upgrade
from relume.legacy_nn.rnn.abstract_recurrent import STEP_TABLES, AbstractRecurrent
from relume.legacy_nn.rnn.dropout import Dropout
from relume.legacy_nn.rnn.recurrence import Recursor
from relume.legacy_nn.types import new_empty


def first_module(fields: dict) -> Any:
    modules = fields.get("modules")
    return next(iter(modules), None) if modules is not None else None


def complete_recurrent(layer: Any, fields: dict) -> None:
    """The first versions had fewer tables; the last one has its module in `modules` alone."""
    if fields.get("recurrentModule") is None:
        fields["recurrentModule"] = first_module(fields)
    for name in STEP_TABLES:
        if not isinstance(fields.get(name), Table):
            fields[name] = Table()
    fields.setdefault("step", 1)
    fields.setdefault("rho", fields.get("seqlen", 99999))


def complete_sequencer(layer: Any, fields: dict) -> None:
    """Sequencers of 2015 held any module; today it is a recurrent one."""
    module = fields.get("module")
    if module is None:
        module = fields.get("rnn") or first_module(fields)
    if module is not None and not isinstance(module, AbstractRecurrent):
        module = Recursor(module)
    fields["module"] = module
    fields["modules"] = Table([module])
    fields.setdefault("_remember", "neither")


def complete_sequence_layer(layer: Any, fields: dict) -> None:
    """Files may leave out the first states: there are none to remember."""
    for state in layer.states:
        if fields.get(state.first) is None:
            fields[state.first] = new_empty()
    fields.setdefault("_remember", "neither")


def complete_stepwise_criterion(layer: Any, fields: dict) -> None:
    """The last version has its criterion as the first of its clones alone."""
    if fields.get("criterion") is None:
        fields["criterion"] = next(iter(fields["clones"]))


def dropout_of_rnn(layer: Any, fields: dict) -> None:
    """A file calls both kinds nn.Dropout; that of package rnn says whether it is lazy."""
    if "lazy" in fields:
        layer.__class__ = Dropout


UPGRADES: dict[str, Upgrade] = {
    upgrade.__name__: upgrade
    for upgrade in (
        complete_recurrent,
        complete_sequencer,
        complete_sequence_layer,
        complete_stepwise_criterion,
        dropout_of_rnn,
    )
}
