"""Ops that reduce, order and search along dimensions, as ONNX nodes."""

from __future__ import annotations

import math

from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]


def reduced(call: Call, op_type: str, name: str) -> str:
    dims = call.dims()
    keep = int(bool(call.node.arguments.get("keepdim")))
    if dims is None:
        return call.add(op_type, name, keepdims=keep)
    return call.add(op_type, name, call.ints(dims), keepdims=keep)


def reduction(op_type: str) -> Row:
    return lambda call: reduced(call, op_type, call.as_type("input", call.output.dtype))


def truth(op_type: str) -> Row:
    """any and all."""

    def row(call: Call) -> str:
        flags = call.as_type("input", "bool")
        numbers = call.cast(flags, "bool", "int32")
        return call.cast(reduced(call, op_type, numbers), "int32", call.output.dtype)

    return row


def count_nonzero(call: Call) -> str:
    flags = call.cast(call.as_type("input", "bool"), "bool", "int64")
    dims = call.dims()
    given = () if dims is None else (call.ints(dims),)
    return call.add("ReduceSum", flags, *given, keepdims=0)


def elements(call: Call) -> int:
    """How many are reduced to one."""
    shape, dims = call.value().shape, call.dims()
    return math.prod(call.all_fixed(shape if dims is None else [shape[dim] for dim in dims]))


def variance(call: Call) -> str:
    unbiased = call["unbiased"]
    correction = call["correction"] if unbiased is None else int(unbiased)
    name, dims = call.as_type("input", call.output.dtype), call.dims()
    given = () if dims is None else (call.ints(dims),)
    mean = call.add("ReduceMean", name, *given, keepdims=1)
    distance = call.add("Sub", name, mean)
    squares = call.add("Mul", distance, distance)
    keep = int(bool(call["keepdim"]))
    result = call.add("ReduceMean", squares, *given, keepdims=keep)
    count = elements(call) if correction else 1
    return (
        call.add("Mul", result, call.number(count / (count - correction))) if correction else result
    )


def norm(call: Call) -> str:
    p, name = float(call["p"]), call.as_type("input", call.output.dtype)
    plain = {1.0: "ReduceL1", 2.0: "ReduceL2"}
    if p in plain:
        return reduced(call, plain[p], name)
    size = call.add("Abs", name)
    if math.isinf(p):
        return reduced(call, "ReduceMax" if p > 0 else "ReduceMin", size)
    if p == 0:
        raise call.refuse("the number of elements that are not 0")
    total = reduced(call, "ReduceSum", call.add("Pow", size, call.number(p)))
    return call.add("Pow", total, call.number(1 / p))


def extreme_with_indices(reduce: str, arg: str) -> Row:
    def row(call: Call) -> list[str]:
        dim, keep = call.dim(), int(bool(call["keepdim"]))
        name = call.name()
        values = call.add(reduce, name, call.ints([dim]), keepdims=keep)
        indices = call.add(arg, name, axis=dim, keepdims=keep) if call.is_used(1) else ""
        return [values, indices]

    return row


def index_of_extreme(op_type: str) -> Row:
    def row(call: Call) -> str:
        name = call.name()
        if call["dim"] is None:
            flat = call.add("Reshape", name, call.ints([-1]))
            return call.add(op_type, flat, axis=0, keepdims=0)
        return call.add(op_type, name, axis=call.dim(), keepdims=int(bool(call["keepdim"])))

    return row


def top(call: Call, count: str, largest: bool, ordered: bool = True) -> list[str]:
    given = {"axis": call.dim(), "largest": int(largest), "sorted": int(ordered)}
    return call.add("TopK", call.name(), count, outputs=2, **given)


def topk(call: Call) -> list[str]:
    return top(call, call.builder.size(call["k"]), call["largest"])


def sort(call: Call) -> list[str]:
    count = call.builder.size(call.value().shape[call.dim()])
    return top(call, count, call["descending"])


def at_rank(call: Call, rank: int) -> list[str]:
    """Values and indices at a place in ascending order, counted from 0."""
    dim = call.dim()
    ordered = top(call, call.ints([rank + 1]), largest=False)
    last = [call.sliced(name, dim, rank, rank + 1) for name in ordered]
    return last if call["keepdim"] else [call.squeezed(name, dim) for name in last]


def median(call: Call) -> list[str]:
    return at_rank(call, (call.fixed(call.value().shape[call.dim()]) - 1) // 2)


def cumulative_sum(call: Call) -> str:
    dim = call.builder.constant(call.dim())
    return call.add("CumSum", call.as_type("input", call.output.dtype), dim)


def softmax(op_type: str) -> Row:
    return lambda call: call.add(op_type, call.name(), axis=call.dim())


def sum_to(call: Call) -> str:
    source, target = call.value().shape, call.output.shape
    missing = len(source) - len(target)
    name = call.name()
    if missing:
        name = call.add("ReduceSum", name, call.ints(range(missing)), keepdims=0)
    kept = zip(source[missing:], target, strict=True)
    dims = [dim for dim, (mine, size) in enumerate(kept) if size == 1 and mine != 1]
    return call.add("ReduceSum", name, call.ints(dims), keepdims=1) if dims else name


ROWS: Rows = {
    "sum": reduction("ReduceSum"),
    "mean": reduction("ReduceMean"),
    "prod": reduction("ReduceProd"),
    "amax": reduction("ReduceMax"),
    "amin": reduction("ReduceMin"),
    "logsumexp": reduction("ReduceLogSumExp"),
    "any": truth("ReduceMax"),
    "all": truth("ReduceMin"),
    "count_nonzero": count_nonzero,
    "var": variance,
    "std": lambda call: call.add("Sqrt", variance(call)),
    "norm": norm,
    "max_with_indices": extreme_with_indices("ReduceMax", "ArgMax"),
    "min_with_indices": extreme_with_indices("ReduceMin", "ArgMin"),
    "argmax": index_of_extreme("ArgMax"),
    "argmin": index_of_extreme("ArgMin"),
    "topk": topk,
    "sort": sort,
    "kthvalue": lambda call: at_rank(call, call.fixed(call["k"]) - 1),
    "median_with_indices": median,
    "cumsum": cumulative_sum,
    "softmax": softmax("Softmax"),
    "log_softmax": softmax("LogSoftmax"),
    "sum_to": sum_to,
}
