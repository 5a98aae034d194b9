"""Hypothesis strategies: arrays of all types, shapes and layouts, as NumPy sees them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def shapes(min_dims=0, max_dims=4, min_side=0, max_side=5):
    """Shapes, 0-d and empty ones included."""
    return hnp.array_shapes(
        min_dims=0, max_dims=max_dims, min_side=min_side, max_side=max_side
    ).filter(lambda shape: len(shape) >= min_dims)


def numbered(shape, dtype):
    """An array whose elements all differ (as far as the type allows)."""
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 251 - 100).astype(dtype).reshape(shape)


@st.composite
def arrays(draw, min_dims=0, max_dims=4, dtypes=DTYPES, min_side=0, max_side=5, layouts=True):
    """Arrays of small whole numbers, which every type holds exactly, in any layout."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(shapes(min_dims, max_dims, min_side, max_side))
    low = 0 if dtype.kind in "ub" else -9
    array = draw(hnp.arrays(np.int64, shape, elements=st.integers(low, 9))).astype(dtype)
    return draw(relaid(array)) if layouts else array


@st.composite
def relaid(draw, array):
    """The same array in another layout: dimensions in another order in memory, gaps, reversed."""
    order = draw(st.permutations(range(array.ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, 3, -1, -2])) for _ in range(array.ndim)]
    sizes = [array.shape[d] * abs(steps[d]) for d in order]
    memory = np.zeros(sizes, array.dtype)
    inverse = np.argsort(order) if array.ndim else []
    view = memory.transpose(inverse)
    view = view[(..., *[slice(None, None, step) for step in steps])]
    view[...] = array
    return view


def dims(array, extra=0):
    """A dimension of an array, from either end."""
    count = array.ndim + extra
    return st.integers(-count, count - 1)
