"""Ops that arrange, join, cut and repeat elements, as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume.converters.graph import Size, Value
from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]

PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def reshape(call: Call) -> str:
    source, target = call.value().shape, call.output.shape
    return call.name() if source == target else call.reshape(call.name(), source, target)


def squeeze(call: Call) -> str:
    value = call.value()
    dims = call.dims()
    if dims is None:
        dims = [dim for dim, size in enumerate(value.shape) if size == 1]
    dims = [dim for dim in dims if value.rank and value.shape[dim] == 1]
    return call.squeezed(call.name(), *dims) if dims else call.name()


def unsqueeze(call: Call) -> str:
    return call.unsqueezed(call.name(), call.dim(rank=call.value().rank + 1))


def permuted(call: Call, dims: list[int]) -> str:
    if dims == sorted(dims):
        return call.name()
    return call.add("Transpose", call.name(), perm=dims)


def permute(call: Call) -> str:
    return permuted(call, call.dims("dims") or [])


def transpose(call: Call) -> str:
    dims = list(range(call.value().rank))
    first, second = call.dim("dim0"), call.dim("dim1")
    dims[first], dims[second] = dims[second], dims[first]
    return permuted(call, dims)


def transpose_matrix(call: Call) -> str:
    return permuted(call, list(range(call.value().rank))[::-1])


def expand(call: Call) -> str:
    value, target = call.value(), call.output.shape
    if value.shape == target:
        return call.name()
    missing = len(target) - value.rank
    # 1 keeps the size that the input has, also one for which there is no formula.
    own = (*[1] * missing, *value.shape)
    sizes = [1 if mine == size else size for mine, size in zip(own, target, strict=True)]
    return call.add("Expand", call.name(), call.builder.sizes(sizes))


def stop_of(start: Any, length: Any) -> Any:
    """start + length, where either may be free, or both with the same axes."""
    if isinstance(start, Size) and isinstance(length, Size):
        offset, value = start.offset + length.offset, int(start) + int(length)
        return Size(start.axes, start.scale + length.scale, offset, value)
    if isinstance(length, Size):
        return Size(length.axes, length.scale, length.offset + int(start), int(length) + int(start))
    if isinstance(start, Size):
        return Size(start.axes, start.scale, start.offset + length, int(start) + length)
    return start + length


def narrow(call: Call) -> str:
    dim, start, length = call.dim(), call["start"], call["length"]
    if length == call.value().shape[dim]:
        return call.name()
    both = isinstance(start, Size) and isinstance(length, Size)
    if both and start.axes != length.axes:
        call.fixed(start)
    if int(start) < 0:
        raise call.refuse("a start that is counted from the end")
    return call.sliced(call.name(), dim, start, stop_of(start, length))


def slice_(call: Call) -> str:
    start = 0 if call["start"] is None else call["start"]
    stop = np.iinfo(np.int64).max if call["stop"] is None else call["stop"]
    return call.sliced(call.name(), call.dim(), start, stop, call.fixed(call["step"]))


def select(call: Call) -> str:
    index = call["index"]
    if isinstance(index, Size):
        index = call.squeezed(call.builder.size(index), 0)
    else:
        index = call.builder.constant(index)
    return call.add("Gather", call.name(), index, axis=call.dim())


def split(call: Call) -> list[str]:
    dim = call.dim()
    sizes = [output.shape[dim] for output in call.node.outputs]
    if len(sizes) == 1:
        return [call.name()]
    return call.add("Split", call.name(), call.builder.sizes(sizes), axis=dim, outputs=len(sizes))


def unbind(call: Call) -> list[str]:
    dim = call.dim()
    count = len(call.node.outputs)
    indices = (call.builder.constant(index) for index in range(count))
    return [call.add("Gather", call.name(), index, axis=dim) for index in indices]


def joined(call: Call) -> list[str]:
    return [call.converted(tensor, call.output.dtype) for tensor in call["tensors"]]


def cat(call: Call) -> str:
    tensors: list[Value] = call["tensors"]
    kept = [tensor for tensor in tensors if tensor.shape != (0,)] or tensors
    names = [call.converted(tensor, call.output.dtype) for tensor in kept]
    if len(names) == 1:
        return names[0]
    return call.add("Concat", *names, axis=call.dim(rank=call.output.rank))


def stack(call: Call) -> str:
    dim = call.dim(rank=call.output.rank)
    names = [call.unsqueezed(name, dim) for name in joined(call)]
    return names[0] if len(names) == 1 else call.add("Concat", *names, axis=dim)


def pad(call: Call) -> str:
    rank, widths = call.value().rank, call.all_fixed(call["pad"])
    before, after = [0] * rank, [0] * rank
    for number in range(len(widths) // 2):  # from the last dimension on
        before[rank - 1 - number] = widths[2 * number]
        after[rank - 1 - number] = widths[2 * number + 1]
    mode = PAD_MODES.get(call["mode"])
    if mode is None:
        raise call.refuse(f"mode {call['mode']!r}")
    name = call.name()
    if not any(before + after):
        return name
    given = (call.number(call["value"]),) if mode == "constant" else ()
    return call.add("Pad", name, call.ints(before + after), *given, mode=mode)


def flip(call: Call) -> str:
    dims = call.dims("dims") or []
    least = np.iinfo(np.int64).min
    return call.add(
        "Slice",
        call.name(),
        call.ints([-1] * len(dims)),
        call.ints([least] * len(dims)),
        call.ints(dims),
        call.ints([-1] * len(dims)),
    )


def roll(call: Call) -> str:
    name, value = call.name(), call.value()
    dims = call.dims("dims")
    if dims is None:
        raise call.refuse("without dimensions")
    for dim, shift in zip(dims, call.all_fixed(call["shifts"]), strict=True):
        size = call.fixed(value.shape[dim])
        cut = -shift % max(size, 1)
        if cut:
            parts = [call.sliced(name, dim, cut, size), call.sliced(name, dim, 0, cut)]
            name = call.add("Concat", *parts, axis=dim)
    return name


def repeat(call: Call) -> str:
    name, value, counts = call.name(), call.value(), call["repeats"]
    missing = len(counts) - value.rank
    if missing:
        name = call.unsqueezed(name, *range(missing))
    return call.add("Tile", name, call.builder.sizes(counts))


def unfold(call: Call) -> str:
    """Windows along a dimension, side by side as a new last one."""
    dim, rank = call.dim("dimension"), call.value().rank
    size, step = call.fixed(call["size"]), call.fixed(call["step"])
    length = call.value().shape[dim]
    if isinstance(length, Size):
        last = stop_of(-size + 1, length)
        limit = call.squeezed(call.builder.size(last), 0)
        starts = call.add("Range", call.builder.constant(0), limit, call.builder.constant(step))
        within = call.builder.constant(np.arange(size)[None])
        windows = call.add("Add", call.unsqueezed(starts, 1), within)
    else:
        starts = np.arange(0, length - size + 1, step)[:, None]
        windows = call.builder.constant(starts + np.arange(size))
    gathered = call.add("Gather", call.name(), windows, axis=dim)
    order = [place for place in range(rank + 1) if place != dim + 1]
    return call.add("Transpose", gathered, perm=[*order, dim + 1])


def select_scatter(call: Call) -> str:
    dim = call.dim()
    source = call.unsqueezed(call.name("src"), dim)
    index = call["index"]
    return replaced(call, dim, index, stop_of(index, 1), source)


def slice_scatter(call: Call) -> str:
    if call["step"] != 1:
        raise call.refuse("with a step")
    start, end = call["start"], call["end"]
    return replaced(call, call.dim(), start or 0, end, call.name("src"))


def replaced(call: Call, dim: int, start: Any, stop: Any, source: str) -> str:
    """The input with a part along a dimension replaced."""
    name, size = call.name(), call.value().shape[dim]
    parts = []
    if start != 0:
        parts.append(call.sliced(name, dim, 0, start))
    parts.append(source)
    if stop is not None and stop != size:
        parts.append(call.sliced(name, dim, stop, size))
    return parts[0] if len(parts) == 1 else call.add("Concat", *parts, axis=dim)


def triangle(upper: int) -> Row:
    def row(call: Call) -> str:
        diagonal = call.builder.constant(call["diagonal"])
        return call.add("Trilu", call.name(), diagonal, upper=upper)

    return row


def filled(value: Any) -> Row:
    """A new tensor of one value; the name of an argument, or the value."""

    def row(call: Call) -> str:
        number = call[value] if isinstance(value, str) else value
        name = call.number(number)
        if not call.output.rank:
            return name
        return call.add("Expand", name, call.builder.sizes(call.output.shape))

    return row


def arange(call: Call) -> str:
    if not any(isinstance(call[name], Size) for name in ("start", "end", "step")):
        values = np.arange(call["start"], call["end"], call["step"])
        return call.builder.constant(values, call.output.dtype)
    bounds = []
    for name in ("start", "end", "step"):
        if isinstance(call[name], Size):
            bound = call.squeezed(call.builder.size(call[name]), 0)
            bounds.append(call.cast(bound, "int64", call.output.dtype))
        else:
            bounds.append(call.number(call[name]))
    return call.add("Range", *bounds)


ROWS: Rows = {
    **dict.fromkeys(("reshape", "view", "flatten"), reshape),
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    "permute": permute,
    "transpose": transpose,
    "t": transpose_matrix,
    "expand": expand,
    "narrow": narrow,
    "slice": slice_,
    "select": select,
    "split": split,
    "chunk": split,
    "unbind": unbind,
    "cat": cat,
    "stack": stack,
    "pad": pad,
    "flip": flip,
    "roll": roll,
    "repeat": repeat,
    "unfold": unfold,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "tril": triangle(0),
    "triu": triangle(1),
    "arange": arange,
    "full": filled("fill_value"),
    "full_like": filled("fill_value"),
    **dict.fromkeys(("zeros", "zeros_like", "empty", "empty_like"), filled(0)),
    **dict.fromkeys(("ones", "ones_like"), filled(1)),
}
