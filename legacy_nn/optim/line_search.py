"""A line search for the strong Wolfe conditions, and the interpolation that it uses.

Behaves as the line search of Schmidt's minFunc (2005), which Torch7's lswolfe follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, number
from relume.optim.line_search import Point, minimum_of_cubic, strong_wolfe


def polyinterp(
    points: Tensor | Sequence[Sequence[float]],
    xmin_bound: float | None = None,
    xmax_bound: float | None = None,
) -> tuple[float, float | None]:
    """Where a polynomial through points with known values and slopes is lowest.

    Args:
        points: rows (x, f, df/dx), of shape (n, 3).
        xmin_bound, xmax_bound: where to look; the interval of the points when left out.

    Returns:
        The position, and the value there (None for two points without bounds, where a cubic has a
        closed form).
    """
    rows = np.asarray(points, dtype=np.float64)
    low, high = rows[:, 0].min(), rows[:, 0].max()
    if len(rows) == 2 and xmin_bound is None and xmax_bound is None:
        left, right = (Point(float(x), float(f), None, float(slope)) for x, f, slope in rows)
        return minimum_of_cubic(left, right), None
    return _polynomial_minimum(
        rows,
        low if xmin_bound is None else xmin_bound,
        high if xmax_bound is None else xmax_bound,
    )


def _polynomial_minimum(rows: Any, low: float, high: float) -> tuple[float, float]:
    """The lowest of the ends, the points and the places where the slope is 0."""
    degree = 2 * len(rows) - 1
    powers = np.arange(degree, -1, -1)
    values = [x**powers for x in rows[:, 0]]
    slopes = [np.append(powers[:-1] * x ** (powers[:-1] - 1.0), 0) for x in rows[:, 0]]
    matrix = np.array([*values, *slopes])
    coefficients = np.linalg.lstsq(matrix, np.concatenate([rows[:, 1], rows[:, 2]]), rcond=None)[0]
    critical = np.roots(np.polyder(coefficients))
    candidates = [low, high, *rows[:, 0], *critical[np.isreal(critical)].real]
    best, lowest = (low + high) / 2, math.inf
    for x in candidates:
        value = float(np.polyval(coefficients, x))
        if low <= x <= high and value < lowest:
            best, lowest = float(x), value
    return best, lowest


def _beyond(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    ends = [[point.length, point.loss, point.slope] for point in (a, b)]
    return polyinterp(ends, *bounds)[0]


def lswolfe(
    opfunc: Function,
    x: Tensor,
    t: float,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: float,
    options: Settings | None = None,
) -> tuple[float, Tensor, Tensor, float, int]:
    """Searches along d for a step that meets the strong Wolfe conditions; moves x there.

    Args:
        opfunc: gives f and df/dx at x.
        x, d: the point and the direction.
        t: the first step length to try.
        f, g, gtd: value, gradient and slope along d at x.
        options: c1 (0.0001), c2 (0.9), tolX (1e-9), maxIter (20).

    Returns:
        f and the gradient at the new x, x, the step length, and the number of evaluations.
    """
    options = {} if options is None else options
    shortest = options.get("tolX", 1e-9)

    def at(length: float) -> Point:
        value, gradient = opfunc(x + length * d)
        gradient = gradient.clone()
        return Point(length, number(value), gradient, gradient.dot(d).item())

    def is_small(low: Point, high: Point, moved: bool) -> bool:
        return moved and abs(low.length - high.length) * low.slope < shortest

    best, evaluations = strong_wolfe(
        at,
        Point(0.0, number(f), g.clone(), number(gtd)),
        t,
        is_small,
        sufficient_decrease=options.get("c1", 1e-4),
        curvature=options.get("c2", 0.9),
        max_steps=options.get("maxIter", 20),
        farther=_beyond,
    )
    x.add_(d, alpha=best.length)
    assert best.gradient is not None
    return best.loss, best.gradient, x, best.length, evaluations
