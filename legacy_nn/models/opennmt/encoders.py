"""OpenNMT's encoders of several encoders, and of convolutions."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.opennmt.networks import PAD
from relume.legacy_nn.models.opennmt.sequencers import BiEncoder, Encoder
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


class StackedEncoders(Taped):
    """The base of encoders that read a sentence: {all last states, context}."""

    args: Any

    def maskPadding(self) -> None:
        """Lets padding have no influence when lengths are given."""
        for encoder in self.modules:
            encoder.maskPadding()

    def compute(self, input: Activation) -> Activation:
        states, context = self.encode(input)
        return nested.table([nested.table(states), context])

    def encode(self, words: Any, sizes: Any = None) -> tuple[list[Tensor], Tensor]:
        """As `Encoder.encode`, for sentences that are padded on the left."""
        raise NotImplementedError


@register("onmt.PDBiEncoder")
class PDBiEncoder(StackedEncoders):
    """Bidirectional encoders, one above the other, of which each reads fewer steps than the one
    below (Chan et al. 2015, "Listen, attend and spell").

    Args:
        encoders: a list of `BiEncoder`.
        args: a table with `pdbrnn_reduction`, how many steps become one, and `pdbrnn_merge`,
            "concat" or "sum".
    """

    def __init__(self, encoders: list[BiEncoder], args: Any) -> None:
        super().__init__()
        self.args = args
        for encoder in encoders:
            self.add(encoder)

    def encode(self, words: Any, sizes: Any = None) -> tuple[list[Tensor], Tensor]:
        reduction, states = int(self.args["pdbrnn_reduction"]), []
        context: Any = None
        words = padded(words, reduction ** (len(self.modules) - 1))
        for layer, encoder in enumerate(self.modules):
            if layer:
                context = self._reduced(context, reduction)
                words = context.transpose(0, 1)
                sizes = None if sizes is None else [math.ceil(n / reduction) for n in sizes]
            own, context = encoder.encode(words, sizes)
            states += own
        return states, context

    def _reduced(self, context: Any, reduction: int) -> Tensor:
        """Fewer steps: batch x steps / reduction x ..."""
        samples, steps, size = context.shape
        count = steps // reduction
        if self.args["pdbrnn_merge"] == "sum":  # of steps that are `count` apart, as in OpenNMT
            return context.reshape((samples, reduction, count, size)).sum(1)
        return context.reshape((samples, count, size * reduction))


def padded(words: Any, factor: int) -> Any:
    """Sentences with padding on the left, until the steps are a multiple of `factor`."""
    if not isinstance(words, Tensor):
        steps = nested.elements(words)
        missing = -len(steps) % factor
        filler = nested.map_tensors(lambda step: rl.full_like(step, PAD), steps[0])
        return [filler] * missing + steps
    missing = -words.shape[0] % factor
    if not missing:
        return words
    filler = PAD if words.ndim == 2 else 0
    margin = rl.full((missing, *words.shape[1:]), filler, dtype=words.dtype)
    return rl.cat([margin, words], 0)


@register("onmt.DBiEncoder")
class DBiEncoder(PDBiEncoder):
    """Bidirectional encoders, one above the other.

    Args:
        encoders: a list of `BiEncoder`.
        args: as in `PDBiEncoder`, with `pdbrnn_reduction` 1.
    """


@register("onmt.GoogleEncoder")
class GoogleEncoder(StackedEncoders):
    """A bidirectional encoder, and above it one that reads forwards (Wu et al. 2016, "Google's
    neural machine translation system").

    Args:
        first: the `BiEncoder`.
        rest: the `Encoder`.
        args: a table, for files.
    """

    def __init__(self, first: BiEncoder, rest: Encoder, args: Any = None) -> None:
        super().__init__()
        self.args = args
        self.add(first).add(rest)

    def encode(self, words: Any, sizes: Any = None) -> tuple[list[Tensor], Tensor]:
        states, context = self.modules[0].encode(words, sizes)
        more, context = self.modules[1].encode(context.transpose(0, 1), sizes)
        return [*states, *more], context


@register("onmt.CNNEncoder")
class CNNEncoder(StackedEncoders):
    """Reads a sentence by convolutions (Gehring et al. 2016, "A convolutional encoder model");
    there is one last state, the sum of the context.

    Args:
        network: from {words (batch x steps), lengths} to the context.
        args: a table, for files.
    """

    def __init__(self, network: Any, args: Any = None) -> None:
        super().__init__()
        self.args = args
        self.add(network)

    def maskPadding(self) -> None:
        """Does nothing: padding never counts."""

    def encode(self, words: Any, sizes: Any = None) -> tuple[list[Tensor], Tensor]:
        if isinstance(words, Tensor):
            columns: Activation = words.transpose(0, 1)
            steps, samples = words.shape[:2]
        else:
            columns = nested.map_tensors(lambda part: part.transpose(0, 1), words)
            steps, samples = nested.tensors_in(words)[0].shape[:2]
        lengths = rl.tensor([steps] * samples if sizes is None else [int(n) for n in sizes])
        context = self.modules[0]([columns, lengths])
        counted = rl.arange(context.shape[1]).unsqueeze(0) >= (steps - lengths).unsqueeze(1)
        context = context * counted.to(context.dtype).unsqueeze(2)
        return [context.sum(1)], context
