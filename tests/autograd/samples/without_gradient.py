"""Samples of ops without a gradient whose arguments the schema alone does not tell."""

import relume as rl


def integers(*rows):
    return rl.tensor(rows)


def floats(*values):
    return rl.tensor(values, dtype=rl.float64)


WHOLE = ["gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]

SAMPLES = {
    **{name: [(integers([6, 5], [-3, 0]), integers([3, 12]))] for name in BITS},
    **{name: [(integers([6, 5], [12, 0]), integers([3, 4]))] for name in WHOLE},
    "bincount": [(rl.tensor([0, 3, 1]),), (rl.tensor([2, 2]), floats(0.5, 0.25), 4)],
    "bucketize": [(floats(0.5, 2.5, 1.0), floats(1.0, 2.0)), (1.5, floats(1.0, 2.0))],
    "linalg_ldl_factor_ex": [(floats([2.0, 1.0], [1.0, 3.0]),)],
    "linalg_ldl_solve": [
        (
            floats([2.0, 0.0], [0.5, 2.5]),
            rl.tensor([1, 2], dtype="int32"),
            floats([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
        )
    ],
    "searchsorted": [(floats(1.0, 2.0, 4.0), floats(3.0, 0.0)), (floats(1.0, 2.0), 1.5)],
    "histc": [(floats(0.1, 0.9, 0.4), 4, 0, 1), (floats(0.1, 0.9), 2)],
    "histogram_of_edges": [
        (floats(0.1, 0.9, 0.4), floats(0.0, 0.5, 1.0)),
        (floats(0.1, 0.4), floats(0.0, 0.3, 0.7), floats(2.0, 0.5), True),
    ],
    "unique_groups": [(integers([2, 1], [2, 0]),), (integers([2, 1], [2, 1]), 0)],
    "consecutive_groups": [(integers([2, 2], [1, 0]),), (integers([2, 1], [2, 1]), 0)],
    "isin": [(integers([2, 1]), integers([1, 5]))],
    "count_nonzero": [(integers([2, 0], [0, 0]),), (integers([2, 0], [0, 0]), 1)],
    "bitwise_not": [(integers([6, -5]),), (rl.tensor([True, False]),)],
}
