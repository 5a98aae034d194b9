"""Torch7's trainer: nn.StochasticGradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume.legacy_nn.printing import lua_number
from relume.legacy_nn.registry import register


@register("nn.StochasticGradient")
class StochasticGradient:
    """Trains a module on examples, one at a time, with a decaying learning rate.

    The dataset is a sequence of pairs (input, target), or an object of Lua's kind: with
    `size()` and examples at `dataset[1]`, `dataset[2]`, ...

    Args:
        module: the module.
        criterion: what to make small.

    Attributes:
        learningRate, learningRateDecay: the rate is learningRate / (1 + n * learningRateDecay) in
            epoch n = 2, 3, ...; learningRate in the first.
        maxIteration: epochs; not positive: until something stops it.
        shuffleIndices: go through the examples in a random order.
        hookExample: called with (trainer, example) after each example, or None.
        hookIteration: called with (trainer, epoch from 1, mean error) after each epoch, or None.
        verbose: print the error of every epoch.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> double = [(rl.tensor([x]), rl.tensor([2 * x])) for x in (1.0, -1.0, 0.5)]
    >>> module = nn.Mul().float()
    >>> trainer = nn.StochasticGradient(module, nn.MSECriterion().float())
    >>> trainer.learningRate, trainer.maxIteration, trainer.verbose = 0.2, 50, False
    >>> _ = trainer.train(double)
    >>> round(module.weight.item(), 4)
    2.0
    """

    torch_typename: str

    def __init__(self, module: Any, criterion: Any) -> None:
        self.learningRate: float = 0.01
        self.learningRateDecay: float = 0
        self.maxIteration: int = 25
        self.shuffleIndices: bool | None = True
        self.module = module
        self.criterion = criterion
        self.verbose = True
        self.hookExample: Callable | None = None
        self.hookIteration: Callable | None = None

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.hookExample = self.hookIteration = None
        self.__dict__.update(fields)

    def train(self, dataset: Any) -> float:
        """Goes through the examples `maxIteration` times.

        Returns:
            The mean error of the last epoch.
        """
        examples = list_of_examples(dataset)
        epoch, rate = 1, self.learningRate
        order = rl.randperm(len(examples)).tolist()  # drawn in any case, as in Torch7
        if not self.shuffleIndices:
            order = list(range(len(examples)))
        self._say("# StochasticGradient: training")
        while True:
            error = self._epoch([examples[place] for place in order], rate)
            if self.hookIteration is not None:
                self.hookIteration(self, epoch, error)
            self._say(f"# current error = {lua_number(error)}")
            epoch += 1
            rate = self.learningRate / (1 + epoch * self.learningRateDecay)
            if 0 < self.maxIteration < epoch:
                self._say("# StochasticGradient: you have reached the maximum number of iterations")
                self._say(f"# training error = {lua_number(error)}")
                return error

    def _epoch(self, examples: list, rate: float) -> float:
        total = 0.0
        for example in examples:
            input, target = list(example)[:2]
            total += self.criterion.forward(self.module.forward(input), target)
            gradient = self.criterion.backward(self.module.output, target)
            self.module.updateGradInput(input, gradient)
            self.module.accUpdateGradParameters(input, gradient, rate)
            if self.hookExample is not None:
                self.hookExample(self, example)
        return total / max(1, len(examples))

    def _say(self, line: str) -> None:
        if self.verbose:
            print(line)


def list_of_examples(dataset: Any) -> list:
    """The examples of a sequence, or of an object like Lua's datasets."""
    if callable(getattr(dataset, "size", None)):
        return [dataset[place] for place in range(1, int(dataset.size()) + 1)]
    return list(dataset)
