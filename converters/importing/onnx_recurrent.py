"""ONNX's recurrent layers as those of package rnn, over whole sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import legacy_nn
from relume.converters.importing.onnx_layers import (
    Cannot,
    Operation,
    in_a_row,
    in_float,
    operation,
    set_tensor,
)

nn: Any = legacy_nn  # most layers are rows of its tables

# The order of gates in the old layer, each by its place in ONNX's.
LSTM_GATES = (0, 2, 1, 3)  # input, forget, output, candidate from input, output, forget, candidate
GRU_GATES = (1, 0, 2)  # reset, update, candidate from update, reset, candidate


def gates_of(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    parts = np.split(array, len(order))
    return np.concatenate([parts[gate] for gate in order])


def direction(op: Operation, make: Any, order: tuple[int, ...], place: int) -> Any:
    """The layer for one direction."""
    weight, recurrent = op.constant(1, "weight")[place], op.constant(2, "weight")[place]
    both = op.optional(3)
    if make is None:
        bias = np.zeros(6 * recurrent.shape[1]) if both is None else both[place]
        return late_reset(weight, recurrent, bias)
    hidden, inputs = recurrent.shape[1], weight.shape[1]
    layer = make(inputs, hidden)
    rows = np.concatenate([gates_of(weight, order).T, gates_of(recurrent, order).T])
    set_tensor(layer, "weight", rows)
    bias = np.zeros(len(order) * hidden)
    if both is not None:
        first, second = np.split(both[place], 2)
        bias = gates_of(first + second, order)
    set_tensor(layer, "bias", bias)
    return in_float(layer, weight)


def check(op: Operation) -> None:
    if op.get("layout", 0) or op.get("clip") is not None or op.get("activations") is not None:
        raise Cannot("it has a layout, clipping or activations of its own")
    if op.optional(4) is not None:
        raise Cannot("its sequences end at different steps")
    for place in range(5, len(op.constants)):
        state = op.optional(place)
        if state is None or np.any(state):
            raise Cannot("it begins with states that are not zero")
    if len(op.outputs) > 2 and op.outputs[2]:
        raise Cannot("it gives the last cell too")


def recurrent(op: Operation, make: Any, order: tuple[int, ...]) -> Any:
    check(op)
    kind = op.get("direction", "forward")
    layers = []
    for place in range(2 if kind == "bidirectional" else 1):
        layer = direction(op, make, order, place)
        is_reverse = kind == "reverse" or place == 1
        turned = [nn.SeqReverseSequence(1), layer, nn.SeqReverseSequence(1)]
        layers.append(in_a_row([*(turned if is_reverse else [layer]), nn.Unsqueeze(2)]))
    if len(layers) == 1:
        steps = layers[0]
    else:
        both = nn.ConcatTable().add(layers[0]).add(layers[1])
        steps = nn.Sequential().add(both).add(nn.JoinTable(2))
    if len(op.outputs) > 1 and op.outputs[1]:
        if kind != "forward":
            raise Cannot("it gives the last states of a reversed sequence")
        last = in_a_row([layers[0], nn.Select(1, -1)])
        if op.outputs[0]:
            raise Cannot("it gives all states, and the last ones once more")
        return [None, last]
    return steps


@operation("LSTM")
def lstm(op: Operation) -> Any:
    return recurrent(op, nn.SeqLSTM, LSTM_GATES)


@operation("GRU")
def gru(op: Operation) -> Any:
    """PyTorch's resets after the multiplication, package rnn's before it."""
    return recurrent(op, None if op.get("linear_before_reset", 0) else nn.SeqGRU, GRU_GATES)


def late_reset(weight: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> Any:
    """A GRU whose reset gate acts after the multiplication, as a graph that a Sequencer runs."""
    hidden, inputs = recurrent.shape[1], weight.shape[1]
    x, before = nn.Identity()(), nn.Identity()()
    sums = []
    for source, matrix, size, own_bias in zip(
        (x, before), (weight, recurrent), (inputs, hidden), np.split(bias, 2), strict=True
    ):
        layer = nn.Linear(size, 3 * hidden)
        set_tensor(layer, "weight", matrix)
        set_tensor(layer, "bias", own_bias)
        whole = layer(source)
        sums.append([nn.Narrow(2, 1 + i * hidden, hidden)(whole) for i in range(3)])
    update, reset = (
        nn.Sigmoid()(nn.CAddTable()([from_input, from_state]))
        for from_input, from_state in zip(sums[0][:2], sums[1][:2], strict=True)
    )
    late = nn.CMulTable()([reset, sums[1][2]])
    new = nn.Tanh()(nn.CAddTable()([sums[0][2], late]))
    # (1 - update) * new + update * before
    kept = nn.CMulTable()([update, nn.CSubTable()([nn.Identity()(before), new])])
    after = nn.CAddTable()([nn.Identity()(new), kept])
    cell = in_float(nn.gModule([x, before], [after]), weight)
    return in_float(nn.Sequencer(nn.Recurrence(cell, hidden, 1)), weight)
