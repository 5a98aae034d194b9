"""A line search for the strong Wolfe conditions; Nocedal and Wright, chapter 3.5."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from relume import Tensor

_SUFFICIENT_DECREASE = 1e-4
_CURVATURE = 0.9
_MAX_EVALUATIONS = 25
_SMALLEST_BRACKET = 1e-9


class Point(NamedTuple):
    """A place on the line: how far it is, the loss, its gradient and its slope along the line."""

    length: float
    loss: float
    gradient: Tensor
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
    at: Callable[[float], Point], here: Point, length: float, largest: float
) -> tuple[Point, int]:
    """A point where the loss is smaller and its slope flatter, as the strong Wolfe conditions ask.

    Args:
        at: evaluates a length.
        here: length 0; its slope is negative.
        length: the first try.
        largest: the largest element of the direction, to know when a bracket is too small.

    Returns:
        The point and the number of evaluations.
    """

    def goes_up(point: Point) -> bool:
        limit = here.loss + _SUFFICIENT_DECREASE * point.length * here.slope
        return not point.loss <= limit

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -_CURVATURE * here.slope

    # Go on until two points have a good one between them.
    previous, point = here, at(length)
    evaluations = 1
    steps = 0
    bracket: list[Point] = [here, point]
    while steps < _MAX_EVALUATIONS:
        if goes_up(point) or (steps > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if is_flat(point):
            return point, evaluations
        if point.slope >= 0:
            bracket = [previous, point]
            break
        bounds = (
            point.length + 0.01 * (point.length - previous.length),
            point.length * 10,
        )
        farther = minimum_of_cubic(previous, point, bounds)
        previous, point = point, at(farther)
        evaluations += 1
        steps += 1
        bracket = [here, point]

    # Make the bracket smaller around the good point.
    low, high = sorted(bracket, key=lambda p: p.loss)
    stuck = False
    while steps < _MAX_EVALUATIONS:
        if abs(low.length - high.length) * largest < _SMALLEST_BRACKET:
            break
        start, end = sorted((low.length, high.length))
        length = minimum_of_cubic(low, high)
        margin = 0.1 * (end - start)
        if min(end - length, length - start) < margin:
            if stuck or length >= end or length <= start:
                length = end - margin if abs(length - end) < abs(length - start) else start + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = at(length)
        evaluations += 1
        steps += 1
        if goes_up(point) or point.loss >= low.loss:
            low, high = sorted((low, point), key=lambda p: p.loss)
        else:
            if is_flat(point):
                return point, evaluations
            if point.slope * (high.length - low.length) >= 0:
                high = low
            low = point
    return low, evaluations
