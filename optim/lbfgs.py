"""L-BFGS: Newton's method with the curvature seen in the last steps."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import enable_grad, no_grad
from relume.optim.line_search import Point, strong_wolfe
from relume.optim.optimizer import Closure, Optimizer, settings_of
from relume.optim.quasi_newton import quasi_newton_direction

_MAX_STEPS = 25  # of a line search
_SMALLEST_BRACKET = 1e-9


class LBFGS(Optimizer):
    """L-BFGS with a fixed step or a line search; Nocedal, 1980.

    Args:
        params: what to change; one group only.
        lr: the length of steps.
        max_iter: steps per call of `step`.
        max_eval: evaluations of the closure per call, by default 1.25 * max_iter.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when parameters or loss change less.
        history_size: how many past steps are kept.
        line_search_fn: None or "strong_wolfe".

    >>> import relume as rl
    >>> w = rl.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w**2 * rl.tensor([1.0, 10.0])).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> bool(w.abs().max() < 1e-4)
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f"line_search_fn is None or 'strong_wolfe', not {line_search_fn!r}")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, settings_of(locals()))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS takes one group of parameters only")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # ---- all parameters as one vector ----

    def _flat_gradient(self) -> Tensor:
        parts = [
            rl.zeros_like(p).reshape(-1) if p.grad is None else p.grad.detach().reshape(-1)
            for p in self._params
        ]
        return rl.cat(parts)

    def _move(self, direction: Tensor, length: float) -> None:
        start = 0
        for parameter in self._params:
            part = direction[start : start + parameter.numel()]
            parameter.add_(part.view(parameter.shape), alpha=length)
            start += parameter.numel()

    # ---- a step ----

    def step(self, closure: Closure | None = None) -> Any:
        """Up to max_iter iterations.

        Args:
            closure: computes the loss anew, with its gradients, and returns it.

        Returns:
            The loss before.
        """
        if closure is None:
            raise ValueError("LBFGS needs a closure that computes the loss anew")
        for hook in list(self._pre_hooks.values()):
            hook(self, (closure,), {})
        with no_grad():
            loss = self._iterate(closure)
        for hook in list(self._post_hooks.values()):
            hook(self, (closure,), {})
        return loss

    def _iterate(self, closure: Closure) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> tuple[float, Tensor]:
            with enable_grad():
                value = closure()
            return float(value), self._flat_gradient()

        with enable_grad():
            first_loss = closure()
        loss, gradient = float(first_loss), self._flat_gradient()
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            previous_loss = loss
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            length = group["lr"]
            if state["n_iter"] == 1:
                length = length * min(1.0, 1.0 / gradient.abs().sum().item())
            slope = gradient.dot(direction).item()
            state["d"], state["t"] = direction, length
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                here = Point(0.0, loss, gradient, slope)
                found, count = self._search(evaluate, here, direction, length)
                assert found.gradient is not None
                loss, gradient, length = found.loss, found.gradient, found.length
                state["t"] = length
                self._move(direction, length)
            else:
                self._move(direction, length)
                count = 0
                if iteration != group["max_iter"]:
                    loss, gradient = evaluate()
                    count = 1
            evaluations += count
            state["func_evals"] += count
            if (
                evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * length) <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _direction(self, state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """Where to go: minus the gradient times the approximate inverse of the Hessian."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        change = gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = change.dot(step).item()
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        if curvature > 1e-10:
            if len(changes) == history_size:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change).item()
        return quasi_newton_direction(gradient, steps, changes, inverses, state["H_diag"])

    def _search(
        self, evaluate: Any, here: Point, direction: Tensor, length: float
    ) -> tuple[Point, int]:
        """A length along the direction; the parameters are left where they were."""
        before = [parameter.clone() for parameter in self._params]

        def at(length: float) -> Point:
            self._move(direction, length)
            loss, gradient = evaluate()
            for parameter, value in zip(self._params, before, strict=True):
                parameter.copy_(value)
            return Point(length, loss, gradient, gradient.dot(direction).item())

        largest = _largest(direction)

        def is_small(low: Point, high: Point, moved: bool) -> bool:
            return abs(low.length - high.length) * largest < _SMALLEST_BRACKET

        return strong_wolfe(at, here, length, is_small, max_steps=_MAX_STEPS)


def _largest(vector: Tensor) -> float:
    return vector.abs().max().item() if vector.numel() else 0.0
