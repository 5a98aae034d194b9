"""neuraltalk2 (karpathy/neuraltalk2): captions for images.

Its `nn.LanguageModel` is another class than torch-rnn's; files tell them apart by a field.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.models.torch_rnn import next_number
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register, register_variant


@register_variant("nn.LanguageModel", field="core")
class LanguageModel(Taped):
    """Gives log-probabilities of the words of captions.

    Its input is {codes of images (N x K), captions (words x N, from 1, 0 after the end)}, its
    output (words + 2) x N x (vocabulary + 1): the first step takes the image, the second the start
    of the caption, and the last class is its end.

    Attributes:
        core: a graph from {word, states...} to {states..., log-probabilities}.
        lookup_table: the vectors of the words.
        seq_length, vocab_size, num_layers, rnn_size: numbers of words, of layers, and so on.
    """

    core: Any
    lookup_table: Any

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        # Clones for the single steps share the weights of `core`; one is enough here.
        dropped = ("clones", "lookup_tables", "inputs", "lookup_tables_inputs", "state")
        super()._load_fields({k: v for k, v in fields.items() if k not in dropped}, version)

    def children(self) -> list[Any]:
        return [self.core, self.lookup_table]

    def getModulesList(self) -> list[Any]:
        """The two networks inside."""
        return self.children()

    def createClones(self) -> None:
        """Does nothing: one network does all steps."""

    def _first_states(self, codes: Tensor) -> list[Tensor]:
        shape = (codes.shape[0], int(self.rnn_size))
        return [rl.zeros(shape, dtype=codes.dtype) for _ in range(2 * int(self.num_layers))]

    def _step(self, vectors: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        *states, output = nested.elements(self.core([vectors, *states]))
        return output, states

    def compute(self, input: Activation) -> Tensor:
        codes, captions = nested.elements(input)[:2]
        words, samples = captions.shape
        if words != int(self.seq_length) or samples != codes.shape[0]:
            raise ValueError(
                f"{self}: expected captions of {int(self.seq_length)} words x {codes.shape[0]}, "
                f"got {nested.describe(captions)}"
            )
        states = self._first_states(codes)
        output, states = self._step(codes, states)
        outputs = [output]
        for step in range(-1, words):
            numbers = captions[step] if step >= 0 else None
            if numbers is None:
                numbers = rl.full((samples,), int(self.vocab_size) + 1, dtype=rl.int64)
            elif not numbers.any().item():  # all captions have ended
                outputs.append(rl.zeros_like(outputs[-1].detach()))
                continue
            numbers = numbers.to(rl.int64).clamp(1)
            output, states = self._step(self.lookup_table(numbers), states)
            outputs.append(output)
        return rl.stack(outputs, 0)

    def sample(
        self, codes: Tensor, sample_max: int = 1, temperature: float = 1
    ) -> tuple[Tensor, Tensor]:
        """Captions for images.

        Args:
            codes: of the images, N x K.
            sample_max: 1 to take the likeliest words, 0 to draw words.
            temperature: above 1 more surprising, below 1 less.

        Returns:
            The numbers of the words, words x N, and their log-probabilities.
        """
        words, chosen_values = [], []
        with rl.no_grad():
            _, states = self._step(codes, self._first_states(codes))
            numbers = rl.full((codes.shape[0],), int(self.vocab_size) + 1, dtype=rl.int64)
            for _ in range(int(self.seq_length)):
                output, states = self._step(self.lookup_table(numbers), states)
                numbers = rl.tensor(
                    [next_number(row, 1 - sample_max, temperature) for row in output]
                )
                words.append(numbers)
                chosen_values.append(output.gather(1, (numbers - 1).unsqueeze(1)).squeeze(1))
        return rl.stack(words, 0), rl.stack(chosen_values, 0)


@register("nn.LanguageModelCriterion")
class LanguageModelCriterion(Criterion):
    """The mean negative log-probability of the words of captions and of their ends.

    The input is the output of `LanguageModel`, the target the captions.
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        steps, samples, classes = input.shape
        if tuple(target.shape) != (steps - 2, samples):
            raise ValueError(
                f"{self}: expected captions of {steps - 2} words x {samples}, "
                f"got {nested.describe(target)}"
            )
        end = rl.zeros((1, samples), dtype=rl.int64)
        words = rl.cat([target.to(rl.int64), end], 0)
        is_over = (words == 0).to(rl.int64).cumsum(0)
        words = rl.where((words == 0) & (is_over == 1), classes, words)
        counts = (words > 0).to(input.dtype)
        places = (words - 1).clamp(0).unsqueeze(2)
        chosen = input.narrow(0, 1, steps - 1).gather(2, places).squeeze(2)
        return -(chosen * counts).sum() / counts.sum()


@register("nn.FeatExpander")
class FeatExpander(Module):
    """Repeats every row n times, for n captions of one image.

    Args:
        n: how often.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.FeatExpander(2).forward(rl.tensor([[1.0], [2.0]])).tolist()
    [[1.0], [1.0], [2.0], [2.0]]
    """

    parameter_names = ()
    n = 1

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def compute(self, input: Tensor) -> Tensor:
        return input.repeat_interleave(int(self.n), 0)
