"""From the graph of a network to an ONNX model."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import onnx
from onnx import helper

import relume
from relume.converters.formats import CannotConvert, Refusal
from relume.converters.graph import Graph, Traces, UntraceableError
from relume.converters.onnx.builder import Builder, NeedsFixedSizeError, UnexportableError
from relume.converters.onnx.call import Call
from relume.converters.onnx.refusals import check
from relume.converters.onnx.rows import ROWS

__all__ = ["OPSET", "export", "model_of"]

OPSET = 23
OLDEST_OPSET = 20  # the first one in which all nodes mean what they mean here
LAYERS = "relume.layers"  # in the model's properties: which values every layer gives


def export(
    network: Any,
    inputs: Any,
    *,
    dtype: str = "float32",
    dynamic: bool = True,
    opset: int = OPSET,
) -> onnx.ModelProto:
    """An ONNX model of a network in evaluate mode.

    Sizes of the inputs are free where the network and its nodes allow that: the batch, and
    lengths, heights and widths.

    Args:
        network: a legacy_nn module.
        inputs: an example: a tensor, or a (nested) table of tensors.
        dtype: of all floating numbers: "float32", "float16" or "float64".
        dynamic: False for a model of exactly these sizes.
        opset: the version of ONNX's operators, from 20 on.

    Returns:
        An `onnx.ModelProto`.

    Raises:
        CannotConvert: with the layers that stand against it.
        ValueError: another opset.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    >>> model = export(net, rl.ones(4, 3, dtype=rl.float64))
    >>> [node.op_type for node in model.graph.node], model.graph.initializer[0].name
    (['Gemm', 'Tanh'], 'modules.1.weight')
    """
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ValueError(f"opset is a number from {OLDEST_OPSET} to {newest}, not {opset!r}")
    refusals = check(network)
    if refusals:
        raise CannotConvert("onnx", refusals)
    try:
        traces = Traces(network, inputs, dynamic=dynamic, loops=True)
    except UntraceableError as error:
        raise refused(network, error) from None
    if not traces.first.outputs:
        raise refused(network, UntraceableError("", "it gives an empty table, and no tensor"))
    fixed: list[str] = []
    while True:
        graph = traces.graph(without=fixed)
        try:
            return model_of(graph, dtype, opset)
        except NeedsFixedSizeError as error:
            open_axes = [axis.name for axis in graph.axes]
            fixed += error.axes or open_axes[-1:]


def refused(network: Any, error: UntraceableError) -> CannotConvert:
    from relume.converters.object_tree import select

    layer = select(network, error.layer) if error.layer else network
    name = getattr(layer, "torch_typename", type(layer).__name__)
    return CannotConvert("onnx", [Refusal(name, 1, error.reason)])


def model_of(graph: Graph, dtype: str = "float32", opset: int = OPSET) -> onnx.ModelProto:
    """The ONNX model of a graph.

    Raises:
        NeedsFixedSizeError: an axis must not be free.
        CannotConvert: ops without a row in the table.
    """
    builder = Builder(graph, dtype, add_nodes)
    refusals: Counter[tuple[str, str]] = Counter()
    for node in graph.nodes:
        builder.layer = node.layer
        try:
            add_nodes(builder, node)
        except UnexportableError as error:
            refusals[node.layer_class or "the network", str(error)] += 1
            for output in node.outputs:
                builder.names[id(output)] = output.name
    if refusals:
        rows = [Refusal(name, count, reason) for (name, reason), count in refusals.items()]
        raise CannotConvert("onnx", rows)
    return finished(builder, opset)


def add_nodes(builder: Builder, node: Any) -> None:
    row = ROWS.get(node.op)
    if row is None:
        is_random = "random" in (traits_of(node.op))
        reason = "draws random numbers" if is_random else "has no counterpart in ONNX"
        raise UnexportableError(f"{node.op}() {reason}")
    names = row(Call(builder, node))
    for output, name in zip(
        node.outputs, [names] if isinstance(names, str) else names, strict=True
    ):
        builder.names[id(output)] = name


def traits_of(op: str) -> frozenset[str]:
    from relume.converters.graph.recording import traits

    return traits().get(op, frozenset())


def finished(builder: Builder, opset: int) -> onnx.ModelProto:
    graph = builder.graph
    outputs = []
    builder.layer = ""
    for position, value in enumerate(graph.outputs, 1):
        name = "output" if len(graph.outputs) == 1 else f"output.{position}"
        builder.give_output(builder.name_of(value), name)
        outputs.append(builder.value_info(value, name))
    inputs = [builder.value_info(value, value.name) for value in graph.inputs]
    layers = {
        layer: [builder.names[id(value)] for value in values]
        for layer, values in graph.layer_outputs.items()
        if all(id(value) in builder.names and not value.is_constant for value in values)
    }
    made = helper.make_graph(
        builder.nodes, "network", inputs, outputs, list(builder.initializers.values())
    )
    operators = [helper.make_opsetid("", opset)]
    model = helper.make_model(
        made,
        opset_imports=operators,
        ir_version=helper.find_min_ir_version_for(operators),
        producer_name="relume",
        producer_version=relume.__version__,
    )
    helper.set_model_props(model, {LAYERS: json.dumps(layers)})
    return model
