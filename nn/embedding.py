"""Embeddings: rows of a table by index."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.nn import functional as F
from relume.nn import init
from relume.nn.module import Module
from relume.nn.parameter import Parameter, new_parameter


def _checked_padding_idx(padding_idx: int | None, rows: int) -> int | None:
    """The row from the front; it may be given from the end."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise ValueError(f"padding_idx {padding_idx} is no row of a table of {rows}")
    return padding_idx % rows


class _Table(Module):
    weight: Parameter

    def _make_weight(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        given: Tensor | None,
        frozen: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _checked_padding_idx(padding_idx, num_embeddings)
        shape = (num_embeddings, embedding_dim)
        if given is None:
            self.weight = new_parameter(shape, device, dtype)
            self.reset_parameters()
        elif given.shape != shape:
            raise ValueError(f"the weight has shape {given.shape} instead of {shape}")
        else:
            self.weight = Parameter(given)
        self.weight.requires_grad_(not frozen)

    def reset_parameters(self) -> None:
        """Draws new rows from the standard normal distribution; that of padding_idx is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with rl.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Rows of a table by index.

    Args:
        num_embeddings, embedding_dim: rows and columns of the table.
        padding_idx: a row that is zero at first and gets no gradient.
        max_norm: rows with a larger norm are scaled down, in place, when they are used.
        norm_type: of which norm.
        scale_grad_by_freq: divide gradients by how often the row occurs.
        sparse: taken for PyTorch's sake; gradients are dense.

    >>> import relume as rl
    >>> Embedding(10, 3)(rl.tensor([[1, 2], [4, 5]])).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(
            num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with a given table, which does not learn unless freeze is False.

        >>> import relume as rl
        >>> Embedding.from_pretrained(rl.eye(3))(rl.tensor([1]))
        tensor([[0., 1., 0.]])
        """
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        usual = {
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2.0,
            "scale_grad_by_freq": False,
        }
        parts += [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        return ", ".join(parts) + (", sparse=True" if self.sparse else "")


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows, without making the rows.

    Args:
        mode: "sum", "mean" or "max".
        include_last_offset: offsets end with the number of indices.

    `forward(input, offsets)`: input (bags, size) without offsets, or one dimension with the
    starts of the bags in offsets; per_sample_weights multiply rows (mode "sum").

    >>> import relume as rl
    >>> EmbeddingBag(10, 3)(rl.tensor([1, 2, 4]), rl.tensor([0, 2])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_weight(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2.0:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
