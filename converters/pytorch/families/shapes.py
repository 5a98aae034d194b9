"""Layers that move elements around, pick, mark or make them."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.fields import given, numbers, place
from relume.converters.pytorch.layers import Call, Cannot
from relume.converters.pytorch.rules import rule
from relume.legacy_nn import nested
from relume.legacy_nn.types import dtype_of, sizes_of


def dims_of(value: Any) -> dict[str, int]:
    """How many dimensions a sample has, where a layer says so."""
    return {} if value is None else {"sample_dims": int(value)}


def shape_arguments(sizes: tuple[int, ...]) -> dict[str, int]:
    return {f"size{i}": n for i, n in enumerate(sizes)}


@rule("nn.Reshape")
def reshape(layer: Any, around: Any) -> Call:
    shape = shape_arguments(numbers(layer.size))
    batch = given(batch=None if layer.batchMode is None else bool(layer.batchMode))
    return Call("Reshape", {**shape, **batch}, len(shape))


@rule("nn.View")
def view(layer: Any, around: Any) -> Call:
    shape = shape_arguments(numbers(layer.size))
    return Call("View", {**shape, **dims_of(layer.numInputDims)}, len(shape))


@rule("nn.Transpose")
def transpose(layer: Any, around: Any) -> Call:
    pairs = [tuple(place(d) for d in sizes_of(p)) for p in nested.elements(layer.permutations)]
    named = {f"pair{i}": p for i, p in enumerate(pairs)}
    code = None
    if layer.numInputDims is None:
        code = "{0}" + "".join(f".transpose({a}, {b})" for a, b in pairs)
    return Call("Transpose", {**named, **dims_of(layer.numInputDims)}, len(named), code=code)


@rule("nn.Contiguous")
def contiguous(layer: Any, around: Any) -> Call:
    return Call("Contiguous", code="{0}.contiguous()")


@rule("nn.Squeeze")
def squeeze(layer: Any, around: Any) -> Call:
    arguments = given(dim=None if layer.dim is None else place(layer.dim))
    return Call("Squeeze", {**arguments, **dims_of(layer.numInputDims)})


@rule("nn.Unsqueeze")
def unsqueeze(layer: Any, around: Any) -> Call:
    code = f"{{0}}.unsqueeze({place(layer.pos)})" if layer.numInputDims is None else None
    return Call("Unsqueeze", {"dim": place(layer.pos), **dims_of(layer.numInputDims)}, 1, code=code)


@rule("nn.Replicate")
def replicate(layer: Any, around: Any) -> Call:
    arguments = {"count": int(layer.nfeatures), "dim": place(layer.dim)}
    return Call("Replicate", {**arguments, **dims_of(layer.ndim)}, 2)


@rule("nn.Select")
def select(layer: Any, around: Any) -> Call:
    dim, index = place(layer.dimension), place(layer.index)
    return Call("Select", {"dim": dim, "index": index}, 2)


@rule("nn.Narrow")
def narrow(layer: Any, around: Any) -> Call:
    length = int(layer.length)
    if layer.index < 0:  # as Torch7 does: all but the last `length`
        start, end = 0, -length
    else:
        start = int(layer.index) - 1
        end = start + length if length > 0 else length + 1
    bounds = {"start": start, "end": end if end != 0 or length > 0 else None}
    return Call("Narrow", {"dim": place(layer.dimension), **bounds}, 3)


@rule("nn.Padding")
def padding(layer: Any, around: Any) -> Call:
    count = int(layer.pad)
    arguments = {"dim": place(layer.dim), "count": abs(count), "at_end": count > 0}
    options = given(
        offset=int(layer.index) - 1 or None,
        value=float(layer.value) or None,
        sample_dims=int(layer.nInputDim) if layer.nInputDim else None,
    )
    return Call("Padding", {**arguments, **options}, 2)


@rule("nn.Collapse")
def collapse(layer: Any, around: Any) -> Call:
    return Call("Collapse", {"sample_dims": int(layer.nInputDim)}, 1)


@rule("nn.Sum", "nn.Mean")
def total(layer: Any, around: Any) -> Call:
    options = given(
        average=True if layer.sizeAverage else None, keepdim=None if layer.squeeze else True
    )
    arguments = {"dim": place(layer.dimension), **dims_of(layer.nInputDims)}
    return Call("Sum", {**arguments, **options}, 1)


@rule("nn.Max", "nn.Min")
def extreme(layer: Any, around: Any) -> Call:
    _, _, name = layer.torch_typename.rpartition(".")
    return Call(name, {"dim": place(layer.dimension), **dims_of(layer.nInputDims)}, 1)


@rule("nn.Copy")
def copy(layer: Any, around: Any) -> Call:
    output = layer.__dict__.get("output")
    dtype = getattr(output, "dtype", None)
    source = getattr(layer.__dict__.get("gradInput"), "dtype", None)
    if dtype is None or dtype == source:
        return Call("nn.Identity", code="{0}")
    return Call("ToType", {"name": str(dtype).rpartition(".")[2]}, 1)


@rule("nn.Convert")
def convert(layer: Any, around: Any) -> Call:
    source, target = layer.inputShape, layer.outputShape
    typed = Call("ToType", {"name": str(dtype_of(layer._type)).rpartition(".")[2]}, 1)
    if source == target:
        return typed
    batch = int(layer.inputBatchDim) - 1
    if layer.transposition:
        order = tuple(source.index(letter) for letter in target)
        arguments = {"order": order, "batch_dim": batch, "new_batch_dim": target.index("b")}
        moved = Call("Permute", arguments)
    elif target == "b":
        moved = Call("OnePerSample", {"batch_dim": batch}, 1)
    else:
        moved = Call("FlattenSamples", {"dims": int(layer.nInputDim), "batch_dim": batch})
    return Call("nn.Sequential", {"0": typed, "1": moved}, 2)


@rule("nn.OneHot", "OneHot")
def one_hot(layer: Any, around: Any) -> Call:
    size = layer.__dict__.get("outputSize")
    if size is None:
        raise Cannot("the file does not say how many classes there are")
    return Call("OneHot", {"size": int(size)}, 1)
