"""Functions given by samples: slopes, interpolation, filters, polynomials, averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.dimensions import takes_numpy_names
from relume.tensor.linalg import lstsq

_ops = _C.ops


def _floating(value: Any) -> Tensor:
    tensor = value if isinstance(value, Tensor) else _C.tensor_from_data(value, None)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor
    return tensor.to(_C.default_float())


def _slope(input: Tensor, spacing: Any, dim: int, edge_order: int) -> Tensor:
    """The derivative along a dimension, from each sample's neighbours."""
    size = input.size(dim)
    if size < edge_order + 1:
        raise ValueError(
            f"gradient() with edge_order={edge_order} needs at least {edge_order + 1} elements in "
            f"each dimension, but dimension {dim} has {size}"
        )
    rows = input.movedim(dim, -1)
    if isinstance(spacing, Tensor) and spacing.ndim == 1:
        if spacing.numel() != size:
            raise ValueError(
                f"gradient(): dimension {dim} has {size} elements but {spacing.numel()} coordinates"
            )
        steps = (spacing[1:] - spacing[:-1]).to(rows.dtype)
    else:
        steps = _ops["ones"](size - 1, dtype=rows.dtype) * spacing
    slopes = (rows[..., 1:] - rows[..., :-1]) / steps
    before, after = steps[:-1], steps[1:]
    # The parabola through three neighbours has this slope in the middle one.
    inner = (slopes[..., :-1] * after + slopes[..., 1:] * before) / (before + after)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:  # the same parabola's slope at its ends
        bend = (slopes[..., :1] - slopes[..., 1:2]) * (steps[0] / (steps[0] + steps[1]))
        first = first + bend
        bend = (slopes[..., -1:] - slopes[..., -2:-1]) * (steps[-1] / (steps[-1] + steps[-2]))
        last = last + bend
    return _ops["cat"]([first, inner, last], -1).movedim(-1, dim)


@takes_numpy_names
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> list[Tensor]:
    """The slopes of sampled values, from differences of neighbours.

    Args:
        spacing: the distance of samples: a number (1 when left out), one number or one row of
            coordinates (a tensor) for each of the dimensions.
        dim: the dimension or dimensions; all when left out.
        edge_order: 1 or 2, how exact the slopes at the ends are.

    Returns:
        For each dimension a tensor of the input's shape.

    >>> import relume as rl
    >>> gradient(rl.tensor([1.0, 4.0, 9.0]))
    [tensor([3., 4., 5.])]
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient(): edge_order must be 1 or 2, not {edge_order}")
    if dim is None:
        dims = list(range(input.ndim))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    spacing = 1 if spacing is None else spacing
    one_by_one = isinstance(spacing, list | tuple)
    spacings = list(spacing) if one_by_one else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise ValueError(f"gradient() needs one spacing for each of {len(dims)} dimensions")
    values = _floating(input)
    return [_slope(values, s, d, edge_order) for s, d in zip(spacings, dims, strict=True)]


def interp(
    x: Any, xp: Any, fp: Any, left: float | None = None, right: float | None = None
) -> Tensor:
    """Straight lines between samples.

    Args:
        x: where to look.
        xp, fp: the samples' places, rising, and their values.
        left, right: the values outside; those of the first and the last sample when left out.

    >>> import relume as rl
    >>> interp(rl.tensor([0.5, 3.0]), rl.tensor([0.0, 1.0]), rl.tensor([10.0, 20.0]))
    tensor([15., 20.])
    """
    places, values, wanted = _floating(xp), _floating(fp), _floating(x)
    if places.shape != values.shape or places.ndim != 1 or places.numel() == 0:
        raise ValueError(
            f"interp() needs rows xp and fp of one length, not {places.shape} and {values.shape}"
        )
    if places.numel() == 1:
        result = _ops["zeros_like"](wanted) + values
    else:
        after = _ops["searchsorted"](places, wanted).clamp(1, places.numel() - 1)
        start, stop = places[after - 1], places[after]
        share = ((wanted - start) / (stop - start)).clamp(0, 1)
        low = values[after - 1]
        result = low + share * (values[after] - low)
    if left is not None:
        result = _ops["where"](wanted < places[0], left, result)
    if right is not None:
        result = _ops["where"](wanted > places[-1], right, result)
    return result


def convolve(a: Tensor, v: Tensor, mode: str = "full") -> Tensor:
    """The convolution of two rows.

    Args:
        mode: "full" (every overlap), "same" (as long as the longer one) or "valid" (where the
            shorter one lies inside of the longer one).

    >>> import relume as rl
    >>> convolve(rl.tensor([1.0, 2.0, 3.0]), rl.tensor([0.0, 1.0]))
    tensor([0., 1., 2., 3.])
    """
    if a.ndim != 1 or v.ndim != 1 or a.numel() == 0 or v.numel() == 0:
        raise ValueError(
            f"convolve() needs two rows that are not empty, not {a.shape} and {v.shape}"
        )
    long, short = (a, v) if a.numel() >= v.numel() else (v, a)
    length = short.numel()
    padding = {"full": (length - 1, length - 1), "valid": (0, 0)}
    padding["same"] = (length // 2, (length - 1) // 2)
    if mode not in padding:
        raise ValueError(f"convolve(): mode must be 'full', 'same' or 'valid', not {mode!r}")
    pieces = _ops["pad"](long, padding[mode]).unfold(0, length, 1)
    return pieces @ short.flip(0)


def correlate(a: Tensor, v: Tensor, mode: str = "valid") -> Tensor:
    """The cross-correlation of two rows: sums of a[k + n] * conj(v[n]). Modes as of `convolve`.

    >>> import relume as rl
    >>> correlate(rl.tensor([1.0, 2.0, 3.0]), rl.tensor([0.0, 1.0]))
    tensor([2., 3.])
    """
    if a.numel() >= v.numel():
        return convolve(a, v.conj().flip(0), mode)
    return convolve(v, a.conj().flip(0), mode).flip(0).conj()


@takes_numpy_names
def unwrap(
    p: Tensor, discont: float | None = None, dim: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Angles without jumps: multiples of the period are added so that neighbours are near.

    Args:
        discont: only jumps larger than this are removed; half of the period when left out.

    >>> import relume as rl
    >>> unwrap(rl.tensor([0.0, 3.0, 6.0, 1.0]), period=8.0)
    tensor([0., 3., 6., 9.])
    """
    angles = _floating(p)
    if angles.size(dim) == 0:
        return angles.clone()
    half = period / 2
    jumps = _ops["diff"](angles, 1, dim)
    near = (jumps + half).remainder(period) - half
    near = _ops["where"]((near == -half) & (jumps > 0), half, near)
    fix = _ops["where"](jumps.abs() < (half if discont is None else discont), 0.0, near - jumps)
    rest = angles.narrow(dim, 1, angles.size(dim) - 1) + fix.cumsum(dim)
    return _ops["cat"]([angles.narrow(dim, 0, 1), rest], dim)


def polyval(p: Any, x: Any) -> Tensor:
    """The value of a polynomial, whose highest coefficient comes first.

    >>> import relume as rl
    >>> polyval([1, 0, 2], rl.tensor([3.0]))
    tensor([11.])
    """
    x = x if isinstance(x, Tensor) else _C.tensor_from_data(x, None)
    result = _ops["zeros_like"](x)
    for coefficient in p:
        result = result * x + coefficient
    return result


def polyfit(x: Tensor, y: Tensor, deg: int) -> Tensor:
    """The polynomial that is nearest to samples, its highest coefficient first.

    Args:
        x, y: the samples' places and values, of shape (n,); y may be (n, k).
        deg: the degree.

    >>> import relume as rl
    >>> polyfit(rl.tensor([0.0, 1.0, 2.0]), rl.tensor([2.0, 3.0, 6.0]), 2).round(decimals=3).abs()
    tensor([1., 0., 2.])
    """
    powers = _ops["vander"](_floating(x), deg + 1)
    values = _floating(y)
    columns = values.unsqueeze(1) if values.ndim == 1 else values
    # Columns of one length make the problem as well-posed as it can be.
    scale = powers.square().sum(0).sqrt()
    fitted = lstsq(powers / scale, columns).solution / scale.unsqueeze(1)
    return fitted.squeeze(1) if values.ndim == 1 else fitted


@takes_numpy_names
def average(input: Tensor, dim: Any = None, weights: Tensor | None = None) -> Tensor:
    """The mean, or with weights the weighted mean.

    Args:
        weights: of the input's shape, or a row for the one dimension `dim`.

    >>> import relume as rl
    >>> average(rl.tensor([1.0, 4.0]), weights=rl.tensor([3.0, 1.0]))
    tensor(1.75)
    """
    values = _floating(input)
    if weights is None:
        return values.mean(dim)
    if weights.ndim == 1 and weights.shape != values.shape:
        if not isinstance(dim, int) or weights.numel() != values.size(dim):
            raise ValueError(
                f"average(): weights of shape {weights.shape} need a dim of that size in a tensor "
                f"of shape {values.shape}"
            )
        weights = weights.reshape([-1 if d == dim % values.ndim else 1 for d in range(values.ndim)])
        weights = weights.expand(values.shape)
    return (values * weights).sum(dim) / weights.sum(dim)


@takes_numpy_names
def percentile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The number below which q percent of the elements are.

    >>> import relume as rl
    >>> percentile(rl.tensor([1.0, 2.0, 3.0]), 50)
    tensor(2.)
    """
    values = _floating(input)
    return _ops["quantile"](values, _floating(q).to(values.dtype) / 100, dim, keepdim)


def geomspace(start: float, end: float, steps: int = 50, *, dtype: Any = None) -> Tensor:
    """Numbers from start to end, each the same multiple of the one before.

    >>> import relume as rl
    >>> geomspace(1.0, 8.0, 4)
    tensor([1., 2., 4., 8.])
    """
    if start == 0 or end == 0 or (start < 0) != (end < 0):
        raise ValueError(f"geomspace() needs two numbers of one sign, not {start} and {end}")
    logs = _ops["linspace"](math.log(abs(start)), math.log(abs(end)), steps, dtype="float64")
    result = logs.exp() if start > 0 else -logs.exp()
    if steps > 0:
        result[0] = start
    if steps > 1:
        result[-1] = end
    return result.to(_C.default_float() if dtype is None else dtype)


FUNCTIONS: Sequence[Any] = (
    average,
    convolve,
    correlate,
    geomspace,
    gradient,
    interp,
    percentile,
    polyfit,
    polyval,
    unwrap,
)
