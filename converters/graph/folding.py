"""Batch normalisation as part of the layer before or behind it, which is linear too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import relume as rl
from relume.converters.graph.model import Graph, Node, Value

__all__ = ["fold_batch_norm"]

# Where the weights of linear ops have the dimensions of outputs and inputs.
LINEAR_OPS = frozenset({"linear", "conv1d", "conv2d", "conv3d"})


@dataclass
class Scale:
    """What batch normalisation does in evaluate mode: factor * x + shift, for each plane."""

    factor: np.ndarray
    shift: np.ndarray


def scale_of(node: Node) -> Scale | None:
    """None when it is no normalisation by constants."""
    if node.op != "batch_norm" or node.arguments["training"]:
        return None
    mean, variance = node.arguments["running_mean"], node.arguments["running_var"]
    weight, bias = node.arguments["weight"], node.arguments["bias"]
    is_constant = all(value is None or value.is_constant for value in (weight, bias, variance))
    if mean is None or not mean.is_constant or not is_constant:
        return None
    factor = 1 / np.sqrt(array_of(variance) + node.arguments["eps"])
    if weight is not None:
        factor = factor * array_of(weight)
    shift = -array_of(mean) * factor
    return Scale(factor, shift if bias is None else shift + array_of(bias))


def array_of(value: Value) -> np.ndarray:
    assert value.tensor is not None
    return value.tensor.detach().to(rl.float64).numpy()


def fold_batch_norm(graph: Graph) -> None:
    """Takes out every batch normalisation that stands alone behind or before a linear layer or a
    convolution with constant weights."""
    for node in list(graph.nodes):
        scale = scale_of(node)
        if scale is None:
            continue
        before, behind = node_before(graph, node), node_behind(graph, node)
        if before is not None and fold_behind(before, scale):
            replace(graph, node.outputs[0], before.outputs[0])
            graph.nodes.remove(node)
        elif behind is not None and fold_before(behind, scale):
            replace(graph, node.outputs[0], node.arguments["input"])
            graph.nodes.remove(node)


def users(graph: Graph, value: Value) -> list[Any]:
    found: list[Any] = [node for node in graph.nodes if any(v is value for v in node.inputs())]
    return found + [None for output in graph.outputs if output is value]


def node_before(graph: Graph, node: Node) -> Node | None:
    """The linear op whose output nobody else takes."""
    value = node.arguments["input"]
    for other in graph.nodes:
        if value in other.outputs:
            return other if is_linear(other) and len(users(graph, value)) == 1 else None
    return None


def node_behind(graph: Graph, node: Node) -> Node | None:
    """The linear op that alone takes the output, and pads it with nothing."""
    found = users(graph, node.outputs[0])
    if len(found) != 1 or found[0] is None or not is_linear(found[0]):
        return None
    behind = found[0]
    is_unpadded = not any(map(int, behind.arguments.get("padding", [])))
    is_plain = behind.arguments.get("groups", 1) == 1
    return behind if is_unpadded and is_plain else None


def is_linear(node: Node) -> bool:
    weights = (node.arguments.get("weight"), node.arguments.get("bias"))
    return node.op in LINEAR_OPS and all(v is None or v.is_constant for v in weights)


def fold_behind(linear: Node, scale: Scale) -> bool:
    """Outputs are scaled."""
    weight = array_of(linear.arguments["weight"])
    if weight.shape[0] != scale.factor.size:
        return False
    bias = linear.arguments.get("bias")
    old = 0 if bias is None else array_of(bias)
    factor = scale.factor.reshape(-1, *[1] * (weight.ndim - 1))
    set_parameters(linear, weight * factor, old * scale.factor + scale.shift)
    return True


def fold_before(linear: Node, scale: Scale) -> bool:
    """Inputs are scaled."""
    weight = array_of(linear.arguments["weight"])
    if weight.shape[1] != scale.factor.size:
        return False
    shape = (1, -1, *[1] * (weight.ndim - 2))
    bias = linear.arguments.get("bias")
    old = 0 if bias is None else array_of(bias)
    others = tuple(range(1, weight.ndim))
    added = (weight * scale.shift.reshape(shape)).sum(axis=others)
    set_parameters(linear, weight * scale.factor.reshape(shape), old + added)
    return True


def set_parameters(linear: Node, weight: np.ndarray, bias: np.ndarray) -> None:
    """New constants: others may share the old ones."""
    old = linear.arguments["weight"]
    path = old.name.removesuffix("weight")
    for name, array in (("weight", weight), ("bias", bias)):
        tensor = rl.tensor(array).to(old.dtype)
        linear.arguments[name] = Value(f"{path}{name}", tuple(array.shape), old.dtype, tensor)


def replace(graph: Graph, old: Value, new: Value) -> None:
    def replaced(argument: Any) -> Any:
        if isinstance(argument, list):
            return [replaced(element) for element in argument]
        return new if argument is old else argument

    for node in graph.nodes:
        node.arguments = {name: replaced(value) for name, value in node.arguments.items()}
    graph.outputs = [new if value is old else value for value in graph.outputs]
    for values in graph.layer_outputs.values():
        values[:] = [new if value is old else value for value in values]
