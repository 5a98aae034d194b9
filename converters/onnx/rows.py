"""The table: what every op becomes in ONNX."""

from __future__ import annotations

from relume.converters.onnx import (
    convolutions,
    elementwise,
    indexing,
    layers,
    pooling,
    products,
    reductions,
    regions,
    shapes,
)
from relume.converters.onnx.call import Rows

__all__ = ["ROWS"]

ROWS: Rows = {
    **elementwise.ROWS,
    **shapes.ROWS,
    **reductions.ROWS,
    **products.ROWS,
    **convolutions.ROWS,
    **pooling.ROWS,
    **regions.ROWS,
    **indexing.ROWS,
    **layers.ROWS,
}
