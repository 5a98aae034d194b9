"""Products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..timing import timed

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
BATCHES = ((16, 8), (16, 32), (16, 128), (64, 16), (64, 64), (256, 8), (256, 32), (256, 64))
LAYERS = ((10, 10), (64, 64), (128, 512), (512, 128), (1024, 1024), (2048, 512))
BATCH_SIZES = (1, 8, 32, 256)


def names(shapes: tuple[tuple[int, ...], ...], dtype: str, lib: Any) -> Names:
    arrays = Arrays(lib)
    made: Names = {
        name: arrays.floats(*shape, dtype=dtype) for name, shape in zip("abc", shapes, strict=False)
    }
    made["linear"] = lib.nn.functional.linear
    return made


def cases(settings: Settings) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        for n in SIZES[:4] if settings.quick else SIZES:
            made = partial(names, ((n, n), (n, n)), dtype)
            yield Case(f"mm {n}, {dtype}", "lib.mm(a, b)", made)
        for n in (64, 512)[: 1 if settings.quick else 2]:
            made = partial(names, ((n, n), (n, n)), dtype)
            yield Case(f"mm {n} transposed, {dtype}", "lib.mm(a.t(), b)", made)
            made = partial(names, ((n, n), (n,)), dtype)
            yield Case(f"mv {n}, {dtype}", "lib.mv(a, b)", made)
        for batch, n in BATCHES[: 2 if settings.quick else None]:
            made = partial(names, ((batch, n, n), (batch, n, n)), dtype)
            yield Case(f"bmm {batch} of {n}, {dtype}", "lib.bmm(a, b)", made)
        for inputs, outputs in LAYERS[: 2 if settings.quick else None]:
            for batch in BATCH_SIZES:
                made = partial(names, ((batch, inputs), (outputs, inputs), (outputs,)), dtype)
                label = f"linear {inputs} to {outputs}, batch {batch}, {dtype}"
                yield Case(label, "linear(a, b, c)", made)


TOPIC = Topic("matmul", "Products of matrices", timed(cases), worst=1.0)
