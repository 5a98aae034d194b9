"""Rows of tables, looked up by number."""

from __future__ import annotations

from relume import no_grad
from relume._C import Tensor
from relume.nn.functional._common import ops


def _shorten_rows(weight: Tensor, rows: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are longer than `max_norm` down to it, in place."""
    with no_grad():
        rows = rows.flatten()  # a row that comes twice is written twice, with one value
        chosen = weight.index_select(0, rows)
        norms = chosen.norm(norm_type, 1, True)
        scale = ops["where"](norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        weight[rows] = chosen * scale


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` with the numbers in `input` (0-based).

    Args:
        input: integers of any shape.
        weight: shape (rows, width).
        padding_idx: a row that gets no gradient (negative: from the end).
        max_norm: rows that are used and longer than this are shortened, in place.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide a row's gradient by how often `input` holds it.
        sparse: has no effect: gradients are dense.

    Returns:
        Shape (*input.shape, width).

    >>> import relume as rl
    >>> embedding(rl.tensor([1, 0]), rl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    if padding_idx is None and not scale_grad_by_freq:
        return ops["embedding"](weight, input)
    padding = -1 if padding_idx is None else _row_number("padding_idx", padding_idx, weight)
    return ops["embedding"](weight, input, padding, scale_grad_by_freq)


def _row_number(name: str, index: int, weight: Tensor) -> int:
    rows = weight.size(0)
    if not -rows <= index < rows:
        raise ValueError(f"{name} {index} is outside of a table of {rows} rows")
    return index % rows


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of rows of `weight`, one for each bag of numbers.

    Args:
        input: integers: shape (bags, length), or all bags one after the other in shape (total).
        weight: shape (rows, width).
        offsets: with a 1-d input, where each bag begins.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in `embedding`.
        mode: "sum", "mean" or "max".
        per_sample_weights: a factor for each number; mode "sum" only.
        include_last_offset: the last of `offsets` is the end of the last bag.
        padding_idx: a row that does not count.

    Returns:
        Shape (bags, width).

    >>> import relume as rl
    >>> table = rl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding_bag(rl.tensor([0, 1, 1]), table, rl.tensor([0, 2]), mode="sum")
    tensor([[4., 6.],
            [3., 4.]])
    """
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    padding = -1 if padding_idx is None else _row_number("padding_idx", padding_idx, weight)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: a 2-d input is one bag per row; offsets must be None")
        bags, length = input.shape
        offsets = (
            ops["arange"](0, bags * length, length) if length else ops["zeros"](bags, dtype="int64")
        )
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.flatten()
        input = input.flatten()
    elif offsets is None:
        raise ValueError("embedding_bag: a 1-d input needs offsets, where each bag begins")
    elif include_last_offset:
        offsets = offsets[:-1]
    return ops["embedding_bag"](
        weight, input, offsets, scale_grad_by_freq, mode, per_sample_weights, padding
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers as vectors that are 1 at the index and 0 elsewhere.

    Args:
        tensor: integers from 0, of any shape.
        num_classes: the length of the vectors; one more than the largest when -1.

    >>> import relume as rl
    >>> one_hot(rl.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    return ops["one_hot"](tensor, num_classes)
