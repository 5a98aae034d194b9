"""DenseCap's words for regions.

Its `nn.LanguageModel` is another class than torch-rnn's and neuraltalk2's; files tell them apart by
a field.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.models.torch_rnn import next_number
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register_variant


@register_variant("nn.LanguageModel", field="image_encoder")
class LanguageModel(Holder):
    """Scores of the words of captions: {codes of regions N x D, captions N x words} to
    N x (words + 2) x (vocabulary + 1); captions are numbers from 1, and 0 after the end. The first
    step takes the code, the second the start; the last class is the end.

    Without captions (an empty tensor) it gives captions, N x seq_length.

    Attributes:
        net: the network, made of image_encoder, lookup_table and rnn.
        sample_argmax: take the likeliest words; else draw.
        vocab_size, seq_length, idx_to_token: what is known of words.
    """

    image_encoder: Any
    lookup_table: Any
    rnn: Any
    view_in: Any
    view_out: Any
    sample_argmax = True

    def _with_start(self, captions: Tensor) -> Tensor:
        """Captions with the start before them, and the number of nothing after their ends."""
        words = int(self.vocab_size)
        samples, steps = captions.shape
        self._fit(samples, steps + 2)
        start = rl.full((samples, 1), words + 1, dtype=captions.dtype)
        return rl.cat([start, captions.masked_fill(captions == 0, words + 2)], 1)

    def _fit(self, samples: int, steps: int) -> None:
        self.view_in.resetSize(samples * steps, -1)
        self.view_out.resetSize(samples, steps, -1)

    def _prepare(self, input: Activation) -> Activation:
        codes, captions = nested.elements(input)[:2]
        if captions.ndim != 2 or captions.shape[0] != codes.shape[0]:
            raise ValueError(
                f"{self}: expected captions of {codes.shape[0]} regions, "
                f"got {nested.describe(captions)}"
            )
        return [codes, self._with_start(captions)]

    def compute(self, input: Activation) -> Tensor:
        codes, captions = nested.elements(input)[:2]
        if captions.numel() == 0:
            return self.sample(codes)
        return super().compute(self._prepare(input))

    def updateOutput(self, input: Activation) -> Tensor:
        codes, captions = nested.elements(input)[:2]
        if captions.numel() == 0:
            self.output = self.sample(codes)
            return self.output
        return super().updateOutput(self._prepare(input))

    def backward(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> Activation:
        gradient = super().backward(self._prepare(input), gradOutput, scale)
        return self._of_codes(input, gradient)

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        gradient = super().updateGradInput(self._prepare(input), gradOutput)
        return self._of_codes(input, gradient)

    def accGradParameters(self, input: Activation, gradOutput: Tensor, scale: float = 1) -> None:
        super().accGradParameters(self._prepare(input), gradOutput, scale)

    def _of_codes(self, input: Activation, gradient: Activation) -> Activation:
        captions = nested.elements(input)[1]
        self.gradInput = nested.table([nested.elements(gradient)[0], rl.zeros_like(captions)])
        return self.gradInput

    def getTarget(self, captions: Tensor) -> Tensor:
        """The labels for `nn.TemporalCrossEntropyCriterion`: N x (words + 2)."""
        nothing = rl.zeros((captions.shape[0], 1), dtype=captions.dtype)
        padded = rl.cat([nothing, captions, nothing], 1)
        is_end = (padded == 0).to(rl.int64).cumsum(1) == 2  # the first zero is the code's
        return padded.masked_fill(is_end & (padded == 0), int(self.vocab_size) + 1)

    def sample(self, codes: Tensor) -> Tensor:
        """Captions for codes of regions, N x seq_length (int64)."""
        layers = [layer for layer in self.rnn.modules if hasattr(layer, "remember_states")]
        for layer in layers:
            layer.resetStates()
            layer.remember_states = True
        self._fit(codes.shape[0], 1)
        words: list[Tensor] = []
        try:
            with rl.no_grad():
                self.rnn.forward(self.image_encoder.forward(codes))
                number = rl.full((codes.shape[0], 1), int(self.vocab_size) + 1, dtype=rl.int64)
                for _ in range(int(self.seq_length)):
                    scores = self.rnn.forward(self.lookup_table.forward(number))[:, 0]
                    number = self._next(scores)
                    words.append(number)
        finally:
            for layer in layers:
                layer.resetStates()
                layer.remember_states = False
        return rl.cat(words, 1)

    def _next(self, scores: Tensor) -> Tensor:
        if self.sample_argmax:
            return scores.argmax(1, keepdim=True) + 1
        return rl.tensor([[next_number(row, 1, 1)] for row in scores])

    def decodeSequence(self, captions: Tensor) -> list[str]:
        """The texts of captions, N x words."""
        ends = (0, int(self.vocab_size) + 1)
        texts = []
        for numbers in captions.tolist():
            end = next((place for place, number in enumerate(numbers) if number in ends), None)
            texts.append(" ".join(self.idx_to_token[int(number)] for number in numbers[:end]))
        return texts
