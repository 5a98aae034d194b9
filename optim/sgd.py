"""Stochastic gradient descent, and its average."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import _C, Tensor
from relume.optim.optimizer import Optimizer, settings_of, states_of

_step = _C.ops["sgd_step"]


class SGD(Optimizer):
    """p -= lr * gradient, with momentum if wanted.

    Args:
        params: what to change.
        lr: the learning rate.
        momentum: how much of the last direction is kept.
        dampening: how much less of the gradient is added to it.
        weight_decay: times the parameter is added to the gradient.
        nesterov: look ahead along the momentum; Sutskever et al., 2013.
        maximize: go up instead of down.
        foreach, differentiable, fused: taken for PyTorch's sake, without effect.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w.item()
    0.800000011920929
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov needs a momentum and no dampening")
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        momentum = group["momentum"]
        settings = (
            float(group["lr"]),
            momentum,
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
        )
        if not momentum:
            _step(parameters, gradients, [], *settings, False)
            return
        fresh: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        moving: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        for parameter, gradient in zip(parameters, gradients, strict=True):
            state = self.state[parameter]
            buffer = state.get("momentum_buffer")
            lists = moving
            if buffer is None:
                buffer = state["momentum_buffer"] = rl.empty_like(parameter)
                lists = fresh
            for entries, entry in zip(lists, (parameter, gradient, buffer), strict=True):
                entries.append(entry)
        for lists, first in ((fresh, True), (moving, False)):
            if lists[0]:
                _step(*lists, *settings, first)


class ASGD(Optimizer):
    """Stochastic gradient descent with the average of the parameters; Polyak and Juditsky, 1992.

    Args:
        lr, lambd, alpha: the learning rate is lr / (1 + lambd * lr * step)^alpha.
        t0: the step at which averaging begins.

    The averages are in `state[parameter]["ax"]`.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = ASGD([w], t0=0)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.98
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        lr, lambd = group["lr"], group["lambd"]

        def start(parameter: Tensor) -> dict[str, Any]:
            return {"step": 0, "eta": float(lr), "mu": 1.0, "ax": rl.zeros_like(parameter)}

        states = states_of(self, parameters, start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            gradient = -gradient if group["maximize"] else gradient
            if group["weight_decay"]:
                gradient = gradient.add(parameter, alpha=group["weight_decay"])
            state["step"] += 1
            step, eta = state["step"], float(state["eta"])
            parameter.mul_(1 - lambd * eta)
            parameter.add_(gradient, alpha=-eta)
            mu = float(state["mu"])
            if mu == 1:
                state["ax"].copy_(parameter)
            else:
                state["ax"].add_((parameter - state["ax"]) * mu)
            state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
            state["mu"] = 1 / max(1.0, step - group["t0"])
