"""PyTorch modules as old networks: traced by torch.fx, each operation by its name in ONNX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from relume.converters.formats import CannotConvert, Refusal
from relume.converters.importing.building import Value, apply, finished, start
from relume.converters.importing.onnx_graph import LAYERS
from relume.converters.importing.onnx_layers import Cannot, Operation

__all__ = ["is_torch_module", "network_of"]


def is_torch_module(value: Any) -> bool:
    """Is this a module of PyTorch? PyTorch is not imported to find out."""
    return any(
        base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module"
        for base in type(value).__mro__
    )


def network_of(module: Any) -> Any:
    """An old network that computes what a PyTorch module does in evaluation mode.

    Args:
        module: a `torch.nn.Module` that torch.fx can trace, made of common layers.

    Raises:
        CannotConvert: it has layers without a counterpart in Torch7; lists them all.
    """
    return Reader(module).network()


# ---- layers, as (operation, attributes, tensors after the input) ----

Described = tuple[str, dict[str, Any], list[Any]]


def sizes(value: Any, dims: int) -> list[int]:
    """A setting per dimension: one number stands for all."""
    return [int(value)] * dims if isinstance(value, int) else [int(n) for n in value]


def windowed(layer: Any, dims: int, **more: Any) -> dict[str, Any]:
    if isinstance(layer.padding, str):
        raise Cannot(f"its padding is {layer.padding!r}")
    pads = sizes(layer.padding, dims)
    return {"strides": sizes(layer.stride, dims), "pads": [*pads, *pads], **more}


def convolution(dims: int) -> Callable[[Any], Described]:
    def describe(layer: Any) -> Described:
        if layer.padding_mode != "zeros":
            raise Cannot(f"its padding is {layer.padding_mode}")
        gaps = sizes(layer.dilation, dims)
        options = windowed(layer, dims, dilations=gaps, group=layer.groups)
        if layer.transposed:
            options["output_padding"] = sizes(layer.output_padding, dims)
        name = "ConvTranspose" if layer.transposed else "Conv"
        return name, options, [layer.weight, layer.bias]

    return describe


def max_pool(dims: int) -> Callable[[Any], Described]:
    def describe(layer: Any) -> Described:
        more = {"kernel_shape": sizes(layer.kernel_size, dims), "ceil_mode": int(layer.ceil_mode)}
        gaps = sizes(layer.dilation, dims)
        return "MaxPool", windowed(layer, dims, dilations=gaps, **more), []

    return describe


def average_pool(layer: Any) -> Described:
    if layer.divisor_override is not None:
        raise Cannot("it divides by another number")
    more = {"kernel_shape": sizes(layer.kernel_size, 2), "ceil_mode": int(layer.ceil_mode)}
    return "AveragePool", windowed(layer, 2, count_include_pad=layer.count_include_pad, **more), []


def adaptive_pool(layer: Any) -> Described:
    if sizes(layer.output_size, 2) != [1, 1]:
        raise Cannot("its output has a fixed size other than 1")
    return "GlobalAveragePool", {}, []


def batch_norm(layer: Any) -> Described:
    if layer.running_mean is None:
        raise Cannot("it has no running statistics")
    momentum = 0.1 if layer.momentum is None else layer.momentum
    count = layer.num_features
    weight = np.ones(count, np.float32) if layer.weight is None else layer.weight
    bias = np.zeros(count, np.float32) if layer.bias is None else layer.bias
    options = {"epsilon": layer.eps, "momentum": 1 - momentum}
    return "BatchNormalization", options, [weight, bias, layer.running_mean, layer.running_var]


def linear(layer: Any) -> Described:
    return "Gemm", {"transB": 1}, [layer.weight, layer.bias]


def flatten(layer: Any) -> Described:
    if layer.end_dim != -1:
        raise Cannot("it stops before the last dimension")
    return "Flatten", {"axis": layer.start_dim}, []


def hard_tanh(layer: Any) -> Described:
    return "Clip", {"min": layer.min_val, "max": layer.max_val}, []


def zero_padding(layer: Any) -> Described:
    left, right, top, bottom = layer.padding
    return "Pad", {"pads": [0, 0, top, left, 0, 0, bottom, right]}, []


def upsample(layer: Any) -> Described:
    if layer.mode != "nearest" or layer.scale_factor is None:
        raise Cannot("only repetition by a whole factor is known")
    factor = float(layer.scale_factor)
    return "Resize", {"mode": "nearest"}, [None, np.array([1, 1, factor, factor], np.float32)]


def plain(name: str, **attributes: str) -> Callable[[Any], Described]:
    """A layer whose attributes are those of the operation under other names."""
    return lambda layer: (name, {new: getattr(layer, old) for new, old in attributes.items()}, [])


MODULES: dict[str, Callable[[Any], Described]] = {
    "Linear": linear,
    "Conv1d": convolution(1),
    "Conv2d": convolution(2),
    "Conv3d": convolution(3),
    "ConvTranspose2d": convolution(2),
    "BatchNorm1d": batch_norm,
    "BatchNorm2d": batch_norm,
    "BatchNorm3d": batch_norm,
    "MaxPool1d": max_pool(1),
    "MaxPool2d": max_pool(2),
    "MaxPool3d": max_pool(3),
    "AvgPool2d": average_pool,
    "AdaptiveAvgPool2d": adaptive_pool,
    "Flatten": flatten,
    "Hardtanh": hard_tanh,
    "ReLU6": hard_tanh,
    "ZeroPad2d": zero_padding,
    "Upsample": upsample,
    "UpsamplingNearest2d": upsample,
    "PixelShuffle": lambda layer: (
        "DepthToSpace",
        {"mode": "CRD", "blocksize": layer.upscale_factor},
        [],
    ),
    "PReLU": lambda layer: ("PRelu", {}, [layer.weight]),
    "LeakyReLU": plain("LeakyRelu", alpha="negative_slope"),
    "ELU": plain("Elu", alpha="alpha"),
    "Softmax": plain("Softmax", axis="dim"),
    "LogSoftmax": plain("LogSoftmax", axis="dim"),
    "Dropout": plain("Dropout", ratio="p"),
    "Dropout2d": plain("Dropout", ratio="p"),
    "ReLU": plain("Relu"),
    "Sigmoid": plain("Sigmoid"),
    "Tanh": plain("Tanh"),
    "Softsign": plain("Softsign"),
    "Identity": plain("Identity"),
}

# Functions and methods, by their names.
FUNCTIONS = {
    "add": "Add",
    "iadd": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "truediv": "Div",
    "div": "Div",
    "matmul": "MatMul",
    "relu": "Relu",
    "relu_": "Relu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "exp": "Exp",
    "log": "Log",
    "abs": "Abs",
    "neg": "Neg",
    "sqrt": "Sqrt",
    "contiguous": "Identity",
    "detach": "Identity",
}
# Rank of the output of layers that take planes, volumes, ...
RANKS = {"1d": 3, "2d": 4, "3d": 5}


class Reader:
    """Builds an old network from a traced module."""

    def __init__(self, module: Any) -> None:
        from torch import fx

        was_training = module.training
        try:
            self.traced = fx.symbolic_trace(module.eval())
        except (fx.proxy.TraceError, TypeError, ValueError) as error:
            reason = f"torch.fx cannot trace it: {error}"
            raise CannotConvert("t7", [Refusal(type(module).__name__, 1, reason)]) from error
        finally:
            module.train(was_training)
        self.values: dict[Any, Value] = {}
        self.ranks: dict[Any, int | None] = {}
        self.refused: Counter[tuple[str, str]] = Counter()

    def network(self) -> Any:
        starts, ends = [], []
        for node in self.traced.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = start()
                self.ranks[node] = None
                starts.append(self.values[node])
            elif node.op == "output":
                results = node.args[0]
                results = results if isinstance(results, (tuple, list)) else [results]
                ends = [self.values[result] for result in results]
            elif node.op != "get_attr":
                self.read(node)
        if self.refused:
            reasons = [Refusal(name, n, why) for (name, why), n in self.refused.items()]
            raise CannotConvert("t7", reasons)
        return finished(starts, ends, list(self.values.values()))

    def read(self, node: Any) -> None:
        """Puts what one step of the module gives among the values."""
        name = self.name_of(node)
        sources = [argument for argument in flat(node.args) if argument in self.values]
        rank = self.ranks.get(sources[0]) if sources else None
        try:
            layer, self.ranks[node] = self.layer(node, name, rank)
        except Cannot as error:
            self.refused[name, str(error)] += 1
            layer, self.ranks[node] = (
                LAYERS["Identity"](operation("Identity", {}, [None], rank)),
                rank,
            )
        self.values[node] = apply(layer, [self.values[s] for s in sources], node.name)

    def name_of(self, node: Any) -> str:
        if node.op == "call_module":
            return type(self.traced.get_submodule(node.target)).__name__
        return node.target if isinstance(node.target, str) else node.target.__name__

    def layer(self, node: Any, name: str, rank: int | None) -> tuple[Any, int | None]:
        """The old layer for a step, and how many dimensions its output has."""
        if node.op == "call_module":
            describe = MODULES.get(name)
            if describe is None:
                raise Cannot("no layer of Torch7 does this")
            kind, attributes, tensors = describe(self.traced.get_submodule(node.target))
            rank = next((n for end, n in RANKS.items() if name.endswith(end)), rank)
            if name in ("Linear", "BatchNorm1d"):
                rank = 2 if rank is None or name == "BatchNorm1d" else rank
            constants = [None, *[as_array(t) for t in tensors]]
            made = read_operation(kind, attributes, constants, rank)
            return made, 2 if name == "Flatten" else rank
        return self.function(node, name, rank)

    def function(self, node: Any, name: str, rank: int | None) -> tuple[Any, int | None]:
        arguments = list(node.args)
        if name in ("cat", "concat"):
            axis = node.kwargs.get("dim", arguments[1] if len(arguments) > 1 else 0)
            count = len(arguments[0])
            return read_operation("Concat", {"axis": axis}, [None] * count, rank), rank
        if name in ("flatten", "view", "reshape"):
            return self.flattened(name, arguments[1:], node.kwargs, rank), 2
        if name in ("softmax", "log_softmax"):
            axis = node.kwargs.get("dim", arguments[1] if len(arguments) > 1 else -1)
            kind = "Softmax" if name == "softmax" else "LogSoftmax"
            return read_operation(kind, {"axis": axis}, [None], rank or 2), rank
        if name == "dropout":
            return read_operation(
                "Dropout", {"ratio": node.kwargs.get("p", 0.5)}, [None], rank
            ), rank
        if name == "mean":
            axes = node.kwargs.get("dim", arguments[1] if len(arguments) > 1 else None)
            axes = [axes] if isinstance(axes, int) else list(axes or [])
            keeps = int(bool(node.kwargs.get("keepdim", False)))
            made = read_operation("ReduceMean", {"axes": axes, "keepdims": keeps}, [None], rank)
            return made, rank if keeps or rank is None else rank - len(axes)
        if name not in FUNCTIONS:
            raise Cannot("no layer of Torch7 does this")
        constants = [None if a in self.values else np.float32(a) for a in arguments]
        return read_operation(FUNCTIONS[name], {}, constants, rank), rank

    def flattened(self, name: str, arguments: list, options: Any, rank: int | None) -> Any:
        """Only one row per sample is understood."""
        if name == "flatten":
            first = options.get("start_dim", arguments[0] if arguments else 0)
            if first != 1:
                raise Cannot("it joins the batch with other dimensions")
        elif len(arguments) != 2 or arguments[1] != -1:
            raise Cannot("only .view(batch, -1) is understood")
        return read_operation("Flatten", {"axis": 1}, [None], rank or 2)


def flat(arguments: Any) -> list[Any]:
    found = []
    for argument in arguments:
        found += flat(argument) if isinstance(argument, (tuple, list)) else [argument]
    return [a for a in found if hasattr(a, "op")]


def as_array(tensor: Any) -> np.ndarray | None:
    if tensor is None or isinstance(tensor, np.ndarray):
        return tensor
    return tensor.detach().cpu().numpy()


def operation(name: str, attributes: dict, constants: list, rank: int | None) -> Operation:
    ranks = [rank] * len(constants)
    return Operation(name, attributes, constants, ranks, [], [""])


def read_operation(name: str, attributes: dict, constants: list, rank: int | None) -> Any:
    return LAYERS[name](operation(name, attributes, constants, rank))
