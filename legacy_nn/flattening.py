"""getParameters: many tensors become views of one flat vector."""

from __future__ import annotations

import itertools

import relume as rl
from relume import Tensor
from relume.tensor.extent import span


class Piece:
    """A stretch of one storage that parameters cover."""

    def __init__(self, start: int, stop: int):
        self.start = start
        self.stop = stop
        self.position = 0  # in the flat vector


def storage_key(tensor: Tensor) -> tuple:
    """Tells storages apart."""
    return tensor.data_ptr() - tensor.storage_offset() * tensor.itemsize, tensor.dtype


def find_pieces(tensors: list[Tensor]) -> dict[tuple, list[Piece]]:
    """Per storage, in the order in which storages are met: the stretches that are used."""
    spans: dict[tuple, list[tuple[int, int]]] = {}
    for tensor in tensors:
        spans.setdefault(storage_key(tensor), []).append(span(tensor))
    pieces = {}
    for key, used in spans.items():
        merged: list[Piece] = []
        for start, stop in sorted(used):
            if merged and start < merged[-1].stop:
                merged[-1].stop = max(merged[-1].stop, stop)
            else:
                merged.append(Piece(start, stop))
        pieces[key] = merged
    return pieces


def whole(pieces: list[Piece]) -> bool:
    """Do the pieces follow each other without a gap?"""
    return all(a.stop == b.start for a, b in itertools.pairwise(pieces))


def flatten(tensors: list[Tensor]) -> Tensor:
    """One vector that all tensors become views of; memory that two share appears once.

    When they already lie side by side in one storage, this is a view of it.

    >>> import relume as rl
    >>> from relume.legacy_nn.flattening import flatten
    >>> a, b = rl.ones(2, 2), rl.zeros(3)
    >>> flat = flatten([a, b])
    >>> _ = flat.fill_(7)
    >>> a.tolist(), b.tolist()
    ([[7.0, 7.0], [7.0, 7.0]], [7.0, 7.0, 7.0])
    """
    tensors = [tensor for tensor in tensors if tensor.numel()]
    if not tensors:
        return rl.zeros((0,), dtype=rl.float64)
    types = {tensor.dtype for tensor in tensors}
    if len(types) > 1:
        raise TypeError(
            "getParameters: the parameters have different types "
            f"({', '.join(sorted(str(t.torch_typename) for t in tensors))}); "
            "convert the network with float() or double() first"
        )
    pieces = find_pieces(tensors)
    stretches = [piece for group in pieces.values() for piece in group]
    if len(pieces) == 1 and whole(stretches):
        length = stretches[-1].stop - stretches[0].start
        return tensors[0].detach().as_strided((length,), (1,), stretches[0].start)
    return _move(tensors, pieces, stretches)


def _move(tensors: list[Tensor], pieces: dict, stretches: list[Piece]) -> Tensor:
    total = 0
    for piece in stretches:
        piece.position = total
        total += piece.stop - piece.start
    flat = rl.zeros((total,), dtype=tensors[0].dtype)
    moved: set[int] = set()
    with rl.no_grad():
        for tensor in tensors:
            start, stop = span(tensor)
            piece = next(
                p for p in pieces[storage_key(tensor)] if p.start <= start and stop <= p.stop
            )
            if id(piece) not in moved:
                moved.add(id(piece))
                length = piece.stop - piece.start
                source = tensor.detach().as_strided((length,), (1,), piece.start)
                flat.narrow(0, piece.position, length).copy_(source)
        # Only now: find_pieces looked at where the tensors were.
        targets = []
        for tensor in tensors:
            start, stop = span(tensor)
            piece = next(
                p for p in pieces[storage_key(tensor)] if p.start <= start and stop <= p.stop
            )
            offset = piece.position + start - piece.start
            targets.append(flat.as_strided(tensor.shape, tensor.stride(), offset))
        for tensor, target in zip(tensors, targets, strict=False):
            tensor.data = target
    return flat
