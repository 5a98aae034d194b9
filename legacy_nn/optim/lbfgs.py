"""The limited-memory quasi-Newton method L-BFGS."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.converters import Table
from relume.legacy_nn.optim.settings import Function, Settings, number, prepare
from relume.optim.quasi_newton import quasi_newton_direction


def lbfgs(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any], int]:
    """Minimises a function by L-BFGS (Nocedal, 1980); changes x in place.

    Args:
        opfunc: gives f and df/dx at x.
        x: the parameters, of any shape.
        config: maxIter (20), maxEval (1.25 maxIter), tolFun (1e-5, of the gradient), tolX (1e-9),
            nCorrection (100, the memory), learningRate (1), lineSearch (`optim.lswolfe`, or None:
            steps of learningRate), lineSearchOptions.
        state: where to keep directions and steps, so that a later call goes on; the config when
            left out.

    Returns:
        x, the values of f on the way, and the number of evaluations.

    From the optim package of Torch7.

    >>> import relume as rl
    >>> x = rl.tensor([3.0, -2.0])
    >>> x, values, evaluations = lbfgs(lambda x: (x.dot(x).item(), 2 * x), x)
    >>> bool(x.norm() < 1e-3)
    True
    """
    config, state = prepare(config, state)
    max_iterations = config.get("maxIter", 20)
    max_evaluations = config.get("maxEval", max_iterations * 1.25)
    gradient_limit, step_limit = config.get("tolFun", 1e-5), config.get("tolX", 1e-9)
    f, g = opfunc(x)
    g = g.clone()
    values, evaluations = [f], 1
    state["funcEval"] = state.get("funcEval", 0) + 1
    if g.abs().sum().item() <= gradient_limit:
        return x, values, evaluations

    for iteration in range(1, max_iterations + 1):
        state["nIter"] = state.get("nIter", 0) + 1
        state["d"] = direction = _direction(g, state, config.get("nCorrection", 100))
        state["g_old"], state["f_old"] = g.clone(), number(f)
        slope = g.dot(direction).item()
        if slope > -step_limit:
            break
        step = config.get("learningRate", 1)
        if state["nIter"] == 1:
            step *= min(1.0, 1 / g.abs().sum().item())
        used = 0
        if config.get("lineSearch") is not None:
            search, options = config["lineSearch"], config.get("lineSearchOptions")
            f, g, x, step, used = search(opfunc, x, step, direction, f, g, slope, options)
            values.append(f)
        else:
            x.add_(direction, alpha=step)
            if iteration != max_iterations:
                f, g = opfunc(x)
                g, used = g.clone(), 1
                values.append(f)
        state["t"] = step
        evaluations += used
        state["funcEval"] += used
        if (
            evaluations >= max_evaluations
            or g.abs().sum().item() <= gradient_limit
            or (direction * step).abs().sum().item() <= step_limit
            or abs(number(f) - state["f_old"]) < step_limit
        ):
            break
    return x, values, evaluations


def _direction(g: Tensor, state: Settings, memory: int) -> Tensor:
    """The direction of descent; the first time that of the gradient."""
    if state["nIter"] == 1:
        state["old_dirs"], state["old_stps"] = Table([]), Table([])
        state["Hdiag"] = 1
        return -g
    _remember(g - state["g_old"], state["d"] * state["t"], state, memory)
    steps, changes = state["old_dirs"].as_list(), state["old_stps"].as_list()
    inverses = [1 / y.dot(s).item() for y, s in zip(changes, steps, strict=True)]
    return quasi_newton_direction(g, steps, changes, inverses, state["Hdiag"])


def _remember(change: Tensor, step: Tensor, state: Settings, memory: int) -> None:
    """Keeps a change of the gradient and the step that made it, unless it curves the wrong way."""
    curvature = change.dot(step).item()
    if curvature <= 1e-10:
        return
    for name, tensor in (("old_dirs", step), ("old_stps", change)):
        state[name] = Table([*state[name].as_list(), tensor][-memory:])
    state["Hdiag"] = curvature / change.dot(change).item()
