"""Counts of predictions by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters import Table
from relume.legacy_nn.registry import register


@register("optim.ConfusionMatrix")
class ConfusionMatrix:
    """Counts how often each class was predicted for each class; rows are the targets.

    Args:
        nclasses: the number of classes, or a list of their names.
        classes: names, when the number is given.

    Attributes:
        mat: the counts, int64 of shape (nclasses, nclasses).
        valids, unionvalids: recall and intersection over union per class (after
            `updateValids`), float32 of shape (nclasses,).
        totalValid, averageValid, averageUnionValid: the part of all that is right, and the means
            over classes that occur.

    Classes are numbered from 1. From the optim package of Torch7.

    >>> confusion = ConfusionMatrix(["cat", "dog"])
    >>> confusion.add(1, 1)
    >>> confusion.add(1, 2)
    >>> [line.strip() for line in str(confusion).splitlines()][-1]
    '+ global correct: 50%'
    """

    def __init__(self, nclasses: int | Sequence[str] | Table, classes: Any = None) -> None:
        if isinstance(nclasses, Table):
            nclasses = nclasses.as_list()
        if isinstance(nclasses, Sequence):
            nclasses, classes = len(nclasses), nclasses
        self.nclasses = nclasses
        self.classes = list(classes.as_list() if isinstance(classes, Table) else classes or [])
        self.mat = rl.zeros(nclasses, nclasses, dtype=rl.int64)
        self.valids = rl.zeros(nclasses)
        self.unionvalids = rl.zeros(nclasses)
        self.totalValid = self.averageValid = self.averageUnionValid = 0.0

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        """Takes over the fields of a file."""
        self.__dict__.update(fields)
        self.nclasses = int(fields["nclasses"])
        self.classes = list(fields.get("classes") or [])

    def add(self, prediction: int | Tensor, target: int | Tensor) -> None:
        """Counts one prediction.

        Args:
            prediction: a class, or scores of all classes.
            target: a class (below 1: unknown, not counted), or scores of all classes.
        """
        self._count([_class_of(prediction)], [_class_of(target)])

    def batchAdd(self, predictions: Tensor, targets: Tensor) -> None:
        """Counts many predictions.

        Args:
            predictions: classes of shape (n,), or scores of shape (n, nclasses).
            targets: classes of shape (n,) (below 1: unknown, not counted), or scores.
        """
        self._count(_classes_of(predictions), _classes_of(targets))

    def _count(self, predictions: list[int], targets: list[int]) -> None:
        for prediction, target in zip(predictions, targets, strict=True):
            if target < 1:
                continue
            if not (0 < prediction <= self.nclasses and 0 < target <= self.nclasses):
                raise ValueError(
                    f"ConfusionMatrix: classes go from 1 to {self.nclasses}, got prediction "
                    f"{prediction} and target {target}"
                )
            self.mat[target - 1, prediction - 1] += 1

    def zero(self) -> None:
        """Forgets all counts."""
        self.mat.zero_()
        self.valids.zero_()
        self.unionvalids.zero_()
        self.totalValid = self.averageValid = self.averageUnionValid = 0.0

    def updateValids(self) -> None:
        """Computes the percentages from the counts."""
        counts = self.mat.to(rl.float32)
        right, rows, columns = counts.diagonal(), counts.sum(1), counts.sum(0)
        self.valids = right / rows
        self.unionvalids = right / (rows + columns - right)
        occurring = [value for value in self.valids.tolist() if not math.isnan(value)]
        unions = [value for value in self.unionvalids.tolist() if not math.isnan(value)]
        self.averageValid = _ratio(sum(occurring), len(occurring))
        self.averageUnionValid = _ratio(sum(unions), len(occurring))
        total = self.mat.sum().item()
        self.totalValid = _ratio(self.mat.diagonal().sum().item(), total)

    def farFrr(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """False reject and false accept rates.

        Returns:
            Rates per class (-1 where a class does not occur), first of rejects, then of accepts;
            then the same for the classes that occur only. float64.
        """
        counts = self.mat.to(rl.float64)
        rows = counts.sum(1, keepdim=True)
        occurs = rows.squeeze(1) > 0
        rates = rl.where(rows > 0, counts / rows, 0.0)
        rejected = 1 - rates.diagonal()
        # How often the others, each class weighing the same, are taken for this one.
        accepted = (rates.sum(0) - rates.diagonal()) / (occurs.sum() - occurs.to(rl.int64))
        everywhere = [rl.where(occurs, rates, -1.0) for rates in (rejected, accepted)]
        return (*everywhere, rejected[occurs], accepted[occurs])

    def __str__(self) -> str:
        self.updateValids()
        width = max(8, 1 + math.ceil(math.log10(max(1, self.mat.max().item()))))
        lines = ["ConfusionMatrix:"]
        for i, row in enumerate(self.mat.tolist()):
            start = "[[" if i == 0 else " ["
            end = "]]  " if i == self.nclasses - 1 else "]   "
            name = f"\t[class: {self.classes[i]}]" if self.classes else ""
            counts = "".join(f"{count:{width}d}" for count in row)
            lines.append(f"{start}{counts}{end}{100 * self.valids[i].item():.3f}% {name}")
        lines += [
            f" + average row correct: {100 * self.averageValid:.14g}% ",
            f" + average rowUcol correct (VOC measure): {100 * self.averageUnionValid:.14g}% ",
            f" + global correct: {100 * self.totalValid:.14g}%",
        ]
        return "\n".join(lines)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _class_of(value: int | float | Tensor) -> int:
    """A class (1-based) given as a number, or as the largest of its scores."""
    if isinstance(value, Tensor):
        return value.argmax().item() + 1 if value.numel() > 1 else int(value.item())
    return int(value)


def _classes_of(values: Tensor) -> list[int]:
    if values.ndim > 1 and values.shape[-1] > 1:
        return (values.argmax(-1) + 1).tolist()
    return [int(value) for value in values.reshape(-1).tolist()]
