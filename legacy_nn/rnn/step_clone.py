"""Copies of a module for the steps of a sequence: one set of parameters, states of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relume import Tensor
from relume.legacy_nn import copying
from relume.legacy_nn.module import Module
from relume.legacy_nn.parameter_methods import gradient_name_of


def step_clone(module: Any) -> Any:
    """A copy for another step of a sequence.

    It shares parameters, their gradients and running statistics with the original, and the
    recurrent modules inside are the very same objects: they keep their own steps.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> from relume.legacy_nn.rnn.step_clone import step_clone
    >>> layer = nn.Linear(2, 2)
    >>> step_clone(layer).weight is layer.weight
    True
    """
    return copying.clone(module, kept=list(_shared_by_steps(module, keeps_recurrent=True)))


def shared_clone(module: Any, parameters: bool = True, gradients: bool = True) -> Any:
    """A copy with new modules only, which share tensors with those of the original.

    Args:
        parameters: share parameters and running statistics.
        gradients: share the gradients of the parameters.
    """
    kept = _shared_by_steps(module, False, parameters, gradients)
    return copying.clone(module, kept=list(kept))


def _shared_by_steps(
    module: Any, keeps_recurrent: bool, parameters: bool = True, gradients: bool = True
) -> Iterator[Any]:
    waiting = [module]
    while waiting:
        module = waiting.pop()
        if not isinstance(module, Module):
            continue
        if keeps_recurrent and module.keeps_its_steps:
            yield module
            continue
        yield from shared_tensors(module, parameters, gradients).values()
        waiting.extend(module.children())


def shared_tensors(
    module: Any, parameters: bool = True, gradients: bool = True
) -> dict[str, Tensor]:
    """The tensors of one module, by field, that all its step clones share."""
    names = [name for name in module.parameter_names if getattr(module, name) is not None]
    shared: dict[str, Tensor] = {}
    if gradients:
        shared.update({gradient_name_of(name): module._gradient(name) for name in names})
    if not parameters:
        return shared
    shared.update({name: getattr(module, name) for name in names})
    for name in module.statistics_names:  # they belong to all steps too
        value = module.__dict__.get(name)
        if isinstance(value, Tensor):
            shared[name] = value
    return shared


def tie(clone: Any, original: Any) -> None:
    """Makes the parameters of a clone that a file holds the tensors of the original again."""
    if clone is original or not isinstance(original, Module):
        return
    for mine, theirs in zip(clone.listModules(), original.listModules(), strict=False):
        if mine is theirs or type(mine) is not type(theirs):
            continue
        for name, tensor in shared_tensors(theirs).items():
            if mine.__dict__.get(name) is not tensor:
                mine.__dict__[name] = tensor
                mine._record = None
