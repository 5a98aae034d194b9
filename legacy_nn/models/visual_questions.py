"""Questions about images: visdial (batra-mlp-lab/visdial), HieCoAttenVQA
(jiasenlu/HieCoAttenVQA), AdaptiveAttention (jiasenlu/AdaptiveAttention)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register, register_also
from relume.legacy_nn.table_layers import TableLayer

# ---- masks (visdial) ----


@register("nn.MaskFuture")
class MaskFuture(Module):
    """Makes what stands above the diagonal of matrices zero: N x steps x steps.

    Args:
        numClasses: how many steps.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.MaskFuture(2).forward(rl.ones(1, 2, 2)).tolist()
    [[[1.0, 0.0], [1.0, 1.0]]]
    """

    parameter_names = ()
    mask: Tensor

    def __init__(self, numClasses: int) -> None:
        super().__init__()
        self.mask = rl.ones(1, numClasses, numClasses, dtype=self.output.dtype).triu(1)

    def compute(self, input: Tensor) -> Tensor:
        size = self.mask.shape[-1]
        if not isinstance(input, Tensor) or tuple(input.shape[-2:]) != (size, size):
            raise ValueError(f"{self}: expected N x {size} x {size}, got {nested.describe(input)}")
        return input.masked_fill(self.mask[0] != 0, 0)


@register_also("nn.maskSoftMax")
@register("nn.MaskSoftMax")
class MaskSoftMax(TableLayer):
    """`SoftMax` of the elements that a mask leaves: {scores, mask}, where the mask is 1 for those
    that do not count.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.MaskSoftMax().forward([rl.zeros(1, 3), rl.tensor([[0, 1, 0]])]).tolist()
    [[0.5, 0.0, 0.5]]
    """

    def compute(self, input: Activation) -> Tensor:
        scores, mask = self._elements(input, 2)[:2]
        if scores.shape != mask.shape or scores.ndim == 0:
            raise ValueError(f"{self}: expected scores and a mask, got {nested.describe(input)}")
        # As there, a very small number: rows without any element give equal shares.
        return rl.softmax(scores.masked_fill(mask != 0, -9999999), 1 if scores.ndim > 1 else 0)


@register("nn.MaskTime")
class MaskTime(TableLayer):
    """Vectors at every step that holds a word: {words steps x N (0 for none), vectors N x D} to
    steps x N x D.

    Args:
        featSize: D.
    """

    def __init__(self, featSize: int) -> None:
        super().__init__()
        self.featSize = featSize

    def compute(self, input: Activation) -> Tensor:
        words, vectors = self._elements(input, 2)[:2]
        if words.ndim != 2 or vectors.numel() != words.shape[1] * int(self.featSize):
            raise ValueError(
                f"{self}: expected words steps x N and vectors N x {int(self.featSize)}, "
                f"got {nested.describe(input)}"
            )
        rows = vectors.reshape((1, words.shape[1], int(self.featSize)))
        return rows * (words != 0).to(vectors.dtype).unsqueeze(2)


@register("nn.ReplaceZero")
class ReplaceZero(Module):
    """A number in the place of every zero.

    Args:
        constant: the number.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ReplaceZero(9).forward(rl.tensor([0.0, 2.0])).tolist()
    [9.0, 2.0]
    """

    parameter_names = ()
    constant: float

    def __init__(self, constant: float) -> None:
        super().__init__()
        self.constant = constant

    def compute(self, input: Tensor) -> Tensor:
        return input.masked_fill(input == 0, self.constant)


@register("nn.FeatExpanderConv")
class FeatExpanderConv(Module):
    """Repeats every sample n times, for n captions of one image.

    Args:
        n: how often.
    """

    parameter_names = ()
    n = 1

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def compute(self, input: Tensor) -> Tensor:
        return input.repeat_interleave(int(self.n), 0)


# ---- attention at three levels (HieCoAttenVQA) ----


@register("nn.cnnModel")
class cnnModel(Holder):
    """The features of an image, from the network `cnn_part`."""

    held_name = "cnn_part"


@register("nn.recursive_atten")
class recursive_atten(Holder):
    """The features of the three levels together, by the network `atten_encode`."""

    held_name = "atten_encode"


class Level(Taped):
    """The base of the levels: networks in fields, and a table of what they find."""

    held_names: tuple[str, ...] = ()
    atten: Any

    def children(self) -> list[Any]:
        return [getattr(self, name) for name in self.held_names]

    def getModulesList(self) -> list[Any]:
        """The networks inside."""
        return self.children()

    def replace_children(self, function: Any) -> None:
        for name in self.held_names:
            setattr(self, name, function(getattr(self, name)))

    def _attended(self, words: Tensor, image: Tensor, mask: Tensor) -> list:
        """Question and image as attention sees them, and where it looks, when it says so."""
        return nested.elements(self.atten([words, image, mask]))


@register("nn.word_level")
class word_level(Level):
    """{words N x steps, 0 for none; features of images} to {vectors of the words, features, the
    attended question, the attended image, the mask of the steps without a word, ...}.

    Attributes:
        LE, atten, cnn: networks for words, attention and features.
    """

    held_names = ("cnn", "LE", "atten")
    cnn: Any
    LE: Any

    def compute(self, input: Activation) -> Activation:
        words, image = nested.elements(input)[:2]
        mask = (words.detach() == 0).to(rl.uint8)
        features, vectors = self.cnn(image), self.LE(words)
        question, seen, *where = self._attended(vectors, features, mask)
        return nested.table([vectors, features, question, seen, mask, *where])


@register("nn.phrase_level")
class phrase_level(Level):
    """{vectors of words, lengths, features of images, mask} to {vectors of phrases, the attended
    question, the attended image, ...}.

    Attributes:
        conv, atten: networks for phrases and attention.
    """

    held_names = ("conv", "atten")
    conv: Any

    def compute(self, input: Activation) -> Activation:
        words, _, image, mask = nested.elements(input)[:4]
        phrases = self.conv(words)
        return nested.table([phrases, *self._attended(phrases, image, mask)])


@register("nn.ques_level")
class ques_level(Level):
    """{vectors of phrases, lengths, features of images, mask} to {the attended question, the
    attended image, ...}, of the states of a recurrent network.

    Attributes:
        core: from {vector, states...} to {states..., output}.
        atten: the network for attention.
        rnn_size, num_layers: of the recurrent network.
    """

    held_names = ("core", "atten")
    core: Any

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        # Clones for the single steps share the weights of `core`; one is enough here.
        dropped = ("cores", "fore_state", "fore_inputs", "init_state")
        super()._load_fields({k: v for k, v in fields.items() if k not in dropped}, version)

    def compute(self, input: Activation) -> Activation:
        phrases, lengths, image, mask = nested.elements(input)[:4]
        samples, steps, _ = phrases.shape
        states = [
            rl.zeros((samples, int(self.rnn_size)), dtype=phrases.dtype)
            for _ in range(2 * int(self.num_layers))
        ]
        longest = int(lengths.amax().item())
        outputs = []
        for step in range(longest):
            parts = nested.elements(self.core([phrases[:, step], *states]))
            is_over = (mask[:, step] != 0).unsqueeze(1)
            *states, output = [part.masked_fill(is_over, 0) for part in parts]
            outputs.append(output)
        shape = (samples, int(self.rnn_size))
        nothing = rl.zeros(shape, dtype=phrases.dtype)
        outputs += [nothing] * (steps - longest)
        return nested.table(self._attended(rl.stack(outputs, 1), image, mask))
