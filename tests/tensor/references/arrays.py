"""What reductions, arrangements and products compute, in NumPy and SciPy."""

import numpy as np
import scipy.linalg
from scipy import special


def axes(dim):
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def reduction(function):
    def reduce(x, dim=None, keepdim=False, dtype=None):
        return function(x, axis=axes(dim), keepdims=keepdim)

    return reduce


def lower_middle(x, dim, keepdim=False):
    """The lower of two middle elements, and where it stands (the samples differ everywhere)."""
    order = np.argsort(x, dim, kind="stable")
    place = np.take(order, [(x.shape[dim] - 1) // 2], dim)
    values = np.take_along_axis(x, place, dim)
    return (values, place) if keepdim else (values.squeeze(dim), place.squeeze(dim))


def index_add(x, dim, index, source, alpha=1):
    out = x.copy()
    np.add.at(np.moveaxis(out, dim, 0), index, alpha * np.moveaxis(source, dim, 0))
    return out


def index_fill(x, dim, index, value):
    out = x.copy()
    np.moveaxis(out, dim, 0)[index] = value
    return out


def put(x, index, source, accumulate=False):
    out = x.copy()
    if accumulate:
        np.add.at(out.reshape(-1), index.reshape(-1), source.reshape(-1))
    else:
        out.reshape(-1)[index.reshape(-1)] = source.reshape(-1)
    return out


def atleast_3d(x):
    return np.atleast_3d(x)


def block_diag(tensors):
    return scipy.linalg.block_diag(*tensors)


def deviation(function):
    def reduce(x, dim=None, correction=1, keepdim=False):
        return function(x, axis=axes(dim), ddof=correction, keepdims=keepdim)

    return reduce


def with_mean(function):
    def reduce(x, dim=None, correction=1, keepdim=False):
        spread = function(x, axis=axes(dim), ddof=correction, keepdims=keepdim)
        return spread, np.mean(x, axis=axes(dim), keepdims=keepdim)

    return reduce


def norm(x, p=2, dim=None, keepdim=False):
    """Of all elements as one row, whatever the dimensions."""
    return (np.abs(x) ** p).sum(axes(dim), keepdims=keepdim) ** (1 / p)


def renorm(x, p, dim, maxnorm):
    """The 1e-7 is of Torch7: a slice of length 0 has a factor, too."""
    others = tuple(d for d in range(x.ndim) if d != dim)
    size = norm(x, p, others, True)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1)


def narrow(x, dim, start, length):
    return np.take(x, range(start, start + length), dim)


REFERENCES = {
    "all": reduction(np.all),
    "amax": reduction(np.amax),
    "amin": reduction(np.amin),
    "any": reduction(np.any),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": atleast_3d,
    "block_diag": block_diag,
    "bmm": np.matmul,
    "broadcast_to": lambda x, shape: np.broadcast_to(x, axes(shape)),
    "broadcast_tensors": lambda tensors: list(np.broadcast_arrays(*tensors)),
    "cat": lambda tensors, dim=0: np.concatenate(tensors, dim),
    "cumprod": lambda x, dim, dtype=None: np.cumprod(x, dim).reshape(x.shape),
    "cumsum": lambda x, dim, dtype=None: np.cumsum(x, dim).reshape(x.shape),
    "clone": np.copy,
    "contiguous": np.ascontiguousarray,
    "detach": np.copy,
    "diagonal": np.diagonal,
    "dot": np.dot,
    "embedding": lambda weight, indices, *settings: weight[indices],
    "flip": lambda x, dims: np.flip(x, axes(dims)),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "ger": np.outer,
    "index_add": index_add,
    "index_add_": index_add,
    "index_fill": index_fill,
    "index_fill_": index_fill,
    "imag": np.imag,
    "inner": np.inner,
    "isreal": np.isreal,
    "kron": np.kron,
    "logsumexp": lambda x, dim=None, keepdim=False: special.logsumexp(
        x, axes(dim), keepdims=keepdim
    ),
    "matmul": np.matmul,
    "mean": reduction(np.mean),
    "median_with_indices": lower_middle,
    "mm": np.matmul,
    "moveaxis": lambda x, source, destination: np.moveaxis(x, axes(source), axes(destination)),
    "movedim": lambda x, source, destination: np.moveaxis(x, axes(source), axes(destination)),
    "mv": np.matmul,
    "nanmean": reduction(np.nanmean),
    "nanmedian_with_indices": lower_middle,
    "nansum": reduction(np.nansum),
    "narrow": narrow,
    "narrow_copy": narrow,
    "norm": norm,
    "outer": np.outer,
    "permute": lambda x, dims: np.transpose(x, axes(dims)),
    "prod": reduction(np.prod),
    "put": put,
    "put_": put,
    "ravel": np.ravel,
    "real": np.real,
    "renorm": renorm,
    "roll": lambda x, shifts, dims=(): np.roll(x, axes(shifts), axes(dims) or None),
    "stack": lambda tensors, dim=0: np.stack(tensors, dim),
    "std": deviation(np.std),
    "std_mean": with_mean(np.std),
    "sum": reduction(np.sum),
    "swapaxes": np.swapaxes,
    "swapdims": np.swapaxes,
    "t": np.transpose,
    "tile": lambda x, dims: np.tile(x, axes(dims)),
    "trace": np.trace,
    "transpose": np.swapaxes,
    "tril": np.tril,
    "triu": np.triu,
    "unsqueeze": np.expand_dims,
    "var": deviation(np.var),
    "var_mean": with_mean(np.var),
}
