"""Running totals, order statistics, and statistics composed of other ops."""

from sample_values import distinct, positive, signed

import relume as rl

_ZEROS = rl.tensor([[0.5, 0.0, -0.7], [0.0, 0.3, 0.0]], dtype=rl.float64, requires_grad=True)
_Q = rl.tensor([0.1, 0.73], dtype=rl.float64)
_DIMS = [(signed(2, 3),), (signed(2, 3), 1), (signed(2, 3, 2), (0, -1), True), (signed(),)]

SAMPLES = {
    **{
        name: [(signed(2, 3), 1), (signed(2, 3), 0), (signed(), 0)]
        for name in ("cumsum", "logcumsumexp")
    },
    "cumprod": [(signed(2, 3), 1), (signed(2, 3, 2), 1), (_ZEROS, 1), (_ZEROS, 0), (signed(), 0)],
    **{name: [(distinct(2, 5), 1), (distinct(3, 2), 0)] for name in ("cummax", "cummin")},
    "kthvalue": [(distinct(2, 5), 2), (distinct(3, 2), 3, 0, True), (distinct(1)[0], 1)],
    **{
        name: [(distinct(2, 5), 1), (distinct(3, 2), 0, True)]
        for name in ("median_with_indices", "nanmedian_with_indices", "mode")
    },
    "nansum": _DIMS,
    "nanmean": _DIMS,
    "aminmax": [(distinct(2, 3),), ((distinct(2, 3),), {"dim": 1, "keepdim": True})],
    **{
        name: [(signed(2, 3),), ((signed(2, 3, 2), (0, 2)), {"correction": 0, "keepdim": True})]
        for name in ("var_mean", "std_mean")
    },
    "cov": [
        (signed(2, 4),),
        (signed(4),),
        ((signed(2, 4),), {"correction": 0, "aweights": positive(4).detach()}),
    ],
    "corrcoef": [(signed(2, 4),), (signed(3, 5),)],
    "quantile": [
        (distinct(2, 5), 0.3),
        (distinct(2, 5), _Q, 1),
        (distinct(3, 2), 0.6, 0, True),
        ((distinct(2, 5), 0.4, 1), {"interpolation": "midpoint"}),
        ((distinct(2, 5), 0.4, 1), {"interpolation": "higher"}),
    ],
    "nanquantile": [(distinct(2, 5), 0.3), (distinct(2, 5), _Q, 1), (distinct(3, 2), 0.6, 0, True)],
    "diff": [(signed(5),), (signed(2, 4), 2, 0), (signed(2, 4), 1, -1, signed(2, 1), signed(2, 2))],
    "trapezoid": [
        (signed(5),),
        (signed(2, 4), positive(4)),
        ((signed(2, 4),), {"dx": 0.5, "dim": 0}),
    ],
    "cumulative_trapezoid": [(signed(2, 4), positive(4)), ((signed(3, 2),), {"dim": 0})],
    "trace": [(signed(3, 4),)],
    "dist": [(signed(2, 3), signed(3)), (signed(3), signed(3), 3)],
    "renorm": [(signed(3, 4), 2, 0, 0.4), (signed(2, 3, 2), 1, 1, 2.0)],
    "msort": [(distinct(4, 2),)],
}
