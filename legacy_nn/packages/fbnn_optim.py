"""Package fbnn (facebook/fbnn): an optimizer with a state for every weight and bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume.converters.table import Table
from relume.legacy_nn import copying, nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register


@register("nn.Optim")
class Optim:
    """Trains a network with a function of `optim` for every weight and bias on its own; biases do
    not decay.

    Args:
        model: the network.
        optState: settings, such as {"learningRate": 0.1}.
        checkpoint_data: what `save` gave, instead of settings.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Linear(2, 1)
    >>> optimizer = nn.Optim(net, {"learningRate": 0.1})
    >>> x, t = rl.ones(4, 2, dtype=rl.float64), rl.zeros(4, 1, dtype=rl.float64)
    >>> losses = [optimizer.optimize(nn.optim.sgd, x, t, nn.MSECriterion())[0] for _ in range(9)]
    >>> losses[-1] < losses[0]
    True
    """

    model: Any
    modulesToOptState: dict[Any, Any]
    originalOptState: Any

    def __init__(self, model: Any, optState: Any = None, checkpoint_data: Any = None) -> None:
        if (optState is None) == (checkpoint_data is None):
            raise ValueError("nn.Optim needs either settings or what save gave")
        self.model = model
        self.originalOptState = optState
        if checkpoint_data is not None:
            self.modulesToOptState = checkpoint_data["optim_state"]
            return
        self.modulesToOptState = {}
        for module in model.listModules():
            states = [Table(dict(optState.items())) for _ in range(2)]
            states[1]["weightDecay"] = 0.0
            self.modulesToOptState[module] = nested.table(states)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)

    def save(self) -> dict:
        """The states, for a checkpoint."""
        return {"optim_state": self.modulesToOptState}

    def optimize(
        self, optimMethod: Callable, inputs: Any, targets: Any, criterion: Any
    ) -> tuple[float, Any]:
        """One step of training.

        Args:
            optimMethod: a function of `optim`, such as `optim.sgd`.
            inputs, targets: a batch.
            criterion: the loss.

        Returns:
            The loss before the step, and the output.
        """
        self.model.zeroGradParameters()
        output = self.model.forward(inputs)
        loss = criterion.forward(output, targets)
        self.model.backward(inputs, criterion.backward(output, targets))
        self.updateParameters(optimMethod, loss)
        return loss, output

    def updateParameters(self, optimMethod: Callable, err: float) -> None:
        """Takes a step with the gradients that are there.

        Args:
            optimMethod: a function of `optim`.
            err: the loss.
        """
        for module, states in self.modulesToOptState.items():
            if not isinstance(module, Module):
                continue
            for name, state in zip(("weight", "bias"), states, strict=False):
                parameter = vars(module).get(name)
                if parameter is not None and name in module.parameter_names:
                    gradient = module._gradient(name)
                    optimMethod(lambda x, found=gradient: (err, found), parameter, state)

    def setParameters(self, newParams: Any) -> None:
        """Changes settings everywhere.

        Args:
            newParams: a table, such as {"learningRate": 0.01}.
        """
        for states in self.modulesToOptState.values():
            for state in states:
                state.update(newParams)
        if self.originalOptState is not None:
            self.originalOptState.update(newParams)

    def type(self, typename: str) -> None:
        """Converts the states to a Torch7 type."""
        for states in self.modulesToOptState.values():
            copying.cast(states, typename)
