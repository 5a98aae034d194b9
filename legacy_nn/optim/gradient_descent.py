"""Steps along the gradient: sgd, nag (Nesterov), asgd (averaged)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, add_decay, kept, prepare


def sgd(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of stochastic gradient descent; changes x in place.

    Args:
        opfunc: gives f and df/dx at x; df/dx may be changed.
        x: the parameters, of any shape.
        config: learningRate (0.001), learningRateDecay (0), weightDecay (0) or weightDecays (a
            tensor), momentum (0), dampening (the momentum), nesterov (False), learningRates (a
            tensor of factors).
        state: where to keep evalCounter and dfdx; the config when left out.

    Returns:
        x, and a list with f before the step.

    Raises:
        ValueError: nesterov without momentum, or with dampening.

    From the optim package of Torch7.

    >>> import relume as rl
    >>> x = rl.tensor([1.0])
    >>> x, (f,) = sgd(lambda x: (x.square().sum(), 2 * x), x, {"learningRate": 0.1})
    >>> x
    tensor([0.8])
    """
    config, state = prepare(config, state)
    momentum = config.get("momentum", 0)
    dampening: Any = config.get("dampening", momentum)
    nesterov = config.get("nesterov", False)
    if nesterov and (momentum <= 0 or dampening != 0):
        raise ValueError("sgd: nesterov needs momentum > 0 and dampening = 0")
    evaluations = state.get("evalCounter", 0)
    f, gradient = opfunc(x)

    add_decay(gradient, x, config.get("weightDecay", 0))
    if config.get("weightDecays") is not None and not config.get("weightDecay", 0):
        gradient.add_(config["weightDecays"] * x)
    if momentum != 0:
        if state.get("dfdx") is None:
            state["dfdx"] = gradient.clone()
        else:
            state["dfdx"].mul_(momentum).add_(gradient, alpha=1 - dampening)
        if nesterov:
            gradient.add_(state["dfdx"], alpha=momentum)
        else:
            gradient = state["dfdx"]
    rate = config.get("learningRate", 1e-3) / (1 + evaluations * config.get("learningRateDecay", 0))
    x.add_(_scaled(gradient, config), alpha=-rate)
    state["evalCounter"] = evaluations + 1
    return x, [f]


def _scaled(gradient: Tensor, config: Settings) -> Tensor:
    rates = config.get("learningRates")
    return gradient if rates is None else gradient * rates


def nag(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any]]:
    """One step of Nesterov's accelerated gradient; changes x in place.

    Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).

    Args:
        config: learningRate (0.001), learningRateDecay (0), weightDecay (0), momentum (0.9),
            learningRates (a tensor of factors).
        opfunc, x, state: as of `sgd`.

    Returns:
        x, and a list with f at the point that the momentum led to.

    Raises:
        ValueError: momentum is not positive.
    """
    config, state = prepare(config, state)
    momentum = config.get("momentum", 0.9)
    if momentum <= 0:
        raise ValueError(f"nag: momentum must be positive, got {momentum}")
    evaluations = state.get("evalCounter", 0)
    if state.get("dfdx") is not None:
        x.add_(state["dfdx"], alpha=momentum)
    f, gradient = opfunc(x)
    add_decay(gradient, x, config.get("weightDecay", 0))
    step = kept(state, "dfdx", lambda: rl.zeros_like(gradient))
    rate = config.get("learningRate", 1e-3) / (1 + evaluations * config.get("learningRateDecay", 0))
    direction = _scaled(gradient, config)
    x.add_(direction, alpha=-rate)
    step.mul_(momentum).add_(direction, alpha=-rate)
    state["evalCounter"] = evaluations + 1
    return x, [f]


def asgd(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any], Tensor]:
    """One step of averaged stochastic gradient descent; changes x in place.

    Bottou, "Stochastic gradient descent tricks" (2012).

    Args:
        config: eta0 (0.0001), lambda (0.0001, the decay), alpha (0.75, the power), t0 (1e6, when
            to begin to average).
        opfunc, x, state: as of `sgd`; the state keeps eta_t, mu_t, t and ax.

    Returns:
        x, a list with f before the step, and the average of x.
    """
    config, state = prepare(config, state)
    for name, value in (("eta0", 1e-4), ("lambda", 1e-4), ("alpha", 0.75), ("t0", 1e6)):
        config[name] = config.get(name, value)
    for name, value in (("eta_t", config["eta0"]), ("mu_t", 1), ("t", 0)):
        state[name] = state.get(name, value)
    f, gradient = opfunc(x)
    x.mul_(1 - config["lambda"] * state["eta_t"])
    x.add_(gradient, alpha=-state["eta_t"])
    average = kept(state, "ax", lambda: rl.zeros_like(x))
    if state["mu_t"] != 1:
        average.add_(x - average, alpha=state["mu_t"])
    else:
        average.copy_(x)
    state["t"] += 1
    decayed = 1 + config["lambda"] * config["eta0"] * state["t"]
    state["eta_t"] = config["eta0"] / decayed ** config["alpha"]
    state["mu_t"] = 1 / max(1, state["t"] - config["t0"])
    return x, [f], average
