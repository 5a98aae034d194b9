"""Normalisation, resampling and recurrent layers, as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume.converters.graph import Value
from relume.converters.graph.rolling import SCAN
from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]


# ---- normalisation ----


def batch_norm(call: Call) -> list[str]:
    value = call.value()
    if call["training"] or call["running_mean"] is None:
        return [normalized_by_itself(call), "", ""]
    planes = call.fixed(value.shape[1])
    defaults = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
    given = [
        call.name(name) or call.builder.constant(np.full(planes, default), value.dtype)
        for name, default in defaults.items()
    ]
    return [call.add("BatchNormalization", call.name(), *given, epsilon=float(call["eps"])), "", ""]


def normalized_by_itself(call: Call) -> str:
    """Every plane brought to mean 0 and variance 1 by its own statistics."""
    value, name = call.value(), call.name()
    others = [place for place in range(value.rank) if place != 1]
    dims = call.ints(others)
    distance = call.add("Sub", name, call.add("ReduceMean", name, dims, keepdims=1))
    squares = call.add("Mul", distance, distance)
    spread = call.add("ReduceMean", squares, dims, keepdims=1)
    deviation = call.add("Sqrt", call.add("Add", spread, call.number(call["eps"])))
    name = call.add("Div", distance, deviation)
    for argument, op_type in (("weight", "Mul"), ("bias", "Add")):
        if call[argument] is not None:
            parameter = call.name(argument)
            if value.rank > 2:
                parameter = call.unsqueezed(parameter, *range(1, value.rank - 1))
            name = call.add(op_type, name, parameter)
    return name


# ---- resampling ----

RESAMPLING: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest", "nearest_mode": "floor"},
    **{name: {"mode": "linear"} for name in ("linear", "bilinear", "trilinear")},
    "bicubic": {"mode": "cubic", "cubic_coeff_a": -0.75},
}


def resample(call: Call) -> str:
    kind = RESAMPLING.get(call["mode"])
    factors = (call["depth_factor"], call["height_factor"], call["width_factor"])
    if kind is None or call["antialias"] or any(factor is not None for factor in factors):
        raise call.refuse("anti-aliasing, factors, or exact nearest neighbours")
    if kind["mode"] == "nearest":
        positions = "asymmetric"
    else:
        positions = "align_corners" if call["align_corners"] else "half_pixel"
    size, rank = call["size"], call.value().rank
    return call.add(
        "Resize",
        call.name(),
        "",
        "",
        call.builder.sizes(size),
        axes=list(range(rank - len(size), rank)),
        coordinate_transformation_mode=positions,
        **kind,
    )


def upsample_nearest(call: Call) -> str:
    rank, scale = call.value().rank, float(call.fixed(call["scale"]))
    return call.add(
        "Resize",
        call.name(),
        "",
        call.builder.initializer(np.array([scale, scale], np.float32), "scales"),
        axes=[rank - 2, rank - 1],
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )


def grid_sample(call: Call) -> str:
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    return call.add(
        "GridSample",
        call.name(),
        call.name("grid"),
        mode=modes[call["mode"]],
        padding_mode=call["padding_mode"],
        align_corners=int(bool(call["align_corners"])),
    )


# ---- recurrent layers ----

# Where ONNX's gates stand in our weights: input, forget, write, output of an LSTM; reset,
# update, write of a GRU.
LSTM_GATES = (0, 3, 1, 2)
GRU_GATES = (1, 0, 2)


def gates_in_order(call: Call, argument: str, order: tuple[int, ...]) -> str:
    """A parameter with its gates in ONNX's order, for one direction."""
    value: Value = call[argument]
    if value.tensor is None:
        raise call.refuse("weights that are computed from the input")
    array = value.tensor.detach().numpy()
    rows = array.reshape(len(order), -1, *array.shape[1:])[list(order)].reshape(array.shape)
    typed = rows[None].astype(call.builder.numpy_type(value.dtype))
    key = ("gates", id(value), order)
    if key not in call.builder.cached:
        call.builder.cached[key] = call.builder.initializer(typed, value.name)
    return call.builder.cached[key]


def biases(call: Call, order: tuple[int, ...], hidden: int) -> str:
    parts = []
    for argument in ("bias_ih", "bias_hh"):
        if call[argument] is None:
            zeros = np.zeros((1, len(order) * hidden))
            parts.append(call.builder.constant(zeros, call.output.dtype))
        else:
            parts.append(gates_in_order(call, argument, order))
    return call.add("Concat", *parts, axis=1)


def recurrent(op_type: str, order: tuple[int, ...], **attributes: int) -> Row:
    """A layer over sequences of one length: rows (steps * batch, features) to rows."""

    def row(call: Call) -> list[str]:
        if "steps" not in call.node.arguments:
            raise call.refuse("sequences of different lengths")
        hidden = call.fixed(call.value("h0").shape[1])
        steps, batch = call["steps"], call["batch"]
        features = call.value().shape[1]
        sequence = call.reshape(call.name(), call.value().shape, (steps, batch, features))
        states = [call.unsqueezed(call.name("h0"), 0)]
        if op_type == "LSTM":
            states.append(call.unsqueezed(call.name("c0"), 0))
            if call.is_used(4):
                raise call.refuse("the cells of all steps")
        given: dict[str, Any] = dict(attributes)
        if op_type == "RNN":
            given["activations"] = ["Relu" if call["relu"] else "Tanh"]
        results = call.add(
            op_type,
            sequence,
            gates_in_order(call, "weight_ih", order),
            gates_in_order(call, "weight_hh", order),
            biases(call, order, hidden),
            "",
            *states,
            hidden_size=hidden,
            direction="reverse" if call["reverse"] else "forward",
            outputs=1 + len(states),
            **given,
        )
        output = call.reshape(call.squeezed(results[0], 1), (), call.output.shape)
        last = [call.squeezed(state, 0) for state in results[1:]]
        return [output, *last, *[""] * 4][: len(call.node.outputs)]

    return row


def sequence_gru(call: Call) -> list[str]:
    """nn.SeqGRU: (inputs + outputs) x (reset, update, write); the reset gate acts before the
    product."""
    weight, bias = call.value("weight"), call.value("bias")
    if weight.tensor is None or bias.tensor is None:
        raise call.refuse("weights that are computed from the input")
    hidden = call.fixed(call.value("h0").shape[1])
    kind = call.builder.numpy_type(weight.dtype)

    def ordered(array: np.ndarray) -> np.ndarray:
        """Gates as rows, in ONNX's order, for one direction."""
        gates = array.reshape(3, hidden, *array.shape[1:])
        return gates[list(GRU_GATES)].reshape(1, *array.shape).astype(kind)

    rows = weight.tensor.detach().numpy().T
    inputs = rows.shape[1] - hidden
    biases = np.concatenate([ordered(bias.tensor.detach().numpy()), np.zeros((1, 3 * hidden))], 1)
    output, last = call.add(
        "GRU",
        call.name(),
        call.builder.initializer(ordered(rows[:, :inputs]), f"{weight.name}.input"),
        call.builder.initializer(ordered(rows[:, inputs:]), f"{weight.name}.recurrent"),
        call.builder.initializer(biases.astype(kind), bias.name),
        "",
        call.unsqueezed(call.name("h0"), 0),
        hidden_size=hidden,
        linear_before_reset=0,
        outputs=2,
    )
    return [call.squeezed(output, 1), call.squeezed(last, 0)]


def scan(call: Call) -> list[str]:
    """A loop over the steps of sequences."""
    given = [
        call.builder.name_of(value) for name in ("states", "sequences") for value in call[name]
    ]
    names = call.add(
        "Scan",
        *given,
        body=call.builder.body(call["body"]),
        num_scan_inputs=len(call["sequences"]),
        outputs=len(call.node.outputs),
    )
    return [names] if isinstance(names, str) else names


ROWS: Rows = {
    "batch_norm": batch_norm,
    "resample": resample,
    "upsample_nearest2d": upsample_nearest,
    "grid_sample": grid_sample,
    "lstm_layer": recurrent("LSTM", LSTM_GATES),
    "gru_layer": recurrent("GRU", GRU_GATES, linear_before_reset=1),
    "rnn_layer": recurrent("RNN", (0,)),
    "seq_gru": sequence_gru,
    SCAN: scan,
}
