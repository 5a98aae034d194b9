"""Ops that work on each element, as ONNX nodes."""

from __future__ import annotations

import math
from typing import Any

from relume.converters.graph import Value
from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]

# Ops of one tensor that are one node.
UNARY = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "hardswish": "HardSwish",
    "log": "Log",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
# Ops of one tensor that are one node with attributes: attribute -> argument, or a number.
WITH_ATTRIBUTES: dict[str, tuple[str, dict[str, str | float]]] = {
    "elu": ("Elu", {"alpha": "alpha"}),
    "leaky_relu": ("LeakyRelu", {"alpha": "negative_slope"}),
    "hardsigmoid": ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
    "hardshrink": ("Shrink", {"lambd": "lambd", "bias": 0.0}),
    "softshrink": ("Shrink", {"lambd": "lambd", "bias": "lambd"}),
}
BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min", "fmax": "Max", "fmin": "Min"}
COMPARISONS = {
    "eq": "Equal",
    "gt": "Greater",
    "lt": "Less",
    "ge": "GreaterOrEqual",
    "le": "LessOrEqual",
}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}


def floating(call: Call) -> str:
    """The input in the type of the output: functions of whole numbers give floating ones."""
    return call.as_type("input", call.output.dtype)


def unary(op_type: str) -> Row:
    return lambda call: call.add(op_type, floating(call))


def with_attributes(op_type: str, arguments: dict[str, str | float]) -> Row:
    def row(call: Call) -> str:
        given: dict[str, Any] = {
            name: float(call[source]) if isinstance(source, str) else source
            for name, source in arguments.items()
        }
        return call.add(op_type, floating(call), **given)

    return row


def operands(call: Call) -> tuple[str, str]:
    dtype = call.output.dtype
    return call.as_type("input", dtype), call.as_type("other", dtype)


def binary(op_type: str) -> Row:
    return lambda call: call.add(op_type, *operands(call))


def scaled_binary(op_type: str) -> Row:
    """add and sub, with a factor for the second operand."""

    def row(call: Call) -> str:
        first, second = operands(call)
        if call["alpha"] != 1:
            second = call.add("Mul", second, call.number(call["alpha"]))
        return call.add(op_type, first, second)

    return row


def compared(call: Call, op_type: str) -> str:
    """A comparison in the type of its first tensor, as booleans."""
    tensors = [call[name] for name in ("input", "other") if isinstance(call[name], Value)]
    types = [tensor.dtype for tensor in tensors]
    dtype = next((t for t in types if "float" in str(t)), types[0])
    others = [call[name] for name in ("input", "other") if not isinstance(call[name], Value)]
    if "float" not in str(dtype) and any(isinstance(other, float) for other in others):
        dtype = "float32"
    return call.add(op_type, call.as_type("input", dtype), call.as_type("other", dtype))


def comparison(op_type: str) -> Row:
    return lambda call: call.cast(compared(call, op_type), "bool", call.output.dtype)


def not_equal(call: Call) -> str:
    return call.cast(call.add("Not", compared(call, "Equal")), "bool", call.output.dtype)


def logical(op_type: str) -> Row:
    def row(call: Call) -> str:
        given = (call.as_type("input", "bool"), call.as_type("other", "bool"))
        return call.cast(call.add(op_type, *given), "bool", call.output.dtype)

    return row


def logical_not(call: Call) -> str:
    inverted = call.add("Not", call.as_type("input", "bool"))
    return call.cast(inverted, "bool", call.output.dtype)


def divide(call: Call) -> str:
    mode = call.node.arguments.get("rounding_mode")
    if mode is None:
        return call.add("Div", *operands(call))
    return rounded_quotient(call, mode)


def rounded_quotient(call: Call, mode: str) -> str:
    first, second = operands(call)
    is_whole = "float" not in str(call.output.dtype)
    if is_whole:  # ONNX divides whole numbers towards zero
        if mode == "trunc":
            return call.add("Div", first, second)
        remainder = call.add("Mod", first, second)  # has the sign of the divisor
        return call.add("Div", call.add("Sub", first, remainder), second)
    quotient = call.add("Div", first, second)
    return call.add("Floor", quotient) if mode == "floor" else truncated(call, quotient)


def truncated(call: Call, name: str) -> str:
    return call.add("Mul", call.add("Sign", name), call.add("Floor", call.add("Abs", name)))


def remainder(call: Call) -> str:
    first, second = operands(call)
    if "float" not in str(call.output.dtype):
        return call.add("Mod", first, second)
    quotient = call.add("Floor", call.add("Div", first, second))
    return call.add("Sub", first, call.add("Mul", quotient, second))


def power(call: Call) -> str:
    if call["exponent"] == 2:
        return squared(call)
    dtype = call.output.dtype
    return call.add("Pow", call.as_type("input", dtype), call.as_type("exponent", dtype))


def squared(call: Call) -> str:
    name = floating(call)
    return call.add("Mul", name, name)


def log_of(base: float) -> Row:
    def row(call: Call) -> str:
        return call.add("Mul", call.add("Log", floating(call)), call.number(1 / math.log(base)))

    return row


def clamp(call: Call) -> str:
    limits = [
        "" if call[name] is None else call.as_type(name, call.output.dtype)
        for name in ("min", "max")
    ]
    if all(not isinstance(call[name], Value) for name in ("min", "max")):
        return call.add("Clip", floating(call), *limits)
    name = floating(call)
    for op_type, limit in zip(("Max", "Min"), limits, strict=True):
        name = call.add(op_type, name, limit) if limit else name
    return name


def hardtanh(call: Call) -> str:
    limits = (call.number(call["min_val"]), call.number(call["max_val"]))
    return call.add("Clip", floating(call), *limits)


def threshold(call: Call) -> str:
    name = floating(call)
    if call["threshold"] == 0 == call["value"]:
        return call.add("Relu", name)
    is_above = call.add("Greater", name, call.number(call["threshold"]))
    return call.add("Where", is_above, name, call.number(call["value"]))


def softplus(call: Call) -> str:
    name, beta = floating(call), call["beta"]
    scaled = name if beta == 1 else call.add("Mul", name, call.number(beta))
    smooth = call.add("Softplus", scaled)
    if beta != 1:
        smooth = call.add("Div", smooth, call.number(beta))
    if call["threshold"] >= 20:  # from there on it is the identity in any precision
        return smooth
    is_above = call.add("Greater", scaled, call.number(call["threshold"]))
    return call.add("Where", is_above, name, smooth)


def logsigmoid(call: Call) -> str:
    return call.add("Neg", call.add("Softplus", call.add("Neg", floating(call))))


def silu(call: Call) -> str:
    name = floating(call)
    return call.add("Mul", name, call.add("Sigmoid", name))


def prelu(call: Call) -> str:
    weight, rank = call.value("weight"), call.value().rank
    slope = call.name("weight")
    if weight.numel == 1:
        slope = call.reshape(slope, weight.shape, [1])
    elif rank > 2:  # one slope per plane
        slope = call.unsqueezed(slope, *range(1, rank - 1))
    return call.add("PRelu", floating(call), slope)


def where(call: Call) -> str:
    dtype = call.output.dtype
    condition = call.as_type("condition", "bool")
    return call.add("Where", condition, call.as_type("input", dtype), call.as_type("other", dtype))


def masked_fill(call: Call) -> str:
    dtype = call.output.dtype
    mask = call.as_type("mask", "bool")
    return call.add("Where", mask, call.as_type("value", dtype), call.as_type("input", dtype))


def lerp(call: Call) -> str:
    dtype = call.output.dtype
    start = call.as_type("input", dtype)
    distance = call.add("Sub", call.as_type("end", dtype), start)
    return call.add("Add", start, call.add("Mul", distance, call.as_type("weight", dtype)))


def multiply_and_add(op_type: str) -> Row:
    """addcmul and addcdiv."""

    def row(call: Call) -> str:
        dtype = call.output.dtype
        term = call.add(op_type, call.as_type("tensor1", dtype), call.as_type("tensor2", dtype))
        if call["value"] != 1:
            term = call.add("Mul", term, call.number(call["value"]))
        return call.add("Add", call.as_type("input", dtype), term)

    return row


def composed(*op_types: str) -> Row:
    """One node after the other."""

    def row(call: Call) -> str:
        name = floating(call)
        for op_type in op_types:
            name = call.add(op_type, name)
        return name

    return row


def question(op_type: str) -> Row:
    """A question about each element: isnan, isinf."""

    def row(call: Call) -> str:
        value = call.value()
        dtype = value.dtype if "float" in str(value.dtype) else "float32"
        return call.cast(call.add(op_type, call.as_type("input", dtype)), "bool", call.output.dtype)

    return row


def atan2(call: Call) -> str:
    y, x = operands(call)
    zero = call.number(0)
    angle = call.add("Atan", call.add("Div", y, x))
    half_turn = call.add(
        "Where", call.add("Less", y, zero), call.number(-math.pi), call.number(math.pi)
    )
    turned = call.add("Add", angle, half_turn)
    result = call.add("Where", call.add("Less", x, zero), turned, angle)
    quarter = call.add("Mul", call.add("Sign", y), call.number(math.pi / 2))
    return call.add("Where", call.add("Equal", x, zero), quarter, result)


ROWS: Rows = {
    **{name: unary(op_type) for name, op_type in UNARY.items()},
    **{name: with_attributes(*row) for name, row in WITH_ATTRIBUTES.items()},
    **{name: binary(op_type) for name, op_type in BINARY.items()},
    **{name: comparison(op_type) for name, op_type in COMPARISONS.items()},
    **{name: logical(op_type) for name, op_type in LOGICAL.items()},
    "add": scaled_binary("Add"),
    "sub": scaled_binary("Sub"),
    "ne": not_equal,
    "logical_not": logical_not,
    "div": divide,
    "floor_divide": lambda call: rounded_quotient(call, "floor"),
    "fmod": lambda call: call.add("Mod", *operands(call), fmod=1),
    "remainder": remainder,
    "pow": power,
    "square": squared,
    "rsqrt": composed("Sqrt", "Reciprocal"),
    "round": unary("Round"),
    "trunc": lambda call: truncated(call, floating(call)),
    "frac": lambda call: call.add("Sub", floating(call), truncated(call, floating(call))),
    "log1p": lambda call: call.add("Log", call.add("Add", floating(call), call.number(1))),
    "expm1": lambda call: call.add("Sub", call.add("Exp", floating(call)), call.number(1)),
    "exp2": lambda call: call.add("Pow", call.number(2), floating(call)),
    "log2": log_of(2),
    "log10": log_of(10),
    "erfc": lambda call: call.add("Sub", call.number(1), call.add("Erf", floating(call))),
    "clamp": clamp,
    "hardtanh": hardtanh,
    "threshold": threshold,
    "softplus": softplus,
    "logsigmoid": logsigmoid,
    "silu": silu,
    "gelu": lambda call: call.add("Gelu", floating(call), approximate=call["approximate"]),
    "prelu": prelu,
    "where": where,
    "masked_fill": masked_fill,
    "lerp": lerp,
    "addcmul": multiply_and_add("Mul"),
    "addcdiv": multiply_and_add("Div"),
    "to_dtype": floating,
    "isnan": question("IsNaN"),
    "isinf": question("IsInf"),
    "atan2": atan2,
}
