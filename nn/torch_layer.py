"""Torch7's layers among modules: trained, converted and saved with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.nn.module import Module, is_torch_layer
from relume.nn.parameter import Parameter


class TorchLayer(Module):
    """A layer of `legacy_nn` (also a whole network, or one from a file) as a module.

    Its weights are parameters of this module and stay the layer's own, on the same memory: an
    optimizer, `load_state_dict` and `to` change the layer. `train` and `eval` set its mode.

    Args:
        layer: a Torch7 module.

    >>> import relume as rl
    >>> from relume import legacy_nn, nn
    >>> old = legacy_nn.Sequential().add(legacy_nn.Linear(3, 4)).add(legacy_nn.Tanh()).float()
    >>> net = nn.Sequential(nn.TorchLayer(old), nn.Linear(4, 2))
    >>> net(rl.ones(5, 3)).shape
    (5, 2)
    >>> [name for name, _ in net.named_parameters()]
    ['0.0.weight', '0.0.bias', '1.weight', '1.bias']
    """

    def __init__(self, layer: Any) -> None:
        super().__init__()
        if not is_torch_layer(layer):
            raise TypeError(f"TorchLayer takes a layer of legacy_nn, not {type(layer).__name__}")
        self.__dict__["layer"] = layer  # not __setattr__, which warns of a bare one
        self._parts = _parts_of(layer, self, {})
        self.train(bool(getattr(layer, "train", True)))

    def forward(self, input: Any) -> Any:
        """The layer's output, on the tape."""
        return self.layer(input)

    def train(self, mode: bool = True) -> Any:
        """Training mode on or off, for the layer too; returns itself."""
        super().train(mode)
        if mode:
            self.layer.training()
        else:
            self.layer.evaluate()
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Any:
        super()._apply(fn)
        typenames = [parameter.torch_typename for parameter in self.parameters()]
        for part in self._parts:
            part.write_back()
            if typenames:
                part.layer.__dict__["_type"] = typenames[0]
        return self

    def extra_repr(self) -> str:
        """The printed form of the layer."""
        return str(self.layer)

    def __deepcopy__(self, memo: dict) -> TorchLayer:
        return TorchLayer(copy.deepcopy(self.layer, memo))

    def __reduce__(self) -> tuple:
        return TorchLayer, (self.layer,)


class _Part:
    """One Torch7 module of a TorchLayer, and the module that holds its parameters and state."""

    def __init__(self, layer: Any, holder: Module, shared: dict) -> None:
        self.layer, self.holder = layer, holder
        for name in layer.parameter_names:
            weight = getattr(layer, name)
            if weight is not None:
                place = (weight.data_ptr(), weight.shape, weight.stride())
                if place not in shared:
                    shared[place] = Parameter(weight.detach())
                setattr(layer, name, shared[place])
                holder.register_parameter(name, shared[place])
        for name in layer.statistics_names:
            state = layer.__dict__.get(name)
            if isinstance(state, Tensor):
                holder.register_buffer(name, state)

    def write_back(self) -> None:
        """Gives the layer what a conversion has made of its state; its gradients begin anew."""
        from relume.legacy_nn.parameter_methods import (
            gradient_name_of,  # which imports relume first
        )

        self.layer.__dict__.update(self.holder._buffers)
        for name in self.layer.parameter_names:
            self.layer.__dict__.pop(gradient_name_of(name), None)


def _parts_of(layer: Any, holder: Module, shared: dict) -> list[_Part]:
    """Registers a layer with a holder, and its children, by their positions, below it.

    Args:
        shared: the parameters so far, by the memory that they look at.
    """
    parts = [_Part(layer, holder, shared)]
    for position, child in enumerate(layer.children()):
        below = Module()
        holder.add_module(str(position), below)
        parts += _parts_of(child, below, shared)
    return parts
