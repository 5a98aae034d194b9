"""Old networks from values: an nn.Sequential where they are a chain, an nn.gModule otherwise."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import legacy_nn

__all__ = ["Value", "apply", "finished", "start"]

nn: Any = legacy_nn  # most layers are rows of its tables


class Value:
    """One result in a network.

    Attributes:
        node: the node of a graph that gives it.
        module: the layer that gives it.
        source: the value that the layer gets, where it gets just one.
    """

    def __init__(self, node: Any, module: Any = None, source: Value | None = None) -> None:
        self.node = node
        self.module = module
        self.source = source


def start() -> Value:
    """An input of the network."""
    return Value(nn.Identity()())


def apply(module: Any, sources: list[Value], name: str = "") -> Value:
    """The output of a layer; a value that it gets twice passes an nn.Identity."""
    nodes: list[Any] = []
    for source in sources:
        repeated = any(source.node is other for other in nodes)
        nodes.append(nn.Identity()(source.node) if repeated else source.node)
    made = module(nodes if len(nodes) > 1 else nodes[0])
    if name:
        made.annotate(name=name)
    return Value(made, module, sources[0] if len(sources) == 1 else None)


def finished(starts: list[Value], ends: list[Value], values: list[Value]) -> Any:
    """The network from its inputs to its outputs.

    Args:
        values: all values, to see whether the network is a chain.
    """
    modules: list[Any] = []
    value: Value | None = ends[0]
    while value is not None and value.source is not None:
        modules.append(value.module)
        value = value.source
    others = {id(value) for value in values} - {id(begin) for begin in starts}
    is_chain = len(starts) == len(ends) == 1 and value is starts[0] and len(modules) == len(others)
    if not is_chain:
        return in_one_type(nn.gModule([v.node for v in starts], [v.node for v in ends]))
    network = nn.Sequential()
    for module in reversed(modules):
        network.add(module)
    return in_one_type(network)


def in_one_type(network: Any) -> Any:
    """All layers in the type of the weights, as Torch7 wants it; float where there are none."""
    parameters = network.parameters()[0]
    is_double = any(parameter.dtype == rl.float64 for parameter in parameters)
    return network.double() if is_double else network.float()
