"""Noise-contrastive estimation: training an output layer of many classes on few of them
(Gutmann and Hyvarinen 2010; Mnih and Teh 2012)."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.distances import with_gradient_of
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.printing import lua_number
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("torch.AliasMultinomial")
class AliasMultinomial:
    """Draws numbers with given probabilities in constant time (Walker 1974).

    Attributes:
        J: the other number of every column.
        q: the share of a column that is its own number's.
    """

    torch_typename: str

    def __init__(self, probs: Tensor) -> None:
        count = probs.numel()
        shares = (probs.to(rl.float64) / probs.to(rl.float64).sum() * count).tolist()
        other = [0] * count
        small = [i for i, share in enumerate(shares) if share < 1]
        large = [i for i, share in enumerate(shares) if share >= 1]
        while small and large:
            column, giver = small.pop(), large[-1]
            other[column] = giver + 1
            shares[giver] -= 1 - shares[column]
            if shares[giver] < 1:
                small.append(large.pop())
        self.J = rl.tensor(other, dtype=rl.int64)
        self.q = rl.tensor(shares, dtype=rl.float64)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)

    def _before_cast(self, typename: str, tensors: Any) -> bool:
        return False  # stays as it is when the layer is converted

    def draw(self, count: int) -> Tensor:
        """`count` numbers, from 1; with Torch7's random numbers."""
        columns = rl.randint(0, self.J.numel(), (count,))
        is_own = rl.empty((count,), dtype=rl.float64)
        for place, share in enumerate(self.q.index_select(0, columns).tolist()):
            is_own[place] = rl.empty((1,), dtype=rl.float64).bernoulli_(min(1, share))[0]
        others = self.J.index_select(0, columns).to(rl.int64)
        return rl.where(is_own == 1, columns + 1, others)


@register("nn.NCEModule")
class NCEModule(Linear):
    """An output layer that in training looks at the target class and k noise classes only.

    The input is {x, target}. In training the output is {p of targets, p of noise, unigrams of
    targets, unigrams of noise}, for NCECriterion; in evaluation the probabilities of all
    classes (see `normalized` and `logsoftmax`).

    Args:
        inputSize: length of the input vectors.
        outputSize: number of classes.
        k: noise classes per target.
        unigrams: how often each class comes; becomes their shares, in place.
        Z: what probabilities are divided by; by default estimated from the first batch.
    """

    uncast_names = ("sampleidx",)
    batchnoise = True  # one set of noise classes for the whole batch
    normalized = False  # in evaluation, a true softmax
    logsoftmax = False  # in evaluation, its logarithm

    def __init__(
        self, inputSize: int, outputSize: int, k: int, unigrams: Tensor, Z: float | None = None
    ) -> None:
        super().__init__(inputSize, outputSize)
        if unigrams.numel() != outputSize:
            raise ValueError(
                f"nn.NCEModule: {outputSize} classes need as many unigrams, got {unigrams.numel()}"
            )
        self.k = k
        self.batchnoise = True
        self.unigrams = unigrams
        with rl.no_grad():
            unigrams.div_(unigrams.sum())  # in place, as in Torch7
        self.aliasmultinomial = AliasMultinomial(self.unigrams)
        self.Z = rl.tensor([-1.0 if Z is None else float(Z)], dtype=self.weight.dtype)
        self.output = nested.table([new_empty() for _ in range(4)])
        self.gradInput = nested.table([new_empty(), new_empty()])

    def reset(self, stdv: float | None = None) -> None:
        super().reset(stdv)
        with rl.no_grad():
            self.bias.fill_(-math.log(self.weight.shape[0]))

    def fastNoise(self) -> NCEModule:
        """Kept for old code: noise is always drawn in constant time."""
        return self

    def noiseProb(self, sampleprob: Tensor, sampleidx: Tensor) -> Tensor:
        """The unigrams of classes (from 1)."""
        chosen = self.unigrams.index_select(0, sampleidx.reshape((-1,)) - 1)
        return chosen.to(sampleprob.dtype).reshape(sampleidx.shape)

    def noiseSample(self, sampleidx: Tensor, batchsize: int, k: int) -> Tensor:
        """Fills `sampleidx` with batchsize x k noise classes, from 1."""
        sampleidx.resize_((batchsize, k)).copy_(self._noise(batchsize, k))
        return sampleidx

    def _noise(self, count: int, k: int) -> Tensor:
        return self.aliasmultinomial.draw(count * k).reshape((count, k))

    def compute(self, input: Activation, weight: Tensor, bias: Tensor | None) -> Activation:
        rows, target = nested.elements(input)[:2]
        if rows.ndim != 2 or rows.shape[1] != weight.shape[1]:
            raise ValueError(
                f"{self}: expected {{Nx{weight.shape[1]}, targets}}, got {nested.describe(input)}"
            )
        if not self.train:
            return self._all_classes(rows, weight, bias)
        labels = target.detach().to(rl.int64).reshape((-1,))
        sample = self._of_batch if self.batchnoise else self._of_samples
        return sample(rows, labels, weight, bias)

    def _all_classes(self, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        scores = rl.linear(rows, weight, bias)
        if self.logsoftmax:
            return rl.log_softmax(scores, 1)
        if self.normalized:
            return rl.softmax(scores, 1)
        return rl.exp(scores) / self._constant()

    def _constant(self) -> float:
        constant = self.Z[0].item()
        return constant if constant > 0 else 1.0

    def _probabilities(self, scores: Tensor, noise: slice) -> Tensor:
        """exp(scores) / Z; Z is estimated from the noise of the first batch."""
        values = rl.exp(scores)
        if self.Z[0].item() <= 0:
            mean = values.detach()[:, noise].mean().item()
            self.Z[0] = mean * self.weight.shape[0]
            print(f"normalization constant Z approximated to {lua_number(self.Z[0].item())}")
        return values / self.Z[0].item()

    def _of_batch(self, rows: Tensor, labels: Tensor, weight: Tensor, bias: Any) -> Activation:
        count, k = rows.shape[0], int(self.k)
        noise = self.aliasmultinomial.draw(k)
        self.sampleidx = rl.cat([noise, labels], 0)
        places = self.sampleidx - 1
        scores = rl.linear(rows, weight.index_select(0, places), bias.index_select(0, places))
        values = self._probabilities(scores, slice(0, k))
        of_target = values.narrow(1, k, count).diagonal()
        noise_unigrams = self.noiseProb(rows.detach(), noise)
        return nested.table(
            [
                of_target,
                values.narrow(1, 0, k),
                self.noiseProb(rows.detach(), labels),
                noise_unigrams.unsqueeze(0).expand((count, k)).clone(),
            ]
        )

    def _of_samples(self, rows: Tensor, labels: Tensor, weight: Tensor, bias: Any) -> Activation:
        count, k = rows.shape[0], int(self.k)
        noise = self._noise(count, k)
        self.sampleidx = rl.cat([labels.unsqueeze(1), noise], 1)
        places = self.sampleidx.reshape((-1,)) - 1
        chosen = weight.index_select(0, places).reshape((count, k + 1, -1))
        scores = (chosen * rows.unsqueeze(1)).sum(2)
        scores = scores + bias.index_select(0, places).reshape((count, k + 1))
        values = self._probabilities(scores, slice(1, None))
        unigrams = self.noiseProb(rows.detach(), self.sampleidx)
        return nested.table(
            [
                values.select(1, 0),
                values.narrow(1, 1, k),
                unigrams.select(1, 0),
                unigrams.narrow(1, 1, k),
            ]
        )

    def clearState(self) -> Any:
        Module.clearState(self)
        self.__dict__.pop("sampleidx", None)
        return self


@register("nn.NCECriterion")
class NCECriterion(Criterion):
    """How well the model of an NCEModule tells targets from noise.

    Input: {p of targets, p of noise, unigrams of targets, unigrams of noise}.
    """

    eps = 1e-7  # keeps logarithms and quotients finite

    def __init__(self) -> None:
        super().__init__()
        self.sizeAverage = True
        self.gradInput = nested.table([new_empty() for _ in range(4)])

    def compute(self, input: Activation, target: Any) -> Tensor:
        of_target, of_noise, target_unigrams, noise_unigrams = nested.elements(input)[:4]
        k, eps = of_noise.shape[1], self.eps
        # The probability that a target, or noise, is taken for what it is.
        targets = of_target + target_unigrams.detach() * k + eps
        noise = noise_unigrams.detach() * k
        # Torch7 adds eps to every divisor on the way back.
        is_target = with_gradient_of(
            (of_target / targets).log(), (of_target + eps).log() - targets.log()
        )
        ratio = (of_noise / (of_noise + eps)).detach()
        is_noise = (noise / (with_gradient_of(of_noise, of_noise * ratio) + noise + eps)).log()
        total = -(is_target.sum() + is_noise.sum())
        return total / of_target.shape[0] if self.sizeAverage else total
