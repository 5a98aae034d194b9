"""Copies, casts, joining, indexing and sorting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..timing import timed

# Number of elements: rows and columns.
SHAPES = {"1e2": (10, 10), "1e4": (100, 100), "1e6": (1000, 1000), "1e7": (4000, 2500)}

STATEMENTS = {
    "transpose": "m.t().contiguous()",
    "transpose of float64": "double.t().contiguous()",
    "transpose of uint8": "bytes.t().contiguous()",
    "swap of two inner axes": "heads.transpose(1, 2).contiguous()",
    "channels last": "images.permute(0, 2, 3, 1).contiguous()",
    "channels first": "pictures.permute(0, 3, 1, 2).contiguous()",
    "part of the columns": "m[:, :-3].contiguous()",
    "every other column": "m[:, ::2].contiguous()",
    "an expanded column": "m[:, :1].expand(rows, columns).contiguous()",
    "clone": "m.clone()",
    "copy_": "m.copy_(n)",
    "fill_": "m.fill_(0.5)",
    "zeros": "lib.zeros(rows, columns)",
    "arange": "lib.arange(rows * columns)",
    "float32 to float64": "m.to(lib.float64)",
    "float64 to float32": "double.to(lib.float32)",
    "float32 to float16": "m.to(lib.float16)",
    "float16 to float32": "half.to(lib.float32)",
    "float32 to bfloat16": "m.to(lib.bfloat16)",
    "bfloat16 to float32": "brain.to(lib.float32)",
    "float32 to uint8": "m.to(lib.uint8)",
    "uint8 to float32": "bytes.to(lib.float32)",
    "float32 to int64": "m.to(lib.int64)",
    "cat of rows": "lib.cat([m, n])",
    "cat of columns": "lib.cat([m, n], 1)",
    "stack": "lib.stack([m, n])",
    "stack, last axis": "lib.stack([m, n], 2)",
    "repeat": "m.repeat(2, 2)",
    "flip": "m.flip([1])",
    "roll": "m.roll(3, 1)",
    "tril": "m.tril()",
    "where": "lib.where(mask, m, n)",
    "embedding": "embedding(places[0], m)",
    "index_select of rows": "m.index_select(0, some_rows)",
    "index_select of columns": "m.index_select(1, some_columns)",
    "m[rows]": "m[some_rows]",
    "index_add of rows": "m.index_add(0, some_rows, n)",
    "index_put, accumulating": "m.index_put([some_rows], n, True)",
    "gather along rows": "m.gather(1, places)",
    "gather along columns": "m.gather(0, row_places)",
    "scatter along rows": "m.scatter(1, places, n)",
    "scatter_add along rows": "m.scatter_add(1, places, n)",
    "take": "m.take(everywhere)",
    "masked_select": "m.masked_select(mask)",
    "m[mask]": "m[mask]",
    "nonzero": "mask.nonzero()",
    "sort of all": "m.view(-1).sort()",
    "sort of rows": "m.sort()",
    "sort of columns": "m.sort(0)",
    "topk of rows": "m.topk(10)",
    "topk of all": "m.view(-1).topk(10)",
}


def names(shape: tuple[int, int], lib: Any) -> Names:
    arrays = Arrays(lib)
    rows, columns = shape
    m = arrays.floats(rows, columns)
    return {
        "rows": rows,
        "columns": columns,
        "m": m,
        "n": arrays.floats(rows, columns),
        "double": m.to(lib.float64),
        "half": m.to(lib.float16),
        "brain": m.to(lib.bfloat16),
        "bytes": arrays.integers(256, rows, columns).to(lib.uint8),
        "heads": m.view(rows // 10, 5, 2, columns),
        "images": m.view(rows // 10, 10, columns // 5, 5),
        "pictures": m.view(rows // 10, columns // 5, 5, 10),
        "some_rows": arrays.integers(rows, rows),
        "some_columns": arrays.integers(columns, columns),
        "places": arrays.integers(min(rows, columns), rows, columns),
        "row_places": arrays.integers(rows, rows, columns),
        "everywhere": arrays.integers(rows * columns, rows, columns),
        "mask": arrays.mask(rows, columns, share=0.3),
        "embedding": lib.nn.functional.embedding,
    }


def cases(settings: Settings) -> Iterator[Case]:
    for label, statement in STATEMENTS.items():
        for size, shape in SHAPES.items():
            if settings.quick and size not in ("1e2", "1e4"):
                continue
            yield Case(f"{label}, {size}", statement, partial(names, shape))


TOPIC = Topic("data_movement", "Data movement and sorting", timed(cases), worst=1.0, mean=0.5)
