"""Conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, number, prepare

_SMALLEST = 2.0**-1022


@dataclass
class _Limits:
    """The constants of the line search."""

    decrease: float  # of f, as a part of what the slope promises
    slope: float  # how flat it must get
    interpolate: float  # how near to the ends of the interval a new point may be
    extrapolate: float  # how many times further a new point may be
    ratio: float  # by which a step may grow


class _Point:
    """The values along a line: f and the slope at the current and at the last point."""

    def __init__(self, opfunc: Function, x: Tensor, direction: Tensor, budget: int) -> None:
        self.opfunc, self.x, self.direction = opfunc, x, direction
        self.budget = budget
        self.f = self.slope = math.nan
        self.gradient = x

    def move(self, distance: float) -> None:
        self.x.add_(self.direction, alpha=distance)
        f, gradient = self.opfunc(self.x)
        self.f, self.gradient = number(f), gradient.clone()
        self.slope = self.gradient.dot(self.direction).item()
        self.budget -= 1


def cg(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any], int]:
    """Minimises a function by Polak-Ribiere conjugate gradients; changes x in place.

    Behaves as Rasmussen's minimize (2001), as Torch7's optim does: it stops at the first line
    search that fails.

    Args:
        opfunc: gives f and df/dx at x.
        x: the parameters, of any shape.
        config: maxIter (20), maxEval (1.25 maxIter), rho (0.01), sig (0.5), int (0.1), ext (3),
            ratio (100), red (1).
        state: where to keep scratch tensors; the config when left out.

    Returns:
        x, the values of f after each line search, and the number of evaluations.

    >>> import relume as rl
    >>> x = rl.tensor([3.0, -2.0])
    >>> x, values, evaluations = cg(lambda x: (x.dot(x).item(), 2 * x), x)
    >>> bool(x.norm() < 1e-3)
    True
    """
    config, state = prepare(config, state)
    limits = _Limits(
        config.get("rho", 0.01),
        config.get("sig", 0.5),
        config.get("int", 0.1),
        config.get("ext", 3.0),
        config.get("ratio", 100),
    )
    max_iterations = config.get("maxIter", 20)
    max_evaluations = config.get("maxEval", max_iterations * 1.25)
    f, gradient = opfunc(x)
    f, gradient = number(f), gradient.clone()
    values, evaluations = [f], 1
    direction = -gradient
    slope = -direction.dot(direction).item()
    step = config.get("red", 1) / (1 - slope)
    while evaluations < max_evaluations:
        before = x.clone()
        budget = int(min(max_iterations, max_evaluations - evaluations))
        point = _Point(opfunc, x, direction, budget)
        step, success = _line_search(point, f, slope, step, limits)
        evaluations += budget - point.budget
        if not success:
            x.copy_(before)
            break
        f = point.f
        values.append(f)
        change = point.gradient.dot(point.gradient - gradient).item()
        direction = direction * (change / gradient.dot(gradient).item()) - point.gradient
        gradient = point.gradient
        new_slope = gradient.dot(direction).item()
        if new_slope > 0:
            direction = -gradient
            new_slope = -direction.dot(direction).item()
        step *= min(limits.ratio, slope / (new_slope - _SMALLEST))
        slope = new_slope
    return x, values, evaluations


def _line_search(
    point: _Point, f: float, slope: float, step: float, limits: _Limits
) -> tuple[float, bool]:
    """Moves the point along its line; returns the step length, and whether it will do."""
    last_f, last_slope, last = f, slope, -step
    point.move(step)
    limit = -1.0

    def too_high() -> bool:
        return point.f > f + step * limits.decrease * slope

    while True:
        while (too_high() or point.slope > -limits.slope * slope) and point.budget > 0:
            limit = step
            distance = _interpolate(point, f, last_f, last_slope, last)
            distance = max(
                min(distance, limits.interpolate * last), (1 - limits.interpolate) * last
            )
            step += distance
            point.move(distance)
            last -= distance
        if too_high() or point.slope > -limits.slope * slope:
            return step, False
        if point.slope > limits.slope * slope:
            return step, True
        if point.budget <= 0:
            return step, False
        distance = _extrapolate(point, last_f, last_slope, last)
        distance = _bounded(distance, step, last, limit, limits)
        last_f, last_slope, last = point.f, point.slope, -distance
        step += distance
        point.move(distance)


def _interpolate(point: _Point, f: float, last_f: float, last_slope: float, last: float) -> float:
    """The minimum of a parabola, or of a cubic, between the point and the last one."""
    try:
        if point.f > f:
            return last - 0.5 * last_slope * last * last / (last_slope * last + point.f - last_f)
        a = 6 * (point.f - last_f) / last + 3 * (point.slope + last_slope)
        b = 3 * (last_f - point.f) - last * (last_slope + 2 * point.slope)
        distance = (math.sqrt(b * b - a * point.slope * last * last) - b) / a
    except (ValueError, ZeroDivisionError, OverflowError):
        return last / 2
    return distance if math.isfinite(distance) else last / 2


def _extrapolate(point: _Point, last_f: float, last_slope: float, last: float) -> float:
    """The minimum of a cubic beyond the point; NaN where it has none."""
    try:
        a = 6 * (point.f - last_f) / last + 3 * (point.slope + last_slope)
        b = 3 * (last_f - point.f) - last * (last_slope + 2 * point.slope)
        return -point.slope * last * last / (b + math.sqrt(b * b - a * point.slope * last * last))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def _bounded(distance: float, step: float, last: float, limit: float, limits: _Limits) -> float:
    """A distance to go on that is neither too far nor too short; a limit below 0 is none."""
    is_limited = limit > -0.5
    furthest = (limit - step) / 2 if is_limited else step * (limits.extrapolate - 1)
    if not math.isfinite(distance) or distance < 0:
        return furthest
    if is_limited and distance + step > limit:
        return furthest
    if not is_limited and distance + step > step * limits.extrapolate:
        return furthest
    if distance < -last * limits.interpolate:
        return -last * limits.interpolate
    if is_limited and distance < (limit - step) * (1 - limits.interpolate):
        return (limit - step) * (1 - limits.interpolate)
    return distance
