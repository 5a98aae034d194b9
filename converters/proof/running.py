"""Running a network on arrays: its outputs, its gradients, and what each layer gives."""

from __future__ import annotations

from typing import Any

import numpy as np

import relume as rl
from relume.converters.formats import Arrays
from relume.legacy_nn import nested
from relume.legacy_nn.tracing import named_tensors, trace

__all__ = ["activation", "gradients", "layers", "run"]


def activation(network: Any, inputs: Arrays) -> Any:
    """Arrays as what a network takes: tensors, in tables where there are lists, floating ones of
    the network's type."""
    dtype = dtype_of(network)

    def tensor(array: np.ndarray) -> rl.Tensor:
        made = rl.tensor(array)
        return made.to(dtype) if array.dtype.kind == "f" else made

    if isinstance(inputs, (list, tuple)):
        return rl.Table([activation(network, element) for element in inputs])
    return tensor(np.asarray(inputs))


def dtype_of(network: Any) -> Any:
    """The type in which a network computes: that of its parameters."""
    from relume.legacy_nn import types

    parameters, _ = network.parameters()
    if parameters:
        return parameters[0].dtype
    return types.dtype_of(getattr(network, "_type", None) or "torch.FloatTensor")


def arrays_of(output: Any) -> list[np.ndarray]:
    """The tensors and numbers of an output, in order."""
    return [tensor.detach().numpy().copy() for _, tensor in named_tensors("", output)]


def run(network: Any, inputs: Arrays) -> list[np.ndarray]:
    """The outputs in evaluate mode: arrays, nested tables flattened in order.

    >>> from relume import legacy_nn as nn
    >>> net = nn.ConcatTable().add(nn.Square()).add(nn.Identity())
    >>> [array.tolist() for array in run(net, np.array([3.0]))]
    [[9.0], [3.0]]
    """
    network.evaluate()
    with rl.no_grad():
        return arrays_of(network.forward(activation(network, inputs)))


def gradients(
    network: Any, inputs: Arrays, output_gradients: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The gradients in evaluate mode, by name: "input" ("input.1", ... of a table), and the
    parameters' paths.

    Args:
        output_gradients: those of the outputs, in their order.
    """
    from relume.converters.object_tree import walk

    network.evaluate()
    network.zeroGradParameters()
    given = activation(network, inputs)
    remaining = iter(output_gradients)
    output = network.forward(given)
    gradient = nested.map_tensors(lambda t: rl.tensor(next(remaining)).to(t.dtype), output)
    network.backward(given, gradient)
    found = dict(zip(input_names(inputs), arrays_of(network.gradInput), strict=False))
    places = {id(node.value): node.path for node in walk(network, skip_scratch=True)}
    for parameter, total in zip(*network.parameters(), strict=True):
        found[places.get(id(parameter), f"parameter {len(found)}")] = total.detach().numpy().copy()
    return found


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
    network.evaluate()
    with rl.no_grad():
        traced = trace(network, activation(network, inputs))
    return {layer_path(layer.name): [t.numpy() for t in layer.outputs.values()] for layer in traced}


def layer_path(name: str) -> str:
    """A traced layer's name as `inspect` writes paths.

    >>> layer_path("root.modules[2].modules[1]")
    'modules.2.modules.1'
    """
    return name.removeprefix("root").removeprefix(".").replace("[", ".").replace("]", "")
