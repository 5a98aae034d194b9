"""FISTA: accelerated proximal gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters import Table
from relume.legacy_nn.optim.settings import Settings, number


def FistaLS(
    f: Callable[..., Any],
    g: Callable[[Tensor], Any],
    pl: Callable[[Tensor, float], Any],
    xinit: Tensor,
    params: Settings | None = None,
) -> tuple[Tensor, list[Table]]:
    """Minimises f(x) + g(x) by FISTA with backtracking (Beck and Teboulle, 2009).

    Args:
        f: f(x) gives the value of the smooth part; f(x, "dx") also its gradient.
        g: gives the value of the other part.
        pl: pl(x, L) changes x in place to the minimum of g(y) + L/2 |y - x|^2.
        xinit: where to begin; it is changed.
        params: L (0.1, the first guess of f's Lipschitz constant; kept up to date), Lstep (1.5),
            maxiter (50), maxline (20), errthres (1e-4), doFistaUpdate (None as in Torch7, which
            means plain ISTA).

    Returns:
        The solution, and a table per iteration: F = Fply + Gply (the two parts), Q (the model), L
        and nline.
    """
    params = {} if params is None else params
    params["L"] = params.get("L", 0.1)
    y, x, momentum = xinit, xinit.clone(), 1.0
    history: list[Table] = []
    for _ in range(params.get("maxiter", 50)):
        value, gradient = f(y, "dx")
        step = _line_search(f, pl, y, number(value), gradient, params)
        before, x = x, step.pop("x")
        next_momentum = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        if params.get("doFistaUpdate", False):
            y = x + (x - before) * ((momentum - 1) / next_momentum)
        else:
            y = x.clone()
        momentum = next_momentum
        smooth, other = number(f(y)), number(g(y))
        history.append(Table({**step, "F": smooth + other, "Fply": smooth, "Gply": other}))
        if len(history) > 1 and abs(history[-1]["F"] - history[-2]["F"]) <= params.get(
            "errthres", 1e-4
        ):
            break
    return y, history


def _line_search(
    f: Callable[..., Any],
    pl: Callable[[Tensor, float], Any],
    y: Tensor,
    value: float,
    gradient: Tensor,
    params: Settings,
) -> dict[str, Any]:
    """Raises L until the quadratic model of f at y lies above f at the new point."""
    lines = 0
    while True:
        lines += 1
        constant = params["L"]
        x = y - gradient / constant
        pl(x, constant)
        smooth = number(f(x))
        move = (x - y).flatten()
        slope = gradient.flatten().dot(move).item()
        model = value + slope + constant / 2 * move.dot(move).item()
        if smooth <= model or lines >= params.get("maxline", 20):
            break
        params["L"] = constant * params.get("Lstep", 1.5)
    return {"x": x, "Q": model, "L": constant, "nline": lines}
