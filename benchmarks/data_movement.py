"""Copies, casts, joining, indexing and sorting of large tensors: relume against PyTorch.

One thread each, and its CPU time, which a busy machine disturbs least; the libraries take
turns and the fastest round counts.

    python benchmarks/data_movement.py             # all
    python benchmarks/data_movement.py cast sort   # lines whose label contains a word
    python benchmarks/data_movement.py --quick     # a smoke test
"""

from __future__ import annotations

import argparse
import os
import time
import timeit
from typing import Any

# Label: statement in terms of `lib` (relume or torch) and the tensors below.
CASES = {
    "transpose 1000x1000": "m.t().contiguous()",
    "transpose 1024x1024": "power.t().contiguous()",
    "transpose float64": "double.t().contiguous()",
    "transpose uint8": "byte.t().contiguous()",
    "NCHW to NHWC, 64 channels": "images.permute(0, 2, 3, 1).contiguous()",
    "NHWC to NCHW, 64 channels": "images.permute(0, 3, 1, 2).contiguous()",
    "NHWC to NCHW, 3 channels": "photos.permute(0, 3, 1, 2).contiguous()",
    "swap of two inner dimensions": "heads.permute(0, 2, 1, 3).contiguous()",
    "copy of part of the columns": "m[:, :700].contiguous()",
    "copy of every other column": "m[:, ::2].contiguous()",
    "copy of an expanded column": "m[:, :1].expand(1000, 1000).contiguous()",
    "clone": "m.clone()",
    "clone, 40 MB": "large.clone()",
    "fill_": "m.fill_(0.5)",
    "zeros": "lib.zeros(1000000)",
    "arange": "lib.arange(1000000)",
    "cast float32 to float64": "m.to(lib.float64)",
    "cast float64 to float32": "double.to(lib.float32)",
    "cast float32 to float16": "m.to(lib.float16)",
    "cast float16 to float32": "half.to(lib.float32)",
    "cast float32 to bfloat16": "m.to(lib.bfloat16)",
    "cast float32 to uint8": "m.to(lib.uint8)",
    "cast uint8 to float32": "byte.to(lib.float32)",
    "cast float32 to int64": "m.to(lib.int64)",
    "cat along rows": "lib.cat([m, m])",
    "cat along columns": "lib.cat([m, m], 1)",
    "stack": "lib.stack([m, m], 2)",
    "repeat": "m.repeat(2, 2)",
    "flip": "m.flip([1])",
    "roll": "m.roll(3, 1)",
    "tril": "m.tril()",
    "index_select of rows": "table.index_select(0, rows)",
    "x[rows]": "table[rows]",
    "x[i, j], a thousand": "m[i, j]",
    "index_add of rows": "m.index_add(0, i, m)",
    "index_put, accumulating": "m.index_put([i], m, True)",
    "gather along rows": "m.gather(1, places)",
    "gather along columns": "m.gather(0, places)",
    "scatter_add along rows": "m.scatter_add(1, places, m)",
    "take": "m.take(places)",
    "masked_select": "m.masked_select(mask)",
    "masked_fill": "m.masked_fill(mask, 0.0)",
    "x[mask]": "m[mask]",
    "nonzero": "mask.nonzero()",
    "sort, a million": "m.view(-1).sort()",
    "sort of rows": "m.sort()",
    "sort of columns": "m.sort(0)",
    "topk of rows": "m.topk(10)",
}


def tensors(lib: Any) -> dict[str, Any]:
    """What the statements use, the same in both libraries."""
    import numpy as np

    random = np.random.default_rng(0)

    def floats(*shape: int) -> Any:
        return lib.from_numpy(random.standard_normal(shape, dtype="float32"))

    def integers(high: int, *shape: int) -> Any:
        return lib.from_numpy(random.integers(0, high, shape))

    m = floats(1000, 1000)
    return {
        "lib": lib,
        "m": m,
        "power": floats(1024, 1024),
        "double": m.to(lib.float64),
        "half": m.to(lib.float16),
        "byte": integers(256, 1000, 1000).to(lib.uint8),
        "images": floats(8, 64, 56, 64),
        "photos": floats(8, 224, 224, 3),
        "heads": floats(8, 8, 128, 64),
        "large": floats(10_000_000),
        "table": floats(20_000, 512),
        "rows": integers(20_000, 4096),
        "i": integers(1000, 1000),
        "j": integers(1000, 1000),
        "places": integers(1000, 1000, 1000),
        "mask": lib.from_numpy(random.random((1000, 1000)) < 0.3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only lines whose label contains one of them")
    parser.add_argument("--quick", action="store_true", help="one round: does everything run?")
    options = parser.parse_args()

    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    import relume

    torch.set_num_threads(1)
    names = {"relume": tensors(relume), "torch": tensors(torch)}
    rounds = 1 if options.quick else 15
    print(f"{'milliseconds':<32}{'relume':>10}{'torch':>10}{'ratio':>8}")
    for label, statement in CASES.items():
        if options.words and not any(word in label for word in options.words):
            continue
        timers = {
            lib: timeit.Timer(statement, timer=time.thread_time, globals=own)
            for lib, own in names.items()
        }
        best = dict.fromkeys(timers, float("inf"))
        for _ in range(rounds):
            for lib, timer in timers.items():
                best[lib] = min(best[lib], timer.timeit(1) * 1e3)
        ratio = best["relume"] / best["torch"]
        print(f"{label:<32}{best['relume']:>10.3f}{best['torch']:>10.3f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
