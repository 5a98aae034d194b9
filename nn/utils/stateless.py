"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import relume as rl
from relume import Tensor
from relume.nn.module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """A module's output with tensors in the place of its parameters and buffers.

    Gradients flow to these tensors, which may be results of computations themselves: that is
    how to differentiate through a step of training.

    Args:
        parameter_and_buffer_dicts: tensors by name, as in `state_dict`, or several such dicts;
            names that are left out keep their own.
        args: the input, or a tuple of inputs.
        kwargs: inputs by name.

    Raises:
        KeyError: a name that the module does not have.

    >>> import relume as rl
    >>> from relume import nn
    >>> layer = nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": rl.tensor([[2.0, 3.0]])}, rl.ones(1, 2))
    tensor([[5.]])
    """
    dicts = parameter_and_buffer_dicts
    values: dict[str, Tensor] = {}
    for part in [dicts] if isinstance(dicts, Mapping) else dicts:
        values.update(part)
    inputs = args if isinstance(args, tuple) else (args,)
    with _replaced(module, values):
        return module(*inputs, **(kwargs or {}))


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of like modules, each stacked: an ensemble for `vmap`.

    Returns:
        (parameters, buffers): dicts of tensors whose first dimension counts the modules.

    >>> import relume as rl
    >>> from relume import nn
    >>> nets = [nn.Linear(2, 1) for _ in range(3)]
    >>> parameters, buffers = rl.func.stack_module_state(nets)
    >>> def call(parameters, x):
    ...     return rl.func.functional_call(nets[0], parameters, x)
    >>> rl.vmap(call, in_dims=(0, None))(parameters, rl.ones(4, 2)).shape
    (3, 4, 1)
    """
    if not models:
        raise ValueError("stack_module_state() needs at least one module")
    kinds = {type(model) for model in models}
    if len(kinds) > 1:
        raise ValueError("stack_module_state() needs modules of one class")

    def stacked(pairs: list[dict[str, Tensor]], is_parameter: bool) -> dict[str, Tensor]:
        result = {}
        for name, first in pairs[0].items():
            tensor = rl.stack([own[name].detach() for own in pairs])
            result[name] = tensor.requires_grad_(is_parameter and first.requires_grad)
        return result

    return (
        stacked([dict(model.named_parameters()) for model in models], True),
        stacked([dict(model.named_buffers()) for model in models], False),
    )


@contextmanager
def _replaced(module: Module, values: Mapping[str, Tensor]) -> Iterator[None]:
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for path, value in values.items():
            owner, _, name = path.rpartition(".")
            holder = module.get_submodule(owner).__dict__
            group = next(
                (holder[g] for g in ("_parameters", "_buffers") if name in holder[g]), None
            )
            if group is None:
                raise KeyError(f"{type(module).__name__} has no parameter or buffer {path!r}")
            before.append((group, name, group[name]))
            group[name] = value
        yield
    finally:
        for group, name, value in reversed(before):
            group[name] = value
