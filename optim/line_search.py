"""A line search for the strong Wolfe conditions; Nocedal and Wright, chapter 3.5."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from relume import Tensor


class Point(NamedTuple):
    """A place on the line: how far it is, the loss, its gradient and its slope along the line."""

    length: float
    loss: float
    gradient: Tensor | None  # None where nobody asks for it
    slope: float


def minimum_of_cubic(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes has its minimum, within bounds.

    Args:
        bounds: the smallest and largest result; by default those of the two points.

    >>> import relume as rl
    >>> g = rl.zeros(1)
    >>> minimum_of_cubic(Point(0.0, 1.0, g, -2.0), Point(2.0, 1.0, g, 2.0))  # (x - 1)^2
    1.0
    """
    low, high = bounds or (min(a.length, b.length), max(a.length, b.length))
    if a.length > b.length:
        a, b = b, a
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = mean * mean - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    divisor = b.slope - a.slope + 2 * root
    if divisor == 0:
        return (low + high) / 2
    place = b.length - (b.length - a.length) * ((b.slope + root - mean) / divisor)
    return min(max(place, low), high)


def strong_wolfe(
    at: Callable[[float], Point],
    here: Point,
    length: float,
    is_small: Callable[[Point, Point, bool], bool],
    *,
    sufficient_decrease: float = 1e-4,
    curvature: float = 0.9,
    max_steps: int = 25,
    farther: Callable[[Point, Point, tuple[float, float]], float] = minimum_of_cubic,
) -> tuple[Point, int]:
    """A point where the loss is smaller and its slope flatter, as the strong Wolfe conditions ask.

    Args:
        at: evaluates a length.
        here: length 0; its slope is negative.
        length: the first try.
        is_small: (good end, other end, has the good end just moved?) -> is the bracket between them
            too small to go on?
        sufficient_decrease: c1, the share of the slope by which the loss has to fall.
        curvature: c2, the share of the slope that may remain.
        max_steps: evaluations after the first.
        farther: where to look beyond two points, within bounds.

    Returns:
        The point and the number of evaluations.
    """
    search = _Search(at, here, sufficient_decrease, curvature, max_steps, farther)
    point = search.bracket(length)
    return search.narrow(is_small) if point is None else point, search.evaluations


class _Search:
    """One search: its conditions, its bracket and how many steps it took."""

    def __init__(
        self,
        at: Callable[[float], Point],
        here: Point,
        sufficient_decrease: float,
        curvature: float,
        max_steps: int,
        farther: Callable[[Point, Point, tuple[float, float]], float],
    ) -> None:
        self._at, self._here, self._farther = at, here, farther
        self._sufficient_decrease, self._curvature = sufficient_decrease, curvature
        self._max_steps = max_steps
        self._ends = [here, here]
        self.evaluations = 0

    def _evaluate(self, length: float) -> Point:
        self.evaluations += 1
        return self._at(length)

    def _has_steps(self) -> bool:
        return self.evaluations <= self._max_steps

    def _goes_up(self, point: Point) -> bool:
        fall = self._sufficient_decrease * point.length * self._here.slope
        return not point.loss <= self._here.loss + fall

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -self._curvature * self._here.slope

    def bracket(self, length: float) -> Point | None:
        """Goes on until two points have a good one between them, or a point is good itself."""
        previous, point = self._here, self._evaluate(length)
        while self._has_steps():
            is_late = self.evaluations > 2 and point.loss >= previous.loss
            if self._goes_up(point) or is_late:
                self._ends = [previous, point]
                return None
            if self._is_flat(point):
                return point
            if point.slope >= 0:
                self._ends = [previous, point]
                return None
            nearest = point.length + 0.01 * (point.length - previous.length)
            length = self._farther(previous, point, (nearest, point.length * 10))
            previous, point = point, self._evaluate(length)
        self._ends = [self._here, point]
        return None

    def narrow(self, is_small: Callable[[Point, Point, bool], bool]) -> Point:
        """Makes the bracket smaller around its good end; returns that end."""
        low, high = sorted(self._ends, key=lambda point: point.loss)
        stuck = moved = False
        while self._has_steps() and not is_small(low, high, moved):
            length, stuck = self._inside(low, high, stuck)
            point = self._evaluate(length)
            moved = not (self._goes_up(point) or point.loss >= low.loss)
            if not moved:
                low, high = sorted((low, point), key=lambda point: point.loss)
                continue
            if self._is_flat(point):
                return point
            if point.slope * (high.length - low.length) >= 0:
                high = low
            low = point
        return low

    @staticmethod
    def _inside(low: Point, high: Point, stuck: bool) -> tuple[float, bool]:
        """A length in the bracket; near the same end twice is too near."""
        start, end = sorted((low.length, high.length))
        length = minimum_of_cubic(low, high)
        margin = 0.1 * (end - start)
        if min(end - length, length - start) >= margin:
            return length, False
        if stuck or length >= end or length <= start:
            nearer_to_end = abs(length - end) < abs(length - start)
            return (end - margin if nearer_to_end else start + margin), False
        return length, True
