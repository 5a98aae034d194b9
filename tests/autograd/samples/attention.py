"""Samples of attention."""

from sample_values import signed

import relume as rl

SEEN = rl.tensor([[True, False], [True, True], [False, False]])

SAMPLES = {
    "attention": [
        (signed(2, 3, 2), signed(2, 4, 2), signed(2, 4, 3), None, False, 0.7),
        (signed(1, 3, 2), signed(1, 3, 2), signed(1, 3, 2), None, True, 0.5),
        (signed(1, 2, 2), signed(1, 3, 2), signed(1, 3, 2), signed(1, 2, 3), False, 0.5),
    ],
    "scaled_dot_product_attention": [
        (signed(2, 2, 3, 2), signed(2, 2, 4, 2), signed(2, 2, 4, 3)),
        (signed(3, 2), signed(2, 2), signed(2, 2), SEEN),
        (signed(2, 3, 2), signed(2, 2), signed(1, 2, 2), signed(2, 3, 2)),
        ((signed(4, 3, 2), signed(2, 2, 2), signed(2, 2, 2)), {"enable_gqa": True, "scale": 0.3}),
    ],
}
