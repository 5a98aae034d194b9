"""What Torch7's package dpnn adds to every module: momentum, weight decay, clipping, ..."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor


def total_norm(tensors: list[Tensor]) -> float:
    """The 2-norm of all elements of some tensors."""
    return math.sqrt(sum(float(tensor.detach().square().sum().item()) for tensor in tensors))


def limit_norms(parameter: Tensor, dim: int, limit: float) -> None:
    """Scales down the slices of a tensor along a dimension whose 2-norm is above a limit."""
    with rl.no_grad():
        others = tuple(d for d in range(parameter.ndim) if d != dim)
        norms = parameter.square().sum(others, keepdim=True).sqrt()
        factors = rl.where(norms > limit, limit / (norms + 1e-7), rl.ones_like(norms))
        parameter.mul_(factors)


class TrainingMethods:
    """Steps of a training loop that work on the gradients of a whole network."""

    __slots__ = ()

    def _leaves_of_tree(self) -> list[Any]:
        """Every module that holds parameters of its own, once."""
        modules: list[Any] = self.listModules()  # type: ignore[attr-defined]
        return [module for module in modules if not module.children()]

    def gradParamClip(self, cutoffNorm: float, moduleLocal: bool = False) -> float:
        """Scales the gradients of the parameters down to a norm.

        Args:
            cutoffNorm: the largest norm that is left alone; not positive: change nothing.
            moduleLocal: True to limit the norm of every module by itself.

        Returns:
            The norm of all gradients before.

        >>> from relume import legacy_nn as nn
        >>> layer = nn.Linear(1, 1, False)
        >>> _ = layer.gradWeight.fill_(4)
        >>> layer.gradParamClip(2), layer.gradWeight.tolist()
        (4.0, [[2.0]])
        """
        children = self.children()  # type: ignore[attr-defined]
        if moduleLocal and children:
            norms = [child.gradParamClip(cutoffNorm, moduleLocal) for child in children]
            return math.sqrt(sum(norm * norm for norm in norms))
        gradients = self.parameters()[1]  # type: ignore[attr-defined]
        norm = total_norm(gradients)
        if norm > cutoffNorm > 0:
            for gradient in gradients:
                gradient.mul_(cutoffNorm / norm)
        return norm

    def weightDecay(self, wdFactor: float, wdMinDim: int = 2) -> None:
        """Adds `wdFactor` times the parameters to their gradients.

        Args:
            wdFactor: the factor.
            wdMinDim: parameters with fewer dimensions (biases) do not decay.
        """
        with rl.no_grad():
            for parameter, gradient in zip(
                *self.parameters(),  # type: ignore[attr-defined]
                strict=True,
            ):
                if parameter.ndim >= wdMinDim:
                    gradient.add_(parameter, alpha=wdFactor)

    def updateGradParameters(
        self, momFactor: float, momDamp: float | None = None, momNesterov: bool = False
    ) -> None:
        """Replaces the gradients by running ones, kept in `momGradParams` of every module.

        Args:
            momFactor: how much of the running gradient stays; not positive: change nothing.
            momDamp: 1 minus how much of the new gradient comes in, by default `momFactor`.
            momNesterov: look ahead by one step.
        """
        if momFactor <= 0:
            return
        damp = momFactor if momDamp is None else momDamp
        for module in self._leaves_of_tree():
            gradients = module.parameters()[1]
            running = list(module.__dict__.get("momGradParams") or [])
            if not running:
                running = [gradient.clone() for gradient in gradients]
            else:
                for mean, gradient in zip(running, gradients, strict=True):
                    mean.mul_(momFactor).add_(gradient, alpha=1 - damp)
            for mean, gradient in zip(running, gradients, strict=True):
                if momNesterov:
                    gradient.add_(mean, alpha=momFactor)
                else:
                    gradient.copy_(mean)
            if gradients:
                module.momGradParams = running

    def maxParamNorm(self, maxOutNorm: float | None = None, maxInNorm: float | None = None) -> None:
        """Limits the norms of the rows or of the columns of all weights.

        Args:
            maxOutNorm: for the weights of one output, by default the field `maxOutNorm`.
            maxInNorm: for the weights of one input, by default the field `maxInNorm`.
        """
        out = self.__dict__.get("maxOutNorm") if maxOutNorm is None else maxOutNorm
        into = self.__dict__.get("maxInNorm") if maxInNorm is None else maxInNorm
        for parameter in self.parameters()[0]:  # type: ignore[attr-defined]
            if parameter.ndim < 2:
                continue
            for dim, limit in ((0, out), (1, into)):
                if limit is not None and limit > 0:
                    limit_norms(parameter, dim, limit)

    def sharedClone(self, shareParams: bool = True, shareGradParams: bool = True) -> Any:
        """A copy that shares parameters, running statistics and gradients with the original.

        Args:
            shareParams: False for parameters and running statistics of its own.
            shareGradParams: False for gradients of its own.

        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Linear(2, 1))
        >>> net.sharedClone().get(1).weight is net.get(1).weight
        True
        """
        from relume.legacy_nn.rnn.step_clone import shared_clone

        return shared_clone(self, shareParams, shareGradParams)

    def outside(self, insize: Any) -> tuple[int, ...]:
        """The size of the output for an input of a size.

        >>> from relume import legacy_nn as nn
        >>> nn.Linear(3, 7).outside([5, 3])
        (5, 7)
        """
        from relume.legacy_nn.types import dtype_of, sizes_of

        zeros = rl.zeros(tuple(sizes_of(insize)), dtype=dtype_of(self.type()))  # type: ignore[attr-defined]
        return tuple(self.clone().forward(zeros).shape)  # type: ignore[attr-defined]

    def sparseParameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters that the last calls used, and their gradients; here all of them."""
        return self.parameters()  # type: ignore[attr-defined]

    def reinforce(self, reward: Any) -> None:
        """Tells all stochastic modules inside how good the last output was."""
        for child in self.children():  # type: ignore[attr-defined]
            child.reinforce(reward)
