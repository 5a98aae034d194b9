"""Samples of embedding, bags of rows and CTC."""

from sample_values import distinct, positive, signed

import relume as rl

NUMBERS = rl.tensor([0, 3, 3, 1, 2])
STARTS = rl.tensor([0, 2, 2])

SAMPLES = {
    "embedding": [
        (signed(4, 2), rl.tensor([[0, 3], [3, 1]])),
        (signed(4, 2), rl.tensor([[0, 3], [2, 1]]), -1, True),
    ],
    "bag_sum": [(signed(4, 2), NUMBERS, STARTS, signed(5))],
    "bag_sum_weight_gradient": [(signed(3, 2), NUMBERS, STARTS, signed(5), 4)],
    "bag_dot": [(signed(3, 2), signed(4, 2), NUMBERS, STARTS)],
    "embedding_bag": [
        (signed(4, 2), NUMBERS, STARTS),
        (signed(4, 2), NUMBERS, STARTS, False, "sum", positive(5)),
        (distinct(4, 2), NUMBERS, STARTS, False, "max"),
    ],
    "one_hot": [(rl.tensor([1, 0]), 3), (rl.tensor([[2], [0]]),)],
    "ctc_loss_with_gradient": [
        (signed(4, 2, 3), rl.tensor([[1, 2], [2, 2]]), (4, 3), (2, 2), 0),
        (signed(2, 1, 3), rl.tensor([0]), (2,), (1,), 2),
    ],
    "ctc_loss": [
        (signed(4, 2, 3), rl.tensor([[1, 2], [2, 2]]), (4, 3), (2, 2)),
        (signed(3, 3), rl.tensor([1]), (3,), (1,), 0, "none"),
        (signed(3, 2, 3), rl.tensor([1, 1, 2]), (3, 2), (1, 2), 0, "sum"),
    ],
}
