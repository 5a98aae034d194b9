"""Pooling, resampling and other work over the last one to three dimensions."""

from sample_values import distinct, signed

import relume as rl

_INDICES = rl.tensor([[[[0, 3], [9, 15]]]])

SAMPLES = {
    "max_pool1d": [(distinct(2, 3, 7), 2), (distinct(2, 8), 3, 2, 1, 1, True)],
    "max_pool2d": [
        (distinct(1, 2, 4, 4), (2, 2)),
        (distinct(2, 5, 5), (3, 2), (2, 2), (1, 0), (1, 1), True),
    ],
    "max_pool3d": [(distinct(1, 2, 3, 4, 3), 2, 1), (distinct(1, 4, 3, 5), (2, 1, 3), 2, (1, 0, 1))],
    "max_pool1d_with_indices": [(distinct(2, 3, 7), 3, 1, 1, 2)],
    "max_pool2d_with_indices": [(distinct(1, 2, 4, 5), (2, 3), (1, 2))],
    "max_pool3d_with_indices": [(distinct(1, 1, 4, 3, 3), 2, 1, 1)],
    "adaptive_max_pool1d": [(distinct(2, 2, 5), 3)],
    "adaptive_max_pool2d": [(distinct(1, 2, 5, 4), (3, 2)), (distinct(2, 3, 3), 1)],
    "adaptive_max_pool3d": [(distinct(1, 1, 3, 4, 5), (2, 3, 2))],
    "scatter_to_planes": [
        (signed(1, 1, 2, 2), _INDICES, (1, 1, 4, 4), 2),
        (signed(1, 1, 2, 2), _INDICES, (1, 1, 4, 4), 2, False),
    ],
    "gather_from_planes": [(signed(1, 1, 4, 4), _INDICES, 2)],
    "max_unpool1d": [(signed(1, 2, 2), rl.tensor([[[0, 3], [1, 2]]]), 2)],
    "max_unpool2d": [(signed(1, 1, 2, 2), _INDICES, 2), (signed(1, 1, 2, 2), _INDICES, 1, 3)],
    "max_unpool3d": [(signed(1, 1, 1, 2, 2), rl.tensor([[[[[0, 3], [9, 15]]]]]), (1, 2, 2))],
    "avg_pool1d": [(signed(1, 2, 7), 3, 2, 1), (signed(2, 6), 4, 3, 2, True, False)],
    "avg_pool2d": [
        (signed(1, 2, 4, 4), (2, 2)),
        (signed(2, 5, 5), (3, 2), (2, 2), (1, 1), True, False),
        (signed(1, 1, 4, 4), 3, 1, 1, False, True, 5),
    ],
    "avg_pool3d": [(signed(1, 2, 3, 4, 3), 2), (signed(1, 4, 3, 4), 2, (1, 2, 1), 1, True, False)],
    "avg_pool1d_backward": [(signed(1, 1, 3), (1, 1, 6), 2, 2, 0, False, True)],
    "avg_pool2d_backward": [
        (signed(1, 1, 2, 2), (1, 1, 4, 4), (2, 2), (2, 2), (0, 0), False, True),
        (signed(1, 1, 2, 2), (1, 1, 4, 4), (2, 2), (2, 2), (0, 0), False, True, 3),
    ],
    "avg_pool3d_backward": [(signed(1, 1, 2, 2, 4), (1, 1, 3, 3, 3), 2, 1, (0, 0, 1), False, False)],
    "adaptive_avg_pool1d": [(signed(2, 2, 5), 3)],
    "adaptive_avg_pool2d": [(signed(1, 2, 5, 4), (3, 2)), (signed(2, 3, 3), 1)],
    "adaptive_avg_pool3d": [(signed(1, 1, 3, 4, 5), (2, 3, 2))],
    "adaptive_avg_pool1d_backward": [(signed(1, 2, 3), (1, 2, 5))],
    "adaptive_avg_pool2d_backward": [(signed(2, 2, 3), (2, 5, 4))],
    "adaptive_avg_pool3d_backward": [(signed(1, 1, 2, 2, 2), (1, 1, 3, 4, 5))],
}
