"""Ops that read and write at indices, as ONNX nodes."""

from __future__ import annotations

from typing import Any

from relume.converters.graph import Value
from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS"]


def indices(call: Call, name: str = "index") -> str:
    """Indices as ONNX takes them."""
    value = call.value(name)
    is_index = str(value.dtype).removeprefix("relume.") in ("int64", "int32")
    return call.name(name) if is_index else call.as_type(name, "int64")


def index_select(call: Call) -> str:
    return call.add("Gather", call.name(), indices(call), axis=call.dim())


def embedding(call: Call) -> str:
    return call.add("Gather", call.name("weight"), indices(call, "indices"), axis=0)


def gather(call: Call) -> str:
    return call.add("GatherElements", call.name(), indices(call), axis=call.dim())


def scattering(reduction: str) -> Row:
    """Elements of `src` put, or added, at indices along a dimension."""

    def row(call: Call) -> str:
        dtype, index = call.output.dtype, indices(call)
        source = call.as_type("src", dtype)
        if not isinstance(call["src"], Value):
            source = call.add("Expand", source, call.add("Shape", index))
        given: dict[str, Any] = {"axis": call.dim(), "reduction": reduction}
        return call.add("ScatterElements", call.as_type("input", dtype), index, source, **given)

    return row


def along_dim(reduction: str) -> Row:
    """Slices of `source` put, or added, at indices of a dimension."""

    def row(call: Call) -> str:
        dim, source = call.dim(), call.as_type("source", call.output.dtype)
        if call.node.arguments.get("alpha", 1) != 1:
            source = call.add("Mul", source, call.number(call["alpha"]))
        rank = call.value().rank
        index = indices(call)
        if call.value("index").rank == 0:
            index = call.unsqueezed(index, 0)
        others = [place for place in range(rank) if place != dim]
        if others:
            index = call.unsqueezed(index, *others)
            index = call.add("Expand", index, call.add("Shape", source))
        given: dict[str, Any] = {"axis": dim, "reduction": reduction}
        return call.add("ScatterElements", call.name(), index, source, **given)

    return row


def index_fill(call: Call) -> str:
    dim, value = call.dim(), call.value()
    index = call.value("index")
    shape = [*value.shape[:dim], *index.shape, *value.shape[dim + 1 :]]
    filler = call.add("Expand", call.as_type("value", call.output.dtype), call.builder.sizes(shape))
    others = [place for place in range(value.rank) if place != dim]
    places = indices(call)
    if others:
        places = call.add("Expand", call.unsqueezed(places, *others), call.builder.sizes(shape))
    return call.add("ScatterElements", call.name(), places, filler, axis=dim)


def masked_select(call: Call) -> str:
    value, mask = call.value(), call.value("mask")
    name, condition = call.name(), call.as_type("mask", "bool")
    if mask.shape != value.shape:
        condition = call.add("Expand", condition, call.add("Shape", name))
    flat = [call.add("Reshape", part, call.ints([-1])) for part in (name, condition)]
    return call.add("Compress", *flat, axis=0)


def nonzero(call: Call) -> str:
    return call.add("Transpose", call.add("NonZero", call.name()), perm=[1, 0])


def index(call: Call) -> str:
    """x[indices]: of one dimension, or of the first ones."""
    given = call["indices"]
    places = [place for place, element in enumerate(given) if element is not None]
    if len(places) == 1:
        element = given[places[0]]
        name = call.builder.name_of(element)
        kind = str(element.dtype).removeprefix("relume.")
        if kind not in ("bool", "uint8"):
            return call.add("Gather", call.name(), name, axis=places[0])
        if element.rank == 1:
            mask = call.cast(name, element.dtype, "bool")
            return call.add("Compress", call.name(), mask, axis=places[0])
        raise call.refuse("a mask of several dimensions")
    if places != list(range(len(places))):
        raise call.refuse("indices of dimensions that are not the first ones")
    columns = []
    for element in given[: len(places)]:
        name = call.builder.name_of(element)
        name = call.add("Expand", name, call.builder.sizes(call.output.shape[: element.rank]))
        columns.append(call.unsqueezed(name, element.rank))
    joined = call.add("Concat", *columns, axis=-1)
    return call.add("GatherND", call.name(), joined)


def take(call: Call) -> str:
    return call.add(
        "Gather", call.add("Reshape", call.name(), call.ints([-1])), indices(call), axis=0
    )


def one_hot(call: Call) -> str:
    classes = call.ints([call.fixed(call["num_classes"])])
    values = call.builder.constant([0, 1], call.output.dtype)
    return call.add("OneHot", indices(call, "input"), classes, values, axis=-1)


ROWS: Rows = {
    "index_select": index_select,
    "embedding": embedding,
    "gather": gather,
    "scatter": scattering("none"),
    "scatter_add": scattering("add"),
    "index_add": along_dim("add"),
    "index_copy": along_dim("none"),
    "index_fill": index_fill,
    "masked_select": masked_select,
    "nonzero": nonzero,
    "index": index,
    "take": take,
    "one_hot": one_hot,
}
