"""A module that says what of it is written to files: nn.Serial."""

from __future__ import annotations

from typing import Any

from relume import Storage, Tensor
from relume.legacy_nn import copying, nested
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty

# What `mediumSerial` and `lightSerial` leave out of files.
RESULTS = ["output", "gradInput", "momGradParams", "dpnn_input"]
GRADIENTS = ["gradWeight", "gradBias"]


@register("nn.Serial")
class Serial(Decorator):
    """Does what its module does; says in which type, and how completely, it is written.

    Args:
        module: the module.
        tensortype: the Torch7 type that tensors have in files; by default their own.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Serial(nn.Linear(2, 2)).mediumSerial()
    >>> list(net.get(1).dpnn_serialEmpty)
    ['output', 'gradInput', 'momGradParams', 'dpnn_input']
    """

    tensortype: str | None = None

    def __init__(self, module: Any, tensortype: str | None = None) -> None:
        super().__init__(module)
        if tensortype is not None:
            self.tensortype = tensortype

    def _set_serial(self, names: list[str], typename: str | None) -> Serial:
        for module in self.listModules():
            vars(module)["dpnn_serialEmpty"] = nested.table(list(names))
            if typename is not None:
                vars(module)["dpnn_serialType"] = typename
        return self

    def _save_fields(self) -> dict:
        """A file has another module on the same tensors, with fewer of them, or in another type."""
        own = [item for module in self.listModules() for item in vars(module).items()]
        kept = [
            value
            for name, value in own
            if isinstance(value, (Tensor, Storage)) or name == "dpnn_serialEmpty"
        ]
        copy = copying.clone(self.modules[0], kept=kept)
        for module in copy.listModules():
            for name in nested.elements(vars(module).get("dpnn_serialEmpty") or []):
                value = vars(module).get(name)
                if isinstance(value, Tensor):
                    vars(module)[name] = new_empty(value.torch_typename)
                elif nested.is_table(value):
                    vars(module)[name] = nested.table([])
        typename = self.tensortype or vars(self).get("dpnn_serialType")
        if typename:
            copy.type(typename)
        return {**super()._save_fields(), "modules": [copy]}

    def heavySerial(self, typename: str | None = None) -> Serial:
        """Everything is written."""
        return self._set_serial([], typename)

    def mediumSerial(self, typename: str | None = None) -> Serial:
        """Results are written empty; parameters and their gradients are kept."""
        return self._set_serial(RESULTS, typename)

    def lightSerial(self, typename: str | None = None) -> Serial:
        """Results and gradients are written empty."""
        return self._set_serial(RESULTS + GRADIENTS, typename)
