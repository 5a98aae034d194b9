"""Optimizers that scale every element by its own past: RMSprop, Adagrad, Adadelta, Rprop."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import _C, Tensor
from relume.optim.optimizer import Optimizer, settings_of, states_of


class RMSprop(Optimizer):
    """Gradients divided by the root of their running mean square; Tieleman and Hinton, 2012.

    Args:
        alpha: how much of the mean square is kept.
        eps: is added to its root.
        momentum: how much of the last step is kept.
        centered: subtract the square of the mean.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = RMSprop([w], lr=0.01)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        centered, momentum = group["centered"], group["momentum"]

        def start(parameter: Tensor) -> dict[str, Any]:
            names = ["square_avg"] + ["momentum_buffer"] * (momentum > 0) + ["grad_avg"] * centered
            return {"step": 0, **{name: rl.zeros_like(parameter) for name in names}}

        states = states_of(self, parameters, start)
        for state in states:
            state["step"] += 1
        _C.ops["rmsprop_step"](
            parameters,
            gradients,
            [state["square_avg"] for state in states],
            [state["momentum_buffer"] for state in states] if momentum > 0 else [],
            [state["grad_avg"] for state in states] if centered else [],
            float(group["lr"]),
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            momentum,
            group["maximize"],
        )


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of all their squares; Duchi et al., 2011.

    Args:
        lr_decay: the learning rate is lr / (1 + (step - 1) * lr_decay).
        initial_accumulator_value: the sum at first.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = Adagrad([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if initial_accumulator_value < 0:
            raise ValueError("initial_accumulator_value must not be negative")
        super().__init__(params, settings_of(locals()))
        for group in self.param_groups:
            states_of(self, group["params"], lambda p: self._start(p, group))  # noqa: B023

    def _start(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = float(group["initial_accumulator_value"])
        return {"step": 0, "sum": rl.full_like(parameter, start)}

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        states = states_of(self, parameters, lambda p: self._start(p, group))
        by_rate: dict[float, list[int]] = {}
        for position, state in enumerate(states):
            rate = group["lr"] / (1 + state["step"] * group["lr_decay"])
            by_rate.setdefault(rate, []).append(position)
            state["step"] += 1
        for rate, positions in by_rate.items():
            _C.ops["adagrad_step"](
                [parameters[i] for i in positions],
                [gradients[i] for i in positions],
                [states[i]["sum"] for i in positions],
                rate,
                group["eps"],
                group["weight_decay"],
                group["maximize"],
            )


class Adadelta(Optimizer):
    """Steps as large as the last ones, scaled by the gradient; Zeiler, 2012.

    Args:
        rho: how much of the mean squares is kept.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = Adadelta([w])
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9968
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"rho must be between 0 and 1, it is {rho}")
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        rho, eps = group["rho"], group["eps"]

        def start(parameter: Tensor) -> dict[str, Any]:
            zeros = {name: rl.zeros_like(parameter) for name in ("square_avg", "acc_delta")}
            return {"step": 0, **zeros}

        states = states_of(self, parameters, start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            gradient = -gradient if group["maximize"] else gradient
            if group["weight_decay"]:
                gradient = gradient.add(parameter, alpha=group["weight_decay"])
            square, steps = state["square_avg"], state["acc_delta"]
            square.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
            step = (steps + eps).sqrt_().div_((square + eps).sqrt_()).mul_(gradient)
            steps.mul_(rho).addcmul_(step, step, value=1 - rho)
            parameter.add_(step, alpha=-group["lr"])


class Rprop(Optimizer):
    """Steps that grow while the gradient keeps its sign; Riedmiller and Braun, 1993.

    Args:
        etas: factors by which steps shrink and grow.
        step_sizes: the smallest and the largest step.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = Rprop([w])
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.99
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"etas must be below and above 1, they are {etas}")
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]

        def start(parameter: Tensor) -> dict[str, Any]:
            return {
                "step": 0,
                "prev": rl.zeros_like(parameter),
                "step_size": rl.full_like(parameter, float(group["lr"])),
            }

        states = states_of(self, parameters, start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            gradient = -gradient if group["maximize"] else gradient
            agreement = gradient * state["prev"]
            factor = rl.ones_like(agreement)
            factor.masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
            size = state["step_size"].mul_(factor).clamp_(smallest, largest)
            # A change of sign was a step too far: stay, and forget the gradient.
            gradient = gradient.masked_fill(agreement < 0, 0.0)
            parameter.addcmul_(gradient.sign(), size, value=-1)
            state["prev"].copy_(gradient)
