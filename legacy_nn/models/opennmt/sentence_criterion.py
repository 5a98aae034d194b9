"""OpenNMT's criterion of whole sentences, for tagging."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.learnt_criterion import LearntCriterion
from relume.legacy_nn.models.opennmt.networks import EOS, PAD
from relume.legacy_nn.registry import register

# The score of every other tag at the end of a sentence, where EOS has 0.
UNLIKELY = math.log(1e-6)
ALMOST_NOTHING = 1e-6


@register("onmt.SentenceNLLCriterion")
class SentenceNLLCriterion(LearntCriterion):
    """The negative log-likelihood of the tags of sentences, with learned scores of one tag after
    another (Collobert et al. 2011, "Natural language processing (almost) from scratch").

    Inputs are samples x tags x steps, targets samples x (steps + 1), with the last EOS and padding
    on the left. Values are sums over the batch; gradients of the scores are means.

    Args:
        args: a dict, which may have `max_grad_norm`; unused.
        outputSize: how many tags, a number or a list of one.
    """

    gradient_names: ClassVar[dict[str, str]] = {"A0": "dA0", "A": "dA"}
    parameter_names = tuple(gradient_names)
    A0: Tensor
    A: Tensor

    def __init__(self, args: Any, outputSize: Any) -> None:
        super().__init__()
        count = nested.elements(outputSize)[0] if nested.is_table(outputSize) else outputSize
        self.outputSize = count
        self.A0, self.A = rl.zeros((count,), dtype=rl.float64), rl.zeros((count, count)).double()
        self.dA0, self.dA = rl.zeros_like(self.A0), rl.zeros_like(self.A)
        self.max_grad_norm = (args or {}).get("max_grad_norm") or 5

    def value(self, input: Tensor, target: Tensor, *parameters: Tensor) -> Tensor:
        first, after = (parameter.to(rl.float64) for parameter in parameters)
        if not isinstance(input, Tensor) or input.ndim != 3 or input.shape[1] != first.numel():
            raise ValueError(
                f"{self}: expected scores of size samples x {first.numel()} x steps, "
                f"got {nested.describe(input)}"
            )
        samples, tags, steps = input.shape
        if not isinstance(target, Tensor) or tuple(target.shape) != (samples, steps + 1):
            raise ValueError(
                f"{self}: expected tags of size {samples}x{steps + 1}, "
                f"got {nested.describe(target)}"
            )
        end = rl.full((samples, tags, 1), UNLIKELY, dtype=rl.float64)
        end[:, EOS - 1] = 0
        scores = rl.cat([input.to(rl.float64), end], 2)
        rows = zip(scores, target.to(rl.int64).tolist(), strict=True)
        losses = [self._loss(sentence, own, first, after) for sentence, own in rows]
        return rl.stack(losses, 0).sum().to(input.dtype)

    def _loss(self, scores: Tensor, tags: list[int], first: Tensor, after: Tensor) -> Tensor:
        """Of one sentence: the score of all ways through it, less that of the tags."""
        start = next((step for step, tag in enumerate(tags) if tag != PAD), len(tags) - 1)
        places = [tag - 1 for tag in tags]
        total = first + scores[:, start]
        own = total[places[start]]
        for step in range(start + 1, len(tags)):
            total = rl.logsumexp(total.unsqueeze(1) + after, [0]) + scores[:, step]
            before, place = places[step - 1], places[step]
            own = own + after[before, place] + scores[place, step]
        return rl.logsumexp(total, [0]) - own

    def accGradParameters(self, input: Tensor, target: Any, scale: float = 1) -> None:
        super().accGradParameters(input, target, scale / input.shape[0])

    def backward(self, input: Tensor, target: Any = None, scale: float = 1) -> Tensor:
        return super().backward(input, target, scale / input.shape[0])

    def normalizeParams(self) -> None:
        """Makes the scores logarithms of probabilities."""
        with rl.no_grad():
            first = self.A0 - self.A0.amin() + ALMOST_NOTHING
            self.A0.copy_((first / first.sum()).log())
            after = self.A - self.A.amin(1, keepdim=True) + ALMOST_NOTHING
            self.A.copy_((after / after.sum(1, keepdim=True)).log())

    postParametersInitialization = normalizeParams

    def viterbiSearch(self, input: Tensor, sourceSizes: Any) -> Tensor:
        """The likeliest tags.

        Args:
            input: scores, samples x tags x steps.
            sourceSizes: lengths of the sentences, which end at the last step.

        Returns:
            samples x steps, tags from 1; 0 for padding.
        """
        samples, tags, steps = input.shape
        end = rl.full((tags,), 0.0, dtype=rl.float64)
        found = rl.zeros((samples, steps), dtype=rl.int64)
        lengths = sourceSizes.tolist() if isinstance(sourceSizes, Tensor) else sourceSizes
        for sample, length in enumerate(nested.elements(list(lengths))):
            start = steps - int(length)
            best = self.A0.to(rl.float64) + input[sample, :, start].to(rl.float64)
            came_from = []
            for step in range(start + 1, steps + 1):
                own = input[sample, :, step].to(rl.float64) if step < steps else end
                best, places = (best.unsqueeze(1) + self.A.to(rl.float64)).max(0)
                best = best + own
                came_from.append(places.tolist())
            tag = int(best.argmax().item())
            for step in range(steps - 1, start - 1, -1):
                tag = int(came_from[step - start][tag])
                found[sample, step] = tag + 1
        return found
