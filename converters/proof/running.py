"""Running a network on arrays: its outputs, its gradients, and what each layer gives.

The network is left in the mode that it was in, with the gradients that it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import relume as rl
from relume.converters.formats import Arrays
from relume.converters.object_tree import walk
from relume.legacy_nn import nested, types
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent
from relume.legacy_nn.rnn.sequencer import AbstractSequencer
from relume.legacy_nn.tracing import named_tensors, trace

__all__ = ["activation", "gradients", "layers", "parameter_paths", "run"]

STEPPING = (AbstractRecurrent, AbstractSequencer)
SEED = 1  # layers that draw numbers draw the same ones each time


def activation(network: Any, inputs: Arrays) -> Any:
    """Arrays as what a network takes: tensors, in tables where there are lists, floating ones of
    the network's type."""
    if isinstance(inputs, (list, tuple)):
        return rl.Table([activation(network, element) for element in inputs])
    if isinstance(inputs, (int, float)):  # a number in a table
        return inputs
    array = np.asarray(inputs)
    made = rl.tensor(array)
    return made.to(dtype_of(network)) if array.dtype.kind == "f" else made


def dtype_of(network: Any) -> Any:
    """The type in which a network computes: that of its parameters."""
    parameters, _ = network.parameters()
    if parameters:
        return parameters[0].dtype
    return types.dtype_of(getattr(network, "_type", None) or "torch.FloatTensor")


def arrays_of(output: Any) -> list[np.ndarray]:
    """The tensors and numbers of an output, in order."""
    return [tensor.detach().numpy().copy() for _, tensor in named_tensors("", output)]


@contextmanager
def evaluating(network: Any, *, keeps_steps: bool = False) -> Iterator[None]:
    """In evaluate mode, at the first step, with the same random numbers each time.

    Args:
        keeps_steps: recurrent modules remember their steps, which they go back through for
            gradients. In evaluate mode they do not, so they alone are in training mode; what they
            hold is not, so that dropout stays off.
    """
    modes = [(module, module.train) for module in network.walk() if hasattr(module, "train")]
    network.evaluate()
    network.forget()
    if keeps_steps:
        for module, _ in modes:
            if isinstance(module, STEPPING):
                module.train = True
    state = rl.get_rng_state()
    rl.manual_seed(SEED)
    try:
        yield
    finally:
        rl.set_rng_state(state)
        for module, mode in modes:
            if module.train is not mode:
                module.train = mode


def run(network: Any, inputs: Arrays) -> list[np.ndarray]:
    """The outputs in evaluate mode: arrays, nested tables flattened in order.

    >>> from relume import legacy_nn as nn
    >>> net = nn.ConcatTable().add(nn.Square()).add(nn.Identity())
    >>> [array.tolist() for array in run(net, np.array([3.0]))]
    [[9.0], [3.0]]
    """
    with evaluating(network), rl.no_grad():
        return arrays_of(network.forward(activation(network, inputs)))


def gradients(
    network: Any, inputs: Arrays, output_gradients: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The gradients in evaluate mode (see `evaluating`), by name: "input" ("input.1", ... of a
    table), and the parameters' paths.

    Args:
        output_gradients: those of the outputs, in their order.
    """
    parameters, totals = network.parameters()
    before = [total.clone() for total in totals]
    given = activation(network, inputs)
    remaining = iter(output_gradients)
    with evaluating(network, keeps_steps=True):
        network.zeroGradParameters()
        output = network.forward(given)
        gradient = nested.map_tensors(lambda t: rl.tensor(next(remaining)).to(t.dtype), output)
        network.backward(given, gradient)
        found = dict(zip(input_names(inputs), arrays_of(network.gradInput), strict=False))
    for name, total in zip(parameter_paths(network, parameters), totals, strict=True):
        found[name] = total.detach().numpy().copy()
    for total, value in zip(totals, before, strict=True):
        total.copy_(value)
    return found


def parameter_paths(network: Any, parameters: list[rl.Tensor]) -> list[str]:
    """Where parameters are in a network: "modules.1.weight"."""
    places = {id(node.value): node.path for node in reversed(walk(network))}
    return [places.get(id(parameter), f"parameter {i}") for i, parameter in enumerate(parameters)]


def input_names(inputs: Arrays, name: str = "input") -> list[str]:
    """The names of the flat inputs.

    >>> input_names([np.ones(1), [np.ones(1)]])
    ['input.1', 'input.2.1']
    """
    if not isinstance(inputs, (list, tuple)):
        return [name]
    return [
        inner
        for position, element in enumerate(inputs, 1)
        for inner in input_names(element, f"{name}.{position}")
    ]


def layers(network: Any, inputs: Arrays) -> dict[str, list[np.ndarray]]:
    """What each layer gives, by its path ("" is the network itself), in the order of the ends.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Square()).add(nn.Sqrt())
    >>> list(layers(net, np.array([3.0])))
    ['modules.1', 'modules.2', '']
    """
    with evaluating(network), rl.no_grad():
        traced = trace(network, activation(network, inputs))
    return {layer_path(layer.name): [t.numpy() for t in layer.outputs.values()] for layer in traced}


def layer_path(name: str) -> str:
    """A traced layer's name as `inspect` writes paths.

    >>> layer_path("root.modules[2].modules[1]")
    'modules.2.modules.1'
    """
    return name.removeprefix("root").removeprefix(".").replace("[", ".").replace("]", "")
