"""A line search for the strong Wolfe conditions, and the interpolation that it uses.

Behaves as the line search of Schmidt's minFunc (2005), which Torch7's lswolfe follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, number


@dataclass
class Point:
    """What is known at a step length t along the direction."""

    t: float
    f: float
    slope: float  # of f along the direction
    gradient: Tensor | None = None


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
        return _cubic_minimum(rows[rows[:, 0].argsort()]), None
    return _polynomial_minimum(
        rows,
        low if xmin_bound is None else xmin_bound,
        high if xmax_bound is None else xmax_bound,
    )


def _cubic_minimum(rows: Any) -> float:
    (x1, f1, g1), (x2, f2, g2) = rows
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    squared = d1 * d1 - g1 * g2
    if squared < 0:
        return (x1 + x2) / 2
    d2 = math.sqrt(squared)
    position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return float(min(max(position, x1), x2))


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


class _Search:
    """One search along a direction from x."""

    def __init__(
        self, opfunc: Function, x: Tensor, d: Tensor, start: Point, options: Settings
    ) -> None:
        self.opfunc, self.x, self.d, self.start = opfunc, x, d, start
        self.sufficient_decrease = options.get("c1", 1e-4)
        self.curvature = options.get("c2", 0.9)
        self.shortest = options.get("tolX", 1e-9)
        self.limit = options.get("maxIter", 20)
        self.evaluations = 0

    def evaluate(self, t: float) -> Point:
        f, gradient = self.opfunc(self.x + t * self.d)
        self.evaluations += 1
        gradient = gradient.clone()
        return Point(t, number(f), gradient.dot(self.d).item(), gradient)

    def is_too_high(self, point: Point) -> bool:
        start = self.start
        return point.f > start.f + self.sufficient_decrease * point.t * start.slope

    def is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -self.curvature * self.start.slope

    def bracket(self, t: float) -> tuple[list[Point], bool, int]:
        """Points around a minimum (or one that will do), and how many steps that took."""
        previous, steps = self.start, 0
        point = self.evaluate(t)
        while steps < self.limit:
            if self.is_too_high(point) or (steps > 1 and point.f >= previous.f):
                return [previous, point], False, steps
            if self.is_flat(point):
                return [point], True, steps
            if point.slope >= 0:
                return [previous, point], False, steps
            ends = [[p.t, p.f, p.slope] for p in (previous, point)]
            nearest = point.t + 0.01 * (point.t - previous.t)
            t, _ = polyinterp(ends, nearest, point.t * 10)
            previous, point = point, self.evaluate(t)
            steps += 1
        return [self.start, point], False, steps

    def narrow(self, ends: list[Point], steps: int) -> list[Point]:
        """Halves the interval, or better, until a point meets both conditions."""
        stuck = False
        while steps < self.limit:
            low, high = sorted(ends, key=lambda end: end.f)
            left, right = sorted((low.t, high.t))
            t, _ = polyinterp([[p.t, p.f, p.slope] for p in ends])
            close_to_an_end = min(right - t, t - left) / (right - left) < 0.1
            if close_to_an_end and (stuck or t >= right or t <= left):
                margin = 0.1 * (right - left)
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = close_to_an_end
            point = self.evaluate(t)
            steps += 1
            if self.is_too_high(point) or point.f >= low.f:
                ends = [low, point]
                continue
            if self.is_flat(point):
                return [point]
            ends = [point, low if point.slope * (high.t - low.t) >= 0 else high]
            if abs(ends[0].t - ends[1].t) * point.slope < self.shortest:
                break
        return ends


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
    start = Point(0.0, number(f), number(gtd), g.clone())
    search = _Search(opfunc, x, d, start, {} if options is None else options)
    ends, found, steps = search.bracket(t)
    if not found:
        ends = search.narrow(ends, steps)
    best = min(ends, key=lambda end: end.f)
    x.add_(d, alpha=best.t)
    assert best.gradient is not None
    return best.f, best.gradient, x, best.t, search.evaluations
