"""Samples of losses and distances."""

from sample_values import distinct, integers, positive, signed, truth

import relume as rl

A, B = signed(3, 4), signed(3, 4)
SIGNS = rl.tensor([[1.0, -1.0, 1.0, -1.0]] * 3, dtype=rl.float64)
OFFSETS = rl.tensor([0.03, 0.11], dtype=rl.float64)  # no two distances are equal
LABELS = rl.tensor([2, 0, 3])

SAMPLES = {
    **{
        name: [
            (A, B),
            (signed(2, 1), signed(3), "sum"),
            (A, B, "none", positive(3, 4)),
            (A, B, "mean", positive(3, 4)),
            (signed(), signed()),
        ]
        for name in ("mse_loss", "l1_loss")
    },
    "huber_of_elements": [(A, B, 0.4), (signed(2, 1), signed(3), 0.3)],
    "huber_loss": [(A, B), ((A, B), {"delta": 0.3}), (A, B, "none", 0.3, positive(3, 4))],
    "smooth_l1_loss": [(A, B), (A, B, "sum", 0.3), (A, B, "none", 0)],
    "cross_entropy_of_bits": [(positive(2, 3), positive(3)), (positive(), positive())],
    "binary_cross_entropy": [(positive(4), positive(4)), (positive(4), positive(4), positive(4))],
    "binary_cross_entropy_with_logits": [
        (A, positive(3, 4)),
        (A, positive(3, 4), positive(4), positive(4), "none"),
    ],
    "kl_div": [(A, positive(3, 4)), (A, B, "batchmean", True), (A, positive(3, 4), "none")],
    "poisson_nll_loss": [
        (A, positive(3, 4)),
        (positive(4), distinct(4).detach() + 2, False, True, 1e-8, "none"),
    ],
    "gaussian_nll_loss": [(A, B, positive(3, 4)), (A, B, positive(3), True, 1e-6, "none")],
    "hinge_embedding_loss": [(A, SIGNS), (A, SIGNS, 0.5, "none")],
    "soft_margin_loss": [(A, SIGNS), (A, SIGNS, "none")],
    "margin_ranking_loss": [(A, B, SIGNS), (A, B, SIGNS, 0.5, "none")],
    "multi_margin_loss": [
        (distinct(3, 4), LABELS),
        (distinct(3, 4), LABELS, 2, 0.5, positive(4), "none"),
        (distinct(4), integers(1)),
    ],
    "multilabel_margin_loss": [
        (distinct(2, 3), rl.tensor([[2, -1, 0], [1, 0, -1]])),
        (distinct(3), integers(0, 2, -1), "none"),
    ],
    "multilabel_soft_margin_loss": [(A, truth(3, 4).double()), (A, positive(3, 4), positive(4))],
    "cosine_embedding_loss": [
        (A, B, SIGNS[0, :3]),
        (A, B, SIGNS[0, :3], 0.1, "none"),
        (signed(3), signed(3), SIGNS[0, 0]),
    ],
    "triplet_margin_loss": [
        (A, B, signed(3, 4)),
        (A, B, signed(3, 4), 2.0, 3.0, 1e-6, True, "none"),
    ],
    "nll_loss": [
        (A, LABELS),
        (A, LABELS, positive(4).detach(), "none", 0),
        (signed(2, 3, 2), rl.tensor([[0, 1], [2, -1]]), None, "mean", -1),
        (signed(3), rl.tensor(1), None, "sum"),
    ],
    "nll_loss_backward": [
        (signed(), LABELS, None, (3, 4), "mean", -100),
        (signed(3), LABELS, positive(4).detach(), (3, 4), "none", 2),
    ],
    "cross_entropy": [
        (A, LABELS),
        (A, LABELS, positive(4).detach(), "none", 0, 0.2),
        (A, LABELS, positive(4).detach(), "mean", 0, 0.2),
        (A, positive(3, 4), positive(4), "sum"),
        (signed(2, 3, 2), positive(2, 3, 2)),
    ],
    "cosine_similarity": [(A, B), (signed(2, 1, 3), signed(4, 3), -1)],
    "pairwise_distance": [(A, B), (A, signed(4), 3.0, 0.1, True), (A, B, 1.0)],
    "cdist": [
        (signed(3, 2), signed(2, 2)),
        (signed(2, 3, 2), signed(4, 2), 3.0),
        (distinct(3, 2), distinct(2, 2) + OFFSETS, 1.0),
        (distinct(3, 2), distinct(2, 2) + OFFSETS, float("inf")),
    ],
    "pdist": [(signed(4, 3),), (signed(3, 2), 3.0)],
    "bilinear": [
        (signed(2, 3), signed(2, 2), signed(4, 3, 2), signed(4)),
        (signed(3), signed(2), signed(1, 3, 2)),
    ],
}
