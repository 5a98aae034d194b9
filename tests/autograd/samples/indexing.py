"""Samples of the ops that index, arrange and contract."""

from sample_values import distinct, integers, positive, signed

import relume as rl

ROWS = rl.tensor([[0, 0], [1, 0]])  # places for a tensor of 3 rows and 2 columns

# Writing at indices; each has an in-place form with the same samples.
WRITING = {
    "index_add": [
        (signed(3, 2), 0, integers(0, 2, 0), signed(3, 2)),
        ((signed(2, 3), 1, integers(1, -1), signed(2, 2)), {"alpha": -2.5}),
    ],
    "index_copy": [
        (signed(3, 2), 0, integers(2, 0), signed(2, 2)),
        (signed(2, 3), -1, integers(1), signed(2, 1)),
    ],
    "index_fill": [
        (signed(3, 2), 0, integers(2, 0), 1.5),
        (signed(2, 3), 1, integers(1, 1), signed()),
    ],
    "scatter": [
        (signed(3, 2), 1, rl.tensor([[0], [1], [1]]), signed(3, 1)),
        (signed(3, 2), 1, rl.tensor([[0], [1], [1]]), 2.0),
        (signed(3, 2), 0, rl.tensor([[2, 0]]), signed(2, 3)),
    ],
    "scatter_add": [
        (signed(3, 2), 1, ROWS, signed(2, 2)),
        (signed(3), 0, integers(2, 0, 2), signed(4)),
    ],
    "scatter_reduce": [
        *[
            ((signed(3, 2), 0, ROWS, signed(2, 3), how), {"include_self": include})
            for how in ("sum", "mean", "prod")
            for include in (True, False)
        ],
        *[
            ((distinct(3, 2), 0, ROWS, distinct(2, 2) + 0.1, how), {"include_self": include})
            for how in ("amax", "amin")
            for include in (True, False)
        ],
    ],
    "put": [
        (signed(3, 2), integers(4, 0), signed(2)),
        (signed(3, 2), rl.tensor([[4, 0]]), signed(2), True),
    ],
    "masked_scatter": [
        (signed(2, 3), rl.tensor([[True, False, True], [False, True, False]]), signed(4)),
        (signed(2, 3), rl.tensor([True, False, True]), signed(2, 2)),
    ],
}

SAMPLES = {
    **WRITING,
    **{f"{name}_": samples for name, samples in WRITING.items()},
    "index_reduce": [
        (signed(3, 2), 0, integers(2, 0, 2), signed(3, 2), "prod"),
        ((signed(2, 3), 1, integers(1, 1), signed(2, 2), "mean"), {"include_self": False}),
    ],
    # other order or shape
    "movedim": [(signed(2, 3, 4), 0, 2), (signed(2, 3, 4), (0, 1), (-1, 0))],
    "moveaxis": [(signed(2, 3, 4), 0, -1)],
    "swapaxes": [(signed(2, 3, 4), 0, 2)],
    "swapdims": [(signed(2, 3, 4), 1, -1)],
    "unflatten": [(signed(2, 6), 1, (2, -1))],
    "rot90": [(signed(2, 3),), (signed(2, 3), 2), (signed(2, 3, 2), -1, (2, 0))],
    "tile": [(signed(2, 3), (2,)), (signed(3), (2, 2))],
    "repeat_interleave": [
        (signed(2, 3), 2),
        (signed(2, 3), integers(1, 0, 2), 1),
        (signed(2, 3), 2, 0),
    ],
    "narrow_copy": [(signed(2, 4), 1, 1, 2)],
    "broadcast_to": [(signed(2, 1), (2, 3))],
    # joining and taking apart
    "hstack": [([signed(2), signed(3)],), ([signed(2, 1), signed(2, 3)],)],
    "vstack": [([signed(3), signed(2, 3)],)],
    "dstack": [([signed(3), signed(3)],), ([signed(2, 3), signed(2, 3, 2)],)],
    "column_stack": [([signed(2), signed(2, 3)],)],
    "split_at": [(signed(5, 2), (1, 3), 0), (signed(2, 4), (3,), 1)],
    "split_evenly": [(signed(5, 2), 3, 0)],
    "broadcast_tensors": [([signed(2, 1), signed(3)],)],
    "meshgrid": [([signed(2), signed(3)],), ([signed(2), signed(3), signed()], "xy")],
    "cartesian_prod": [([signed(2), signed(3)],), ([signed(2)],)],
    "block_diag": [([signed(2, 3), signed(2), signed()],)],
    "combinations": [(signed(4),), (signed(3), 2, True), (signed(2), 3)],
    # diagonals and parts
    "diag": [(signed(3),), (signed(2, 3),), (signed(2), 1), (signed(3, 3), -1)],
    "diag_embed": [(signed(2, 3),), (signed(2, 3), 1), (signed(2, 3), -1, 0, 2)],
    "diagflat": [(signed(2, 2),), (signed(2), -1)],
    "select_scatter": [(signed(2, 3), signed(2), 1, -1)],
    "slice_scatter": [(signed(5, 2), signed(2, 2), 0, 1, 5, 2), (signed(3), signed(3))],
    "diagonal_scatter": [(signed(3, 3), signed(3)), (signed(2, 3), signed(2), 1)],
    # products
    "contract_dims": [
        (signed(2, 3, 4), signed(4, 3, 2), (1, 2), (1, 0)),
        (signed(2, 3), signed(2), (), ()),
    ],
    "inner": [(signed(2, 3), signed(3)), (signed(2, 3), signed())],
    "ger": [(signed(3), signed(2))],
    "kron": [(signed(2, 3), signed(2, 2)), (signed(2), signed(2, 2))],
    "cross": [(signed(2, 3), signed(2, 3)), (signed(3, 2), signed(3, 1), 0)],
    "addbmm": [
        (signed(2, 2), signed(2, 2, 3), signed(2, 3, 2)),
        ((signed(2, 2), signed(2, 2, 3), signed(2, 3, 2)), {"beta": 0.5, "alpha": -2}),
        ((signed(2), signed(2, 2, 3), signed(2, 3, 2)), {"beta": 0}),
    ],
    "einsum": [
        ("ij,jk->ik", [signed(2, 3), signed(3, 2)]),
        ("ii->i", [signed(3, 3)]),
        ("bij,bjk,k->b", [signed(2, 2, 3), signed(2, 3, 2), signed(2)]),
        ("...i,...i", [signed(2, 2, 3), signed(2, 1, 3)]),
        ("i,j", [signed(2), signed(3)]),
    ],
    "vander": [(positive(3),), (positive(2, 2), 3, True)],
}
