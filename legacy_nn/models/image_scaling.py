"""Torch7's `image.scale`, in its usual mode."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor


def scaled(planes: Tensor, height: int, width: int) -> Tensor:
    """Planes in another size: interpolated where they grow, with the corners on the corners; means
    of areas where they shrink.

    Args:
        planes: ... x H x W.
        height, width: the size.

    >>> import relume as rl
    >>> from relume.legacy_nn.models.image_scaling import scaled
    >>> scaled(rl.tensor([[1.0, 2.0, 6.0]]), 1, 2).tolist()
    [[1.3333333730697632, 4.666666507720947]]
    >>> scaled(rl.tensor([[1.0, 3.0]]), 1, 3).tolist()
    [[1.0, 2.0, 3.0]]
    """
    rows, columns = planes.shape[-2:]
    down = rl.tensor(weights(height, rows), dtype=planes.dtype)
    right = rl.tensor(weights(width, columns), dtype=planes.dtype)
    return down @ planes @ right.transpose(0, 1)


def weights(target: int, source: int) -> list[list[float]]:
    """What every one of `target` new pixels takes from `source` old ones."""
    matrix = [[0.0] * source for _ in range(target)]
    for place, row in enumerate(matrix):
        if target > source:
            at = place * (source - 1) / (target - 1)
            left = min(int(at), source - 1)
            row[left] = 1 - (at - left)
            if at > left:
                row[left + 1] = at - left
        else:
            size = source / target
            first, last = place * size, (place + 1) * size
            for column in range(int(first), min(math.ceil(last), source)):
                row[column] = (min(last, column + 1) - max(first, column)) / size
    return matrix
