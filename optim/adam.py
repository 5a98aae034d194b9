"""Adam and its relatives: steps scaled by running averages of gradients and their squares."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import _C, Tensor
from relume.optim.optimizer import Optimizer, settings_of, states_of

_step = _C.ops["adam_step"]

Betas = tuple[float, float]


class Adam(Optimizer):
    """Steps of about the same size for every element; Kingma and Ba, 2015.

    Args:
        lr: the learning rate.
        betas: how much of the averages of gradients and squares is kept.
        eps: is added to the root of the average square.
        weight_decay: times the parameter is added to the gradient.
        amsgrad: use the largest average square so far; Reddi et al., 2018.
        decoupled_weight_decay: shrink the parameters instead, as AdamW does.
        maximize: go up instead of down.
        foreach, capturable, differentiable, fused: taken for PyTorch's sake, without effect.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        amsgrad = group["amsgrad"]

        def start(parameter: Tensor) -> dict[str, Any]:
            state: dict[str, Any] = {"step": 0}
            names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * amsgrad
            state.update((name, rl.zeros_like(parameter)) for name in names)
            return state

        states = states_of(self, parameters, start)
        steps = {state["step"] for state in states}
        for step in steps:
            self._update_alike(group, step + 1, parameters, gradients, states, len(steps) > 1)

    def _update_alike(
        self,
        group: dict[str, Any],
        step: int,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: list[dict[str, Any]],
        mixed: bool,
    ) -> None:
        """Updates the parameters whose number of steps becomes `step`."""
        if mixed:
            chosen = [i for i, state in enumerate(states) if state["step"] == step - 1]
            parameters = [parameters[i] for i in chosen]
            gradients = [gradients[i] for i in chosen]
            states = [states[i] for i in chosen]
        beta1, beta2 = group["betas"]
        for state in states:
            state["step"] = step
        _step(
            parameters,
            gradients,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
            float(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            1 - beta1**step,
            1 - beta2**step,
            group.get("decoupled_weight_decay", False),
            group["maximize"],
        )


class AdamW(Adam):
    """Adam with weight decay apart from the gradient; Loshchilov and Hutter, 2019.

    Args:
        weight_decay: how much lr * parameter is subtracted in every step; others as of Adam.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = AdamW([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.899
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class _PlainAdam(Optimizer):
    """Relatives of Adam that are written with tensor operations, one parameter at a time."""

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        zeros = {name: rl.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        return {"step": 0, **zeros}

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        states = states_of(self, parameters, self._start)
        decay = group["weight_decay"]
        decoupled = group.get("decoupled_weight_decay", False)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            gradient = -gradient if group["maximize"] else gradient
            if decay and decoupled:
                parameter.mul_(1 - group["lr"] * decay)
            elif decay:
                gradient = gradient.add(parameter, alpha=decay)
            self._update_one(group, parameter, gradient, state)

    def _update_one(
        self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Any]
    ) -> None:
        raise NotImplementedError

    def _averages(
        self, group: dict[str, Any], gradient: Tensor, state: dict[str, Any]
    ) -> tuple[Tensor, Tensor]:
        """Moves the averages of the gradient and its square."""
        beta1, beta2 = group["betas"]
        average = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        return average, square


class Adamax(_PlainAdam):
    """Adam with the largest gradient instead of the root mean square; Kingma and Ba, 2015.

    >>> import relume as rl
    >>> w = rl.tensor([1.0], requires_grad=True)
    >>> optimizer = Adamax([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        zeros = {name: rl.zeros_like(parameter) for name in ("exp_avg", "exp_inf")}
        return {"step": 0, **zeros}

    def _update_one(
        self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Any]
    ) -> None:
        beta1, beta2 = group["betas"]
        average = state["exp_avg"].lerp_(gradient, 1 - beta1)
        largest = state["exp_inf"]
        largest.copy_(rl.maximum(largest * beta2, gradient.abs() + group["eps"]))
        rate = group["lr"] / (1 - beta1 ** state["step"])
        parameter.addcdiv_(average, largest, value=-rate)


class NAdam(_PlainAdam):
    """Adam with Nesterov's momentum; Dozat, 2016.

    Args:
        momentum_decay: how fast the momentum grows.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        return {**super()._start(parameter), "mu_product": 1.0}

    def _update_one(
        self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Any]
    ) -> None:
        step, decay = state["step"], group["momentum_decay"]
        beta1, beta2 = group["betas"]
        now, after = (beta1 * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
        state["mu_product"] = product = float(state["mu_product"]) * now
        average, square = self._averages(group, gradient, state)
        root = (square / (1 - beta2**step)).sqrt_().add_(group["eps"])
        lr = group["lr"]
        parameter.addcdiv_(gradient, root, value=-lr * (1 - now) / (1 - product))
        parameter.addcdiv_(average, root, value=-lr * after / (1 - product * after))


class RAdam(_PlainAdam):
    """Adam that begins with plain momentum until the variance is known; Liu et al., 2020."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _update_one(
        self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Any]
    ) -> None:
        step = state["step"]
        beta1, beta2 = group["betas"]
        average, square = self._averages(group, gradient, state)
        correction = 1 - beta2**step
        rate = group["lr"] / (1 - beta1**step)
        # The length of the simple average that knows as much, at the end and now.
        final = 2 / (1 - beta2) - 1
        length = final - 2 * step * beta2**step / correction
        if length <= 5:
            parameter.add_(average, alpha=-rate)
            return
        numerator = (length - 4) * (length - 2) * final
        rectification = math.sqrt(numerator / ((final - 4) * (final - 2) * length))
        root = square.sqrt().add_(group["eps"])
        parameter.addcdiv_(average, root, value=-rate * rectification * math.sqrt(correction))
