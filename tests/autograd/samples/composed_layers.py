"""Samples of activations and kinds of dropout that are composed of other ops."""

from sample_values import signed

SAMPLES = {
    **{
        name: [(signed(2, 4),), (signed(),)] for name in ("relu6", "selu", "softsign", "tanhshrink")
    },
    "celu": [(signed(2, 3),), (signed(2, 3), 2.0)],
    "softmin": [(signed(2, 3), 1), (signed(2, 3), -2)],
    "glu": [(signed(2, 4),), (signed(4, 3), 0)],
    "rrelu": [(signed(2, 3),), (signed(2, 3), 0.2, 0.5)],
    "feature_dropout": [(signed(2, 3, 2), 0.5, False), (signed(2, 3), 0.0, True)],
    "alpha_dropout": [(signed(2, 3), 0.5, False), (signed(2, 3), 0.0, True)],
    "feature_alpha_dropout": [(signed(2, 3), 0.5, False), (signed(2, 3), 0.0, True)],
}
