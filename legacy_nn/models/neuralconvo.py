"""A chatbot (macournoyer/neuralconvo; Vinyals and Le 2015)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Container
from relume.legacy_nn.registry import register

LONGEST, CHOICES = 20, 5  # words of an answer, and words that are given for each


@register("neuralconvo.Seq2Seq")
class Seq2Seq(Container):
    """Answers sentences, numbers of words from 1.

    Args:
        vocabSize: how many words.
        hiddenSize: of the states.

    Attributes:
        encoder, decoder: the networks; encoderLSTM and decoderLSTM are in them.
        goToken, eosToken: the numbers of the beginning and the end of an answer.
    """

    encoder: Any
    decoder: Any
    goToken: int | None = None
    eosToken: int | None = None

    def __init__(self, vocabSize: int, hiddenSize: int) -> None:
        super().__init__()
        del self.modules
        self.vocabSize, self.hiddenSize = vocabSize, hiddenSize
        parts = []
        for _ in range(2):
            cell = make("FastLSTM", hiddenSize, hiddenSize).maskZero(1)
            net = make("Sequential").add(make("LookupTableMaskZero", vocabSize, hiddenSize))
            parts.append((net.add(make("Sequencer", cell)), cell))
        (self.encoder, self.encoderLSTM), (self.decoder, self.decoderLSTM) = parts
        self.encoder.add(make("Select", 1, -1))
        for layer in (make("Linear", hiddenSize, vocabSize), make("LogSoftMax")):
            self.decoder.add(make("Sequencer", make("MaskZero", layer, 1)))

    def children(self) -> list[Any]:
        return [self.encoder, self.decoder]

    def replace_children(self, function: Any) -> None:
        self.encoder, self.decoder = (function(module) for module in self.children())

    def forwardConnect(self, inputSeqLen: int) -> None:
        """Lets the decoder begin with the states of the encoder after so many words."""
        self.decoderLSTM.userPrevOutput = self.encoderLSTM.outputs[inputSeqLen].clone()
        self.decoderLSTM.userPrevCell = self.encoderLSTM.cells[inputSeqLen].clone()

    def backwardConnect(self, inputSeqLen: int) -> None:
        """Gives the encoder the gradients of the states that the decoder began with."""
        gradient = self.decoderLSTM.getGradHiddenState(0)
        self.encoderLSTM.setGradHiddenState(inputSeqLen, gradient)

    def eval(self, input: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """The likeliest words of an answer.

        Args:
            input: the sentence, a vector of numbers.

        Returns:
            For every word of the answer the five likeliest numbers, the best first, and their
            log-probabilities.
        """
        if self.goToken is None or self.eosToken is None:
            raise ValueError(f"{self.torch_typename}: set goToken and eosToken first")
        if not isinstance(input, Tensor) or input.ndim != 1 or not input.numel():
            raise ValueError(
                f"{self.torch_typename}: expected a vector of numbers of words, "
                f"got {nested.describe(input)}"
            )
        self.encoder.forward(input)
        self.forwardConnect(input.shape[0])
        words, likelihoods, answer = [], [], [int(self.goToken)]
        for _ in range(LONGEST):
            scores = self.decoder.forward(rl.tensor(answer))[len(answer) - 1]
            values, places = rl.topk(scores, CHOICES, 0)
            answer.append(int(places[0].item()) + 1)
            if answer[-1] == int(self.eosToken):
                break
            words.append(places + 1)
            likelihoods.append(values)
        self.decoder.forget()
        self.encoder.forget()
        return words, likelihoods

    def __str__(self) -> str:
        return self.torch_typename
