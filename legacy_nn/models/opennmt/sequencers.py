"""Encoders and decoders of OpenNMT: a network that is applied word by word.

Sentences are steps x batch numbers of words, or lists of what a step's network takes.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.opennmt.cells import VARIATIONAL, VariationalDropout
from relume.legacy_nn.models.opennmt.networks import MaskedSoftmax
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import dtype_of


def steps_of(words: Any) -> list[Activation]:
    """What the network gets, step by step."""
    if isinstance(words, Tensor):
        return [words[step] for step in range(words.shape[0])]
    return nested.elements(words)


def samples_in(step: Activation) -> int:
    return nested.tensors_in(step)[0].shape[0]


@register("onmt.Sequencer")
class Sequencer(Taped):
    """The base of encoders and decoders.

    Attributes:
        args: a table with `rnnSize`, `numStates` (or, in older files, `numEffectiveLayers`), ...
    """

    args: Any

    @property
    def step_network(self) -> Any:
        """The network of one step."""
        return self.modules[0]

    def _start(self) -> None:
        """Before a sentence: its steps have one mask of dropout."""
        if self.train and self.args.get("dropout_type") == VARIATIONAL:
            VariationalDropout.initializeNetwork(self.step_network)

    def _zeros(self, samples: int) -> list[Tensor]:
        parameters = self.step_network.parameters()[0]
        dtype = parameters[0].dtype if parameters else dtype_of("torch.FloatTensor")
        shape = (samples, int(self.args["rnnSize"]))
        count = self.args.get("numStates") or self.args["numEffectiveLayers"]
        return [rl.zeros(shape, dtype=dtype) for _ in range(int(count))]


@register("onmt.Encoder")
class Encoder(Sequencer):
    """Reads a sentence: gives {last states, states of all steps (batch x steps x size)}.

    Args:
        network: from {states..., word} to the next states.
        args: as the attribute.
    """

    maskPad = False

    def __init__(self, network: Any, args: Any) -> None:
        super().__init__()
        self.network = network
        self.args = args
        self.add(network)

    def compute(self, input: Activation) -> Activation:
        states, context = self.encode(input)
        return nested.table([nested.table(states), context])

    def maskPadding(self) -> None:
        """Lets padding have no influence when lengths are given."""
        self.maskPad = True

    def encode(
        self, words: Any, sizes: Any = None, pad_left: bool = True
    ) -> tuple[list[Tensor], Tensor]:
        """Reads a sentence, on the tape.

        Args:
            words: the steps.
            sizes: lengths of the sentences, where some are padded.
            pad_left: on which side.

        Returns:
            The last states, and the top states of all steps.
        """
        self._start()
        steps = steps_of(words)
        states = self._zeros(samples_in(steps[0]))
        last, tops = states, []
        for step, word in enumerate(steps):
            states = self._next(states, word)
            if self.maskPad and sizes is not None:
                ends = mask([len(steps) - s if pad_left else s - 1 for s in sizes], step, pad_left)
                ends = ends.to(states[0].dtype)
                if pad_left:  # padding leaves the states at zero
                    states = [state * ends for state in states]
                else:  # the last word has the last states
                    last = [o * (1 - ends) + s * ends for o, s in zip(last, states, strict=True)]
            tops.append(states[-1])
        is_right_padded = self.maskPad and sizes is not None and not pad_left
        return (last if is_right_padded else states), rl.stack(tops, 1)

    def _next(self, states: list[Tensor], word: Activation) -> list[Tensor]:
        outputs = self.step_network([*states, word])
        return nested.elements(outputs) if nested.is_table(outputs) else [outputs]


def mask(places: list[Any], step: int, reached: bool) -> Tensor:
    """Per sample a row: has `step` reached its place (or, is it the place)?"""
    numbers = [int(place) for place in places]
    return rl.tensor([[step >= n if reached else step == n] for n in numbers])


@register("onmt.BiEncoder")
class BiEncoder(Taped):
    """Two encoders that read a sentence from both ends, whose states are joined or added.

    Args:
        fwd, bwd: the encoders.
        args: a table with `brnn_merge` (or, in older files, `merge`), "concat" or "sum".
    """

    args: Any

    def __init__(self, fwd: Encoder, bwd: Encoder, args: Any) -> None:
        super().__init__()
        self.fwd, self.bwd = fwd, bwd
        self.args = args
        self.add(fwd).add(bwd)

    def maskPadding(self) -> None:
        """Lets padding have no influence when lengths are given."""
        for encoder in self.modules:
            encoder.maskPadding()

    def compute(self, input: Activation) -> Activation:
        states, context = self.encode(input)
        return nested.table([nested.table(states), context])

    def encode(
        self, words: Any, sizes: Any = None, pad_left: bool = True
    ) -> tuple[list[Tensor], Tensor]:
        """As `Encoder.encode`."""
        forwards, backwards = self.modules
        states, context = forwards.encode(words, sizes, pad_left)
        reversed_words = steps_of(words)[::-1]
        others, other_context = backwards.encode(reversed_words, sizes, not pad_left)
        merged = [self._merge(a, b) for a, b in zip(states, others, strict=True)]
        return merged, self._merge(context, other_context.flip(1))

    def _merge(self, first: Tensor, second: Tensor) -> Tensor:
        if (self.args.get("brnn_merge") or self.args["merge"]) == "sum":
            return first + second
        return rl.cat([first, second], first.ndim - 1)


@register("onmt.Decoder")
class Decoder(Sequencer):
    """Writes a sentence: {words, first states, context} to its outputs, a table with one per step.

    Args:
        network: from {states..., word, context[, last output]} to {next states..., output}.
        generator: log-probabilities from an output.
        args: as the attribute, with `inputFeed`.
    """

    def __init__(self, network: Any, generator: Any, args: Any) -> None:
        super().__init__()
        self.network, self.generator = network, generator
        self.args = args
        self.add(network).add(generator)

    def compute(self, input: Activation) -> Activation:
        self._start()
        words, states, context = nested.elements(input)[:3]
        states, output, outputs = nested.elements(states), None, []
        for word in steps_of(words):
            output, states = self.step(word, states, context, output)
            outputs.append(output)
        return nested.table(outputs)

    def step(
        self, word: Activation, states: list[Tensor], context: Tensor, last: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """One step.

        Args:
            word: numbers of the words (or what the network takes), one per sample.
            states: of the step before.
            context: from the encoder.
            last: output of the step before; None at the first.

        Returns:
            The output and the next states.
        """
        inputs = [*states, word, context]
        if self.args.get("inputFeed"):
            inputs.append(rl.zeros_like(states[-1].detach()) if last is None else last)
        *states, output = nested.elements(self.step_network(inputs))
        return output, states

    def maskPadding(self, sizes: Any = None, length: int | None = None) -> None:
        """Lets attention pass over the padding on the left of source sentences.

        Args:
            sizes: lengths of the sentences; None to look at everything.
            length: with padding.
        """
        from relume.legacy_nn.normalization import SoftMax  # type: ignore[attr-defined]

        def mask_attention(module: Any) -> Any:
            if getattr(module, "name", None) != "softmaxAttn":
                return module
            changed: Any = SoftMax() if sizes is None else MaskedSoftmax(sizes, int(length or 0))
            changed.name = "softmaxAttn"
            return changed

        self.step_network.replace(mask_attention)
