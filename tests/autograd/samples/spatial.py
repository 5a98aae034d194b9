"""Pooling, resampling and other work over the last one to three dimensions."""

from sample_values import distinct, positive, signed

import relume as rl

_INDICES = rl.tensor([[[[0, 3], [9, 15]]]])
_IMAGES = signed(2, 2, 3, 4)
_POINTS = signed(2, 2, 3, 2)  # no coordinate is where an element's weight has a kink

SAMPLES = {
    "max_pool1d": [(distinct(2, 3, 7), 2), (distinct(2, 8), 3, 2, 1, 1, True)],
    "max_pool2d": [
        (distinct(1, 2, 4, 4), (2, 2)),
        (distinct(2, 5, 5), (3, 2), (2, 2), (1, 0), (1, 1), True),
    ],
    "max_pool3d": [
        (distinct(1, 2, 3, 4, 3), 2, 1),
        (distinct(1, 4, 3, 5), (2, 1, 3), 2, (1, 0, 1)),
    ],
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
    "avg_pool3d_backward": [
        (signed(1, 1, 2, 2, 4), (1, 1, 3, 3, 3), 2, 1, (0, 0, 1), False, False)
    ],
    "adaptive_avg_pool1d": [(signed(2, 2, 5), 3)],
    "adaptive_avg_pool2d": [(signed(1, 2, 5, 4), (3, 2)), (signed(2, 3, 3), 1)],
    "adaptive_avg_pool3d": [(signed(1, 1, 3, 4, 5), (2, 3, 2))],
    "adaptive_avg_pool1d_backward": [(signed(1, 2, 3), (1, 2, 5))],
    "adaptive_avg_pool2d_backward": [(signed(2, 2, 3), (2, 5, 4))],
    "adaptive_avg_pool3d_backward": [(signed(1, 1, 2, 2, 2), (1, 1, 3, 4, 5))],
    "conv3d": [
        (signed(1, 2, 3, 3, 4), signed(2, 2, 2, 2, 2), signed(2)),
        (signed(2, 4, 3, 3), signed(2, 1, 2, 1, 2), None, (2, 1, 1), (1, 0, 1), (1, 2, 1), 2),
    ],
    "conv_transpose3d": [
        (signed(1, 2, 2, 2, 2), signed(2, 1, 2, 2, 1), signed(1)),
        (signed(2, 2, 1, 2), signed(2, 1, 2, 2, 2), None, (2, 1, 2), (1, 0, 1), (1, 0, 0), 2),
    ],
    "conv_transpose1d": [
        (signed(1, 2, 3), signed(2, 2, 3), signed(2)),
        (signed(2, 4), signed(2, 1, 2), None, 2, 1, 1, 2),
    ],
    "stack_frames": [(signed(1, 2, 3, 2, 2), 2, 1, 1, 1)],
    "unstack_frames": [(signed(2, 4, 2, 2), (1, 2, 3, 2, 2), 2, 1, 0, 1)],
    "resample": [
        (signed(1, 2, 3, 4), (5, 3), "bilinear"),
        (signed(1, 2, 5), 7, "linear", True),
        (signed(2, 3, 4), (5, 6), "bicubic"),
        (signed(1, 1, 2, 2, 3), (3, 4, 2), "trilinear"),
        (signed(1, 2, 3, 4), (5, 3), "nearest"),
        (signed(1, 1, 6, 5), (2, 3), "bicubic", False, True),
        (signed(1, 1, 3, 3), (4, 4), "bilinear", False, False, None, 1.5, 1.4),
    ],
    "resample_backward": [
        (signed(1, 2, 5, 3), (1, 2, 3, 4), (5, 3), "bilinear", False, False),
        (signed(1, 2, 5), (1, 2, 3), 5, "nearest-exact", False, False),
    ],
    "im2col": [(signed(1, 2, 4, 4), 2), (signed(2, 4, 5), (2, 3), (2, 1), (1, 0), (1, 2))],
    "col2im": [(signed(1, 8, 9), (4, 4), 2), (signed(12, 4), (4, 5), (2, 3), (2, 1), 0, (1, 2))],
    "fractional_max_pool2d": [(distinct(1, 2, 5, 5), 2, (3, 2), rl.full((1, 2, 2), 0.4))],
    "fractional_max_pool3d": [(distinct(1, 1, 3, 4, 4), 2, (2, 2, 3), rl.full((1, 1, 3), 0.7))],
    "lp_pool1d": [(positive(2, 6), 2.0, 2)],
    "lp_pool2d": [(positive(1, 4, 5), 3.0, (2, 3), 1)],
    "lp_pool3d": [(positive(1, 3, 2, 4), 2.0, 2, None, True)],
    "pixel_shuffle": [(signed(1, 4, 2, 3), 2)],
    "pixel_unshuffle": [(signed(2, 4, 2), 2)],
    "channel_shuffle": [(signed(2, 4, 3), 2)],
    "local_response_norm": [(signed(1, 5, 3), 3), (signed(2, 4, 2, 2), 2, 0.3, 0.6, 1.2)],
    "grid_sample": [(_IMAGES, _POINTS), (_IMAGES, _POINTS, "bicubic", "border", True)]
    + [(_IMAGES, _POINTS, "bilinear", outside, True) for outside in ("border", "reflection")]
    + [(signed(1, 2, 2, 3, 3), signed(1, 2, 1, 2, 3)), (_IMAGES, _POINTS, "nearest")],
    "grid_sample_slope": [(_IMAGES, _POINTS, "bicubic", "zeros", False, (1, 0))],
    "grid_sample_adjoint": [
        (signed(2, 2, 2, 3), _POINTS, (2, 2, 3, 4), "bilinear", "zeros", False, (0, 0)),
        (signed(2, 2, 2, 3), _POINTS, (2, 2, 3, 4), "bicubic", "reflection", False, (0, 1)),
    ],
    "grid_sample_grid_gradient": [
        (signed(2, 2, 2, 3), _IMAGES, _POINTS, "bilinear", "zeros", True),
        (signed(2, 2, 2, 3), _IMAGES, _POINTS, "bicubic", "zeros", True),
    ],
    "affine_grid": [(signed(2, 2, 3), (2, 1, 3, 2)), (signed(1, 3, 4), (1, 1, 2, 1, 2), True)],
    "roi_pool": [(distinct(2, 2, 5, 6), rl.tensor([[1.0, 0, 1, 4, 4], [0, 2, 2, 9, 3]]), (2, 2))],
}
