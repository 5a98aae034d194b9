"""The vocabulary of a translation model."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.registry import register, register_also


@register_also("Dict")
@register("onmt.utils.Dict")
class Dict:
    """Words and their numbers.

    Attributes:
        idxToLabel: words by number, from 1.
        labelToIdx: numbers by word.

    >>> from relume import legacy_nn as nn
    >>> words = nn.models.opennmt.dictionary.Dict(["<blank>", "<unk>", "<s>", "</s>", "house"])
    >>> words.lookup("house"), words.lookup(5), words.size()
    (5, 'house', 5)
    >>> words.convertToIdx(["house", "boat"], "<unk>").tolist()
    [5, 2]
    """

    idxToLabel: Any
    labelToIdx: Any

    def __init__(self, labels: Any = ()) -> None:
        self.idxToLabel, self.labelToIdx = Table(), Table()
        self.frequencies, self.special = Table(), Table()
        for number, label in enumerate(labels, 1):
            self.idxToLabel[number] = label
            self.labelToIdx[label] = number

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)

    def size(self) -> int:
        """How many words."""
        return len(self.idxToLabel)

    def lookup(self, key: Any) -> Any:
        """The number of a word, or the word of a number; None when there is none."""
        return (self.labelToIdx if isinstance(key, str) else self.idxToLabel).get(key)

    def convertToIdx(
        self, labels: Any, unkWord: str, bosWord: str | None = None, eosWord: str | None = None
    ) -> Tensor:
        """The numbers of words (int64).

        Args:
            labels: the words.
            unkWord: stands for those that are not known.
            bosWord, eosWord: put before and after, when given.
        """
        words = [*([bosWord] if bosWord else []), *nested.elements(labels)]
        words += [eosWord] if eosWord else []
        unknown = self.lookup(unkWord)
        numbers = [self.lookup(word) for word in words]
        return rl.tensor([int(unknown if n is None else n) for n in numbers], dtype=rl.int64)

    def convertToLabels(self, idx: Any, stop: int | None = None) -> list[str]:
        """The words of numbers, up to `stop`."""
        words = []
        for number in idx.tolist() if isinstance(idx, Tensor) else nested.elements(idx):
            words.append(self.lookup(int(number)))
            if number == stop:
                break
        return words
