"""Products of vectors and matrices, as ONNX nodes."""

from __future__ import annotations

from typing import Any

from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]


def linear(call: Call) -> str:
    """input * weight' + bias."""
    value, weight, bias = call.value(), call.name("weight"), call.name("bias")
    if value.rank == 2:
        given = (bias,) if bias else ()
        return call.add("Gemm", call.name(), weight, *given, transB=1)
    transposed = call.add("Transpose", weight, perm=[1, 0])
    product = call.add("MatMul", call.name(), transposed)
    return call.add("Add", product, bias) if bias else product


def product(second: str) -> Row:
    return lambda call: call.add("MatMul", call.name(), call.name(second))


def outer(call: Call) -> str:
    column, row = call.unsqueezed(call.name(), 1), call.unsqueezed(call.name("vec2"), 0)
    return call.add("Mul", column, row)


def scaled(call: Call, name: str, factor: str) -> str:
    number = call[factor]
    return name if number == 1 else call.add("Mul", name, call.number(number))


def addmm(call: Call) -> str:
    factors: dict[str, Any] = {"alpha": float(call["alpha"]), "beta": float(call["beta"])}
    return call.add("Gemm", call.name("mat1"), call.name("mat2"), call.name(), **factors)


def product_and_sum(first: str, second: str) -> Row:
    """beta * input + alpha * first * second."""

    def row(call: Call) -> str:
        result = scaled(call, call.add("MatMul", call.name(first), call.name(second)), "alpha")
        return call.add("Add", scaled(call, call.name(), "beta"), result)

    return row


def addr(call: Call) -> str:
    column = call.unsqueezed(call.name("vec1"), 1)
    product = call.add("Mul", column, call.unsqueezed(call.name("vec2"), 0))
    return call.add("Add", scaled(call, call.name(), "beta"), scaled(call, product, "alpha"))


def cdist(call: Call) -> str:
    """Distances of every row to every other."""
    first = call.unsqueezed(call.name(), -2)
    second = call.unsqueezed(call.name("other"), -3)
    difference = call.add("Sub", first, second)
    p = float(call["p"])
    if p in (1.0, 2.0):
        op_type = "ReduceL1" if p == 1 else "ReduceL2"
        return call.add(op_type, difference, call.ints([-1]), keepdims=0)
    powers = call.add("Pow", call.add("Abs", difference), call.number(p))
    total = call.add("ReduceSum", powers, call.ints([-1]), keepdims=0)
    return call.add("Pow", total, call.number(1 / p))


ROWS: Rows = {
    "linear": linear,
    "mm": product("mat2"),
    "bmm": product("mat2"),
    "matmul": product("other"),
    "dot": product("other"),
    "mv": product("vec"),
    "outer": outer,
    "addmm": addmm,
    "addmv": product_and_sum("mat", "vec"),
    "baddbmm": product_and_sum("batch1", "batch2"),
    "addr": addr,
    "cdist": cdist,
}
