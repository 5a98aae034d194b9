"""DeepMask and SharpMask (facebookresearch/deepmask): masks of the objects in an image."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


@register("nn.SpatialSymmetricPadding")
class SpatialSymmetricPadding(Module):
    """Planes mirrored at their edges, which are repeated: cba|abcd. Negative numbers crop.

    Args:
        pad_l, pad_r, pad_t, pad_b: how much at each side.

    The gradient of the mirrored parts is dropped, as in DeepMask.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SpatialSymmetricPadding(2, 0, 0, 0).forward(rl.tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[2.0, 1.0, 1.0, 2.0, 3.0]]]]
    """

    parameter_names = ()
    pad_l = pad_r = pad_t = pad_b = 0

    def __init__(self, pad_l: int, pad_r: int, pad_t: int, pad_b: int) -> None:
        super().__init__()
        self.pad_l, self.pad_r, self.pad_t, self.pad_b = pad_l, pad_r, pad_t, pad_b

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(f"{self}: expected NxCxHxW, got {nested.describe(input)}")
        for dim, before, after in ((-2, self.pad_t, self.pad_b), (-1, self.pad_l, self.pad_r)):
            input = self._padded(input, dim, int(before), int(after))
        return input

    def _padded(self, input: Tensor, dim: int, before: int, after: int) -> Tensor:
        start = max(0, -before)
        size = input.shape[dim] - start - max(0, -after)
        if size < max(1, before, after):
            raise ValueError(f"{self}: the input is too small: {nested.describe(input)}")
        kept = input.narrow(dim, start, size)
        edges = kept.detach()
        parts = [kept]
        if before > 0:
            parts.insert(0, edges.narrow(dim, 0, before).flip(dim))
        if after > 0:
            parts.append(edges.narrow(dim, size - after, after).flip(dim))
        return rl.cat(parts, dim) if len(parts) > 1 else kept


class Masks(Taped):
    """The base of both models: a trunk, and a branch that says whether there is an object."""

    trunk: Any
    scoreBranch: Any

    def _masks(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """What the trunk gives, and the masks."""
        raise NotImplementedError

    def compute(self, input: Tensor) -> Activation:
        """Masks and scores: a table of both."""
        features, masks = self._masks(input)
        return nested.table([masks, self.scoreBranch(features)])

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        super()._load_fields(fields, version)
        self.modules = self.children()


@register("nn.DeepMask")
class DeepMask(Masks):
    """Masks from the top of a trunk; forward gives a table of masks and scores.

    Attributes:
        trunk, maskBranch, scoreBranch: the networks.
    """

    maskBranch: Any

    def children(self) -> list[Any]:
        return [self.trunk, self.maskBranch, self.scoreBranch]

    def _masks(self, image: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(image)
        return features, self.maskBranch(features)


@register("nn.SharpMask")
class SharpMask(Masks):
    """Masks that are refined from the top of a trunk down; forward gives {masks, scores}.

    Attributes:
        trunk, scoreBranch: networks of a `DeepMask`.
        refs: a table of refinement networks; [0] starts from the trunk's output, the others take
            {features of the trunk, what the one before gave}.
        skpos: which modules of the trunk give these features.
    """

    refs: Any
    skpos: Any = (8, 6, 5, 3)

    def children(self) -> list[Any]:
        others = [self.refs[place] for place in range(len(nested.elements(self.skpos)) + 1)]
        return [self.trunk, self.scoreBranch, *others]

    def _masks(self, image: Tensor) -> tuple[Tensor, Tensor]:
        outputs, value = [], image
        for module in self.trunk.modules:
            value = module(value)
            outputs.append(value)
        masks = self.refs[0](value)
        for place, position in enumerate(nested.elements(self.skpos), 1):
            masks = self.refs[place]([outputs[int(position) - 1], masks])
        return value, masks
