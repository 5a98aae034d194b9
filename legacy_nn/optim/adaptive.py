"""Steps whose size adapts to each parameter: adagrad, adadelta, rmsprop, adam, adamax, rprop."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, add_decay, kept, prepare


def adagrad(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of Adagrad (Duchi et al., 2011); changes x in place.

    Args:
        opfunc: gives f and df/dx at x; df/dx may be changed.
        x: the parameters, of any shape.
        config: learningRate (0.001), learningRateDecay (0), weightDecay (0).
        state: where to keep evalCounter, paramVariance; the config when left out.

    Returns:
        x, and a list with f before the step.
    """
    config, state = prepare(config, state)
    evaluations = state.get("evalCounter", 0)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    rate = config.get("learningRate", 1e-3) / (1 + evaluations * config.get("learningRateDecay", 0))
    squares = kept(state, "paramVariance", lambda: rl.zeros_like(gradient))
    squares.addcmul_(gradient, gradient)
    state["paramStd"] = squares.sqrt()
    x.addcdiv_(gradient, state["paramStd"] + 1e-10, value=-rate)
    state["evalCounter"] = evaluations + 1
    return x, [f]


def adadelta(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of Adadelta (Zeiler, 2012); changes x in place.

    Args:
        config: rho (0.9), eps (1e-6), weightDecay (0).
        opfunc, x, state: as of `adagrad`; the state keeps paramVariance and accDelta.

    Returns:
        x, and a list with f before the step.
    """
    config, state = prepare(config, state)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    rho, eps = config.get("rho", 0.9), config.get("eps", 1e-6)
    squares = kept(state, "paramVariance", lambda: rl.zeros_like(gradient))
    deltas = kept(state, "accDelta", lambda: rl.zeros_like(gradient))
    squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
    state["paramStd"] = (squares + eps).sqrt()
    state["delta"] = delta = (deltas + eps).sqrt() / state["paramStd"] * gradient
    x.sub_(delta)
    deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, [f]


def rmsprop(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of RMSprop (Tieleman and Hinton, 2012); changes x in place.

    Args:
        config: learningRate (0.01), alpha (0.99), epsilon (1e-8), weightDecay (0), initialMean
            (0, of the squares).
        opfunc, x, state: as of `adagrad`; the state keeps m.

    Returns:
        x, and a list with f before the step.
    """
    config, state = prepare(config, state)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    alpha = config.get("alpha", 0.99)
    mean = config.get("initialMean", 0)
    squares = kept(state, "m", lambda: rl.zeros_like(gradient).fill_(mean))
    squares.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
    deviation = squares.sqrt() + config.get("epsilon", 1e-8)
    x.addcdiv_(gradient, deviation, value=-config.get("learningRate", 1e-2))
    return x, [f]


def adam(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of Adam (Kingma and Ba, 2014); changes x in place.

    Args:
        config: learningRate (0.001), learningRateDecay (0), beta1 (0.9), beta2 (0.999), epsilon
            (1e-8), weightDecay (0).
        opfunc, x, state: as of `adagrad`; the state keeps t, m and v.

    Returns:
        x, and a list with f before the step.
    """
    config, state = prepare(config, state)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    beta1, beta2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    steps = state.get("t", 0)
    mean = kept(state, "m", lambda: rl.zeros_like(gradient))
    squares = kept(state, "v", lambda: rl.zeros_like(gradient))
    rate = config.get("learningRate", 1e-3) / (1 + steps * config.get("learningRateDecay", 0))
    steps += 1
    mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
    squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    state["denom"] = squares.sqrt() + config.get("epsilon", 1e-8)
    rate *= math.sqrt(1 - beta2**steps) / (1 - beta1**steps)
    x.addcdiv_(mean, state["denom"], value=-rate)
    state["t"] = steps
    return x, [f]


def adamax(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of Adamax, Adam with the largest gradient (Kingma and Ba, 2014); changes x.

    Args:
        config: learningRate (0.002), beta1 (0.9), beta2 (0.999), epsilon (1e-38), weightDecay (0).
        opfunc, x, state: as of `adagrad`; the state keeps t, m and u.

    Returns:
        x, and a list with f before the step.
    """
    config, state = prepare(config, state)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    beta1, beta2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    steps = state.get("t", 0) + 1
    mean = kept(state, "m", lambda: rl.zeros_like(gradient))
    largest = kept(state, "u", lambda: rl.zeros_like(gradient))
    mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
    largest.copy_(rl.maximum(largest * beta2, gradient.abs() + config.get("epsilon", 1e-38)))
    rate = config.get("learningRate", 0.002) / (1 - beta1**steps)
    x.addcdiv_(mean, largest, value=-rate)
    state["t"] = steps
    return x, [f]


def rprop(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """Steps of Rprop (Riedmiller and Braun, 1993), which uses only signs; changes x in place.

    Args:
        config: stepsize (0.1, the first), etaplus (1.2), etaminus (0.5), stepsizemax (50),
            stepsizemin (1e-6), niter (1, steps per call).
        opfunc, x, state: as of `adagrad`; the state keeps stepsize (a tensor) and sign.

    Returns:
        x, and a list with f before each step.
    """
    config, state = prepare(config, state)
    values = []
    for _ in range(config.get("niter", 1)):
        f, gradient = opfunc(x)
        values.append(f)
        first = config.get("stepsize", 0.1)  # replaced by a tensor when config is the state too
        if not isinstance(state.get("stepsize"), Tensor):
            state["stepsize"] = rl.full_like(gradient, first)
        sizes = state["stepsize"]
        last = kept(state, "sign", lambda: rl.zeros_like(x))
        agreement = gradient * last
        grown = rl.where(agreement > 0, sizes * config.get("etaplus", 1.2), sizes)
        changed = rl.where(agreement < 0, sizes * config.get("etaminus", 0.5), grown)
        sizes.copy_(changed.clamp(config.get("stepsizemin", 1e-6), config.get("stepsizemax", 50)))
        gradient.masked_fill_(agreement < 0, 0)
        direction = gradient.sign()
        x.sub_(direction * sizes)
        last.copy_(direction)
    return x, values
