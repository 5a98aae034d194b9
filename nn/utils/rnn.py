"""Batches of sequences of different lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor


class PackedSequence(NamedTuple):
    """Sequences of different lengths, longest first, time step after time step, without padding.

    Attributes:
        data: shape (sum of lengths, ...).
        batch_sizes: how many sequences have each time step (int64).
        sorted_indices: where the sequences were before they were sorted by length, or None.
        unsorted_indices: the inverse permutation, or None.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with its data in another type or on another device."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def double(self) -> PackedSequence:
        """The same with float64 data."""
        return self.to(rl.float64)

    def float(self) -> PackedSequence:
        """The same with float32 data."""
        return self.to(rl.float32)


def _lengths_of(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


def _inverse(permutation: list[int]) -> list[int]:
    result = [0] * len(permutation)
    for position, value in enumerate(permutation):
        result[value] = position
    return result


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch.

    Args:
        input: shape (time, batch, ...), or (batch, time, ...) with batch_first.
        lengths: of every sequence, a list or a tensor.
        enforce_sorted: the sequences come longest first; otherwise they are sorted, and
            `pad_packed_sequence` puts them back.

    Raises:
        ValueError: lengths that do not fit the batch, are not positive, or are not sorted.

    >>> import relume as rl
    >>> packed = pack_padded_sequence(rl.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 5, 3], [2, 2, 1])
    """
    if batch_first:
        input = input.transpose(0, 1)
    sizes = _lengths_of(lengths)
    if len(sizes) != input.shape[1]:
        raise ValueError(f"{len(sizes)} lengths for a batch of {input.shape[1]} sequences")
    if not sizes or min(sizes) <= 0 or max(sizes) > input.shape[0]:
        raise ValueError(f"lengths must be between 1 and {input.shape[0]}, they are {sizes}")
    sorted_indices = unsorted_indices = None
    if enforce_sorted:
        if any(a < b for a, b in itertools.pairwise(sizes)):
            raise ValueError(
                "the sequences must come longest first; pass enforce_sorted=False to have them "
                "sorted"
            )
    else:
        order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        sizes = [sizes[i] for i in order]
        sorted_indices, unsorted_indices = rl.tensor(order), rl.tensor(_inverse(order))
        input = input.index_select(1, sorted_indices)
    batch_sizes = _batch_sizes(sizes)
    rows = [t * input.shape[1] + b for t, count in enumerate(batch_sizes) for b in range(count)]
    flat = input.reshape((input.shape[0] * input.shape[1], *input.shape[2:]))
    data = flat.index_select(0, rl.tensor(rows))
    return PackedSequence(data, rl.tensor(batch_sizes), sorted_indices, unsorted_indices)


def _batch_sizes(sorted_lengths: list[int]) -> list[int]:
    """How many of the sequences, longest first, have each time step."""
    sizes = []
    count = len(sorted_lengths)
    for step in range(sorted_lengths[0]):
        while sorted_lengths[count - 1] <= step:
            count -= 1
        sizes.append(count)
    return sizes


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Unpacks; the inverse of pack_padded_sequence.

    Args:
        total_length: pad to this length, at least that of the longest sequence.

    Returns:
        The padded batch, (time, batch, ...) or (batch, time, ...) with batch_first, and the
        lengths (int64).

    >>> import relume as rl
    >>> packed = pack_sequence([rl.tensor([1, 2, 3]), rl.tensor([4, 5])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    batch_sizes = sequence.batch_sizes.tolist()
    steps, batch = len(batch_sizes), batch_sizes[0]
    if total_length is not None:
        if total_length < steps:
            raise ValueError(f"total_length is {total_length}, the longest sequence has {steps}")
        steps = total_length
    # Every place of the padded batch takes a row of the data, or the padding at the end of it.
    padding = sequence.data.shape[0]
    rows = [[padding] * batch for _ in range(steps)]
    next_row = 0
    for step, count in enumerate(batch_sizes):
        rows[step][:count] = range(next_row, next_row + count)
        next_row += count
    lengths = [sum(count > b for count in batch_sizes) for b in range(batch)]
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices.tolist()
        rows = [[row[i] for i in order] for row in rows]
        lengths = [lengths[i] for i in order]
    if batch_first:
        rows = [list(column) for column in zip(*rows, strict=True)]
    data = sequence.data
    filler = rl.full((1, *data.shape[1:]), padding_value, dtype=data.dtype)
    places = rl.tensor(rows)
    padded = rl.cat([data, filler]).index_select(0, places.reshape(-1))
    return padded.reshape((*places.shape, *data.shape[1:])), rl.tensor(lengths)


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths as one padded batch.

    Args:
        sequences: shapes (length, ...), of which only the length may differ.
        padding_side: "right" or "left".

    Returns:
        Shape (time, batch, ...), or (batch, time, ...) with batch_first.

    >>> import relume as rl
    >>> pad_sequence([rl.tensor([1, 2, 3]), rl.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be 'left' or 'right', not {padding_side!r}")
    sequences = list(sequences)
    if not sequences:
        raise ValueError("pad_sequence() needs at least one sequence")
    longest = max(sequence.shape[0] for sequence in sequences)
    padded = []
    for sequence in sequences:
        shape = (longest - sequence.shape[0], *sequence.shape[1:])
        filler = rl.full(shape, padding_value, dtype=sequence.dtype)
        parts = [sequence, filler] if padding_side == "right" else [filler, sequence]
        padded.append(rl.cat(parts))
    return rl.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each with its own length.

    >>> import relume as rl
    >>> [s.tolist() for s in unpad_sequence(rl.tensor([[1, 4], [2, 0]]), [2, 1])]
    [[1, 2], [4]]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:n] for sequence, n in zip(batch, _lengths_of(lengths), strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences of different lengths.

    >>> import relume as rl
    >>> pack_sequence([rl.tensor([1, 2, 3]), rl.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """
    sequences = list(sequences)
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a PackedSequence, each with its own length.

    >>> import relume as rl
    >>> [s.tolist() for s in unpack_sequence(pack_sequence([rl.tensor([1, 2]), rl.tensor([3])]))]
    [[1, 2], [3]]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
