"""Samples of the ops that old models need."""

from sample_values import distinct, integers, positive, signed, truth

import relume as rl

KINKED = ["abs", "relu", "leaky_relu", "elu", "softplus", "tanh", "sin", "cos", "tan", "atan"]
KINKED += ["sinh", "cosh", "sigmoid", "erf", "exp", "expm1", "square", "neg", "sign", "frac"]

SAMPLES = {
    **{name: [(signed(2, 3),), (signed(),), (signed(2, 0),)] for name in KINKED},
    "leaky_relu": [(signed(2, 3), 0.2), (signed(2, 3), -0.5)],
    "elu": [(signed(2, 3), 1.5)],
    "softplus": [(signed(2, 3), 2.0, 0.5), (signed(2, 3),)],
    "hardtanh": [(signed(2, 3), -0.5, 0.45)],
    "threshold": [(signed(2, 3), 0.1, -3.0)],
    "prelu": [(signed(2, 3), positive(1)), (signed(2, 3, 2), positive(3))],
    "add": [
        (signed(2, 3), signed(2, 3)),
        (signed(2, 1), signed(3)),
        (signed(2), 2.5),
        (2, signed(2)),
        ((signed(2), signed(2)), {"alpha": -3}),
    ],
    "sub": [
        (signed(2, 3), signed(3)),
        (signed(2), 2.5),
        (2, signed(2)),
        ((signed(2), signed(1)), {"alpha": 0.5}),
    ],
    "mul": [(signed(2, 3), signed(3)), (signed(2, 1), signed(3)), (signed(2), 2.5), (3, signed(2))],
    "pow": [
        (positive(2, 3), positive(3)),
        (signed(4), 3),
        (signed(4), 2),
        (positive(4), -1.5),
        (2.5, signed(3)),
        (signed(3), 0),
        (signed(3), 1),
    ],
    "atan2": [(signed(2, 3), signed(3)), (signed(2), 0.7), (0.7, signed(2))],
    "fmod": [(signed(2, 3), positive(3)), (signed(3), 0.35)],
    "remainder": [(signed(2, 3), positive(3)), (signed(3), 0.35)],
    "maximum": [(distinct(2, 3), distinct(2, 3) + 0.1), (distinct(3), 0.0)],
    "minimum": [(distinct(2, 3), distinct(2, 3) + 0.1), (distinct(3), 0.0)],
    "where": [
        (truth(2, 3), signed(2, 3), signed(3)),
        (truth(2, 1), 1.5, signed(3)),
        (truth(3), signed(3), 2),
    ],
    "addcmul": [
        (signed(2, 3), signed(3), signed(2, 1)),
        ((signed(2), signed(2), signed(2)), {"value": -2}),
    ],
    "addcdiv": [
        (signed(2, 3), signed(3), positive(2, 1)),
        ((signed(2), signed(2), positive(2)), {"value": -2}),
    ],
    "lerp": [(signed(2, 3), signed(2, 3), 0.3), (signed(2, 3), signed(3), signed(2, 1))],
    **{
        name: [(signed(2, 3),), (signed(2, 3), 1), (signed(2, 3, 2), (0, -1), True), (signed(),)]
        for name in ("sum", "mean", "logsumexp", "norm", "std", "var", "prod", "amax", "amin")
    },
    "prod": [(signed(2, 3),), (signed(2, 3), 1), (signed(2, 3), -2, True), (signed(),)],
    "logsumexp": [(signed(2, 3), 1), (signed(2, 3, 2), (0, -1), True)],
    "norm": [
        (signed(2, 3),),
        (signed(2, 3), 2, 1),
        (signed(2, 3), 1, 0, True),
        (signed(2, 3), 3, (0, 1)),
        (signed(4), 2.5),
    ],
    **{
        name: [
            (signed(2, 3),),
            (signed(2, 3), 1),
            ((signed(2, 3, 2), (0, 2)), {"correction": 0, "keepdim": True}),
        ]
        for name in ("std", "var")
    },
    "amax": [(distinct(2, 3),), (distinct(2, 3), 1), (distinct(2, 3, 2), (0, 2), True)],
    "amin": [(distinct(2, 3),), (distinct(2, 3), 1), (distinct(2, 3, 2), (0, 2), True)],
    "max_with_indices": [(distinct(2, 3), 1), (distinct(2, 3), 0, True)],
    "min_with_indices": [(distinct(2, 3), 1), (distinct(2, 3), 0, True)],
    "sum_to": [(signed(2, 3), (3,)), (signed(2, 3), (2, 1)), (signed(2, 3), ())],
    "sort": [(distinct(2, 3),), (distinct(2, 3), 0, True)],
    "topk": [(distinct(2, 4), 2), (distinct(3, 2), 2, 0, False)],
    # copies and views
    "copy_": [(signed(2, 3), signed(3)), (signed(2, 3), signed())],
    "fill_": [(signed(2, 3), 2.0)],
    "to_dtype": [(signed(2, 3), rl.float64)],
    "as_strided": [(signed(2, 3), (2, 2), (1, 2)), (signed(6), (2, 3), (2, 1), 1)],
    "as_strided_gather": [(signed(2, 3), (2, 2), (1, 2), 1)],
    "as_strided_scatter": [(signed(2, 3), signed(2, 2), (2, 2), (3, 1), 1)],
    "as_strided_backward": [(signed(2, 2), (2, 3), (2, 2), (1, 2), 0)],
    "diagonal": [(signed(3, 4),), (signed(2, 3, 4), 1, 0, 2), (signed(3, 3), -1)],
    "diagonal_backward": [(signed(3), (3, 4), 0, 0, 1)],
    "expand": [(signed(2, 1), (2, 3)), (signed(3), (2, 3)), (signed(), (2,))],
    "flip": [(signed(2, 3), 0), (signed(2, 3), (0, -1))],
    "narrow": [(signed(2, 4), 1, 1, 2)],
    "permute": [(signed(2, 3, 4), (2, 0, 1))],
    "repeat": [(signed(2, 3), (2, 1)), (signed(3), (2, 2))],
    "reshape": [(signed(2, 3), (3, 2)), (signed(2, 3), -1)],
    "view": [(signed(2, 3), (3, 2))],
    "roll": [(signed(2, 3), 1, 1), (signed(2, 3), 2), (signed(2, 3), (1, -1), (0, 1))],
    "select": [(signed(2, 3), 1, -1), (signed(2, 3), 0, 1)],
    "select_backward": [(signed(2), (2, 3), 1, 2)],
    "slice": [(signed(5), 0, 1, 4), (signed(2, 5), 1, None, None, -2), (signed(5), 0, 3, 3)],
    "slice_backward": [(signed(2, 2), (2, 5), 1, 1, None, 2), (signed(3), (5,), 0, None, None, -2)],
    "squeeze": [(signed(2, 1, 3, 1),), (signed(2, 1), 1)],
    "transpose": [(signed(2, 3, 4), 0, 2)],
    "t": [(signed(2, 3),)],
    "tril": [(signed(3, 3),), (signed(2, 3, 4), 1)],
    "triu": [(signed(3, 3),), (signed(2, 3, 4), -1)],
    "unfold": [(signed(5), 0, 3, 1), (signed(2, 5), 1, 2, 2)],
    "unfold_backward": [(signed(3, 3), (5,), 0, 3, 1)],
    "unsqueeze": [(signed(2, 3), 1), (signed(), 0)],
    # joining and splitting
    "cat": [([signed(2, 3), signed(1, 3)],), ([signed(2, 1), signed(2, 3)], 1)],
    "stack": [([signed(2, 3), signed(2, 3)],), ([signed(2), signed(2)], -1)],
    "split": [(signed(4, 2), (1, 3)), (signed(2, 4), (2, 2), 1)],
    "chunk": [(signed(5, 2), 2), (signed(2, 4), 3, 1)],
    "unbind": [(signed(3, 2),), (signed(3, 2), 1)],
    # indexing
    "index": [
        (signed(3, 4), [integers(0, 2, 0)]),
        (signed(3, 4), [None, integers(1, 1)]),
        (signed(3, 4), [integers(0, 2), integers(1, 3)]),
        (signed(2, 3), [truth(2, 3)]),
    ],
    "index_backward": [(signed(3, 4), (3, 4), [integers(0, 2, 0)])],
    "index_put": [
        (signed(3, 4), [integers(0, 2)], signed(2, 4)),
        (signed(3, 4), [integers(0, 0)], signed(2, 4), True),
        (signed(3, 4), [None, integers(1, 2)], signed()),
    ],
    "index_put_": [
        (signed(3, 4), [integers(0, 2)], signed(2, 4)),
        (signed(3, 4), [integers(0, 0)], signed(2, 4), True),
    ],
    "index_select": [(signed(3, 4), 1, integers(0, 2, 0)), (signed(3), 0, integers(1))],
    "index_select_backward": [(signed(3, 3), (3, 4), 1, integers(0, 2, 0))],
    "index_add": [(signed(3, 2), 0, integers(0, 2, 0), signed(3, 2))],
    "gather": [(signed(3, 2), 1, rl.tensor([[0, 0], [1, 0], [1, 1]]))],
    "gather_backward": [(signed(3, 2), (3, 2), 1, rl.tensor([[0, 0], [1, 0], [1, 1]]))],
    "scatter": [
        (signed(3, 2), 1, rl.tensor([[0], [1], [1]]), signed(3, 1)),
        (signed(3, 2), 1, rl.tensor([[0], [1], [1]]), 2.0),
    ],
    "scatter_add": [(signed(3, 2), 1, rl.tensor([[0, 0], [1, 0]]), signed(2, 2))],
    "take": [(signed(3, 2), rl.tensor([[0, 5], [1, 1]]))],
    "take_backward": [(signed(2, 2), (3, 2), rl.tensor([[0, 5], [1, 1]]))],
    "masked_fill": [(signed(2, 3), truth(2, 3), 1.5), (signed(2, 3), truth(3), signed())],
    "masked_select": [(signed(2, 3), truth(2, 3))],
    "masked_select_backward": [
        (signed(3), (2, 3), rl.tensor([[True, False, True], [False, True, False]]))
    ],
    # backward ops: their gradients are what second derivatives need
    "clamp_backward": [
        (signed(2, 3), signed(2, 3), -0.4, 0.5, True),
        (signed(2, 3), signed(2, 3), -0.4, 0.5, False),
    ],
    "elu_backward": [(signed(2, 3), signed(2, 3), 1.5)],
    "leaky_relu_backward": [(signed(2, 3), signed(2, 3), 0.2)],
    "softplus_backward": [(signed(2, 3), signed(2, 3), 2.0, 0.5)],
    "threshold_backward": [(signed(2, 3), signed(2, 3), 0.1)],
    "relu_backward": [(signed(2, 3), positive(2, 3))],
    # linear algebra
    "matmul": [
        (signed(2, 3), signed(3, 2)),
        (signed(3), signed(3)),
        (signed(2, 3), signed(3)),
        (signed(3), signed(3, 2)),
        (signed(2, 2, 3), signed(3, 2)),
        (signed(2, 1, 2, 3), signed(2, 3, 2)),
    ],
    "mm": [(signed(2, 3), signed(3, 2))],
    "bmm": [(signed(2, 2, 3), signed(2, 3, 2))],
    "mv": [(signed(2, 3), signed(3))],
    "dot": [(signed(3), signed(3))],
    "outer": [(signed(3), signed(2))],
    "addmm": [
        (signed(2, 2), signed(2, 3), signed(3, 2)),
        ((signed(2), signed(2, 3), signed(3, 2)), {"beta": 0.5, "alpha": -2}),
    ],
    "addmv": [(signed(2), signed(2, 3), signed(3))],
    "addr": [(signed(2, 3), signed(2), signed(3))],
    "baddbmm": [(signed(2, 2, 2), signed(2, 2, 3), signed(2, 3, 2))],
    "linear": [
        (signed(2, 3), signed(4, 3), signed(4)),
        (signed(2, 3), signed(4, 3)),
        (signed(3), signed(4, 3), signed(4)),
    ],
    # neural networks
    "conv1d": [(signed(1, 2, 5), signed(3, 2, 3), signed(3))],
    "conv2d": [
        (signed(2, 2, 4, 4), signed(3, 2, 3, 3), signed(3)),
        (signed(1, 2, 5, 4), signed(2, 1, 2, 2), None, (2, 1), (1, 0), (1, 2), 2),
        (signed(2, 4, 4), signed(3, 2, 3, 3), signed(3)),
    ],
    "conv_transpose2d": [
        (signed(1, 2, 3, 3), signed(2, 3, 2, 2), signed(3), (1, 1), (0, 0), (0, 0)),
        (signed(1, 2, 3, 3), signed(2, 1, 3, 3), None, (2, 2), (1, 1), (1, 1), 2),
    ],
    "conv2d_input_gradient": [
        (signed(1, 3, 2, 2), signed(3, 2, 3, 3), (1, 2, 4, 4), (1, 1), (0, 0), (1, 1), 1)
    ],
    "conv2d_weight_gradient": [
        (signed(1, 3, 2, 2), signed(1, 2, 4, 4), (3, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1)
    ],
    "pad_backward": [
        (signed(2, 6), (2, 3), (1, 2), "constant"),
        (signed(1, 3, 7), (1, 3, 4), (1, 2), "reflect"),
    ],
    "pad": [
        (signed(2, 3), (1, 2)),
        (signed(1, 3, 3), (1, 1, 2, 0), "constant", 2.0),
        (signed(1, 3, 4), (1, 2), "reflect"),
        (signed(1, 3, 4), (1, 2, 2, 1), "replicate"),
        (signed(1, 3, 4), (1, 2, 3, 0), "circular"),
        (signed(3, 4), (-1, 1)),
    ],
    "upsample_nearest2d": [(signed(1, 2, 2, 3), 2), (signed(2, 2, 3), 3)],
    "softmax": [(signed(2, 3), 1), (signed(2, 3, 2), 0)],
    "log_softmax": [(signed(2, 3), 1), (signed(2, 3, 2), 0)],
    "softmax_backward": [(signed(2, 3), signed(2, 3), 1)],
    "log_softmax_backward": [(signed(2, 3), signed(2, 3), 1)],
    "embedding_backward": [(signed(2, 2, 3), rl.tensor([[0, 3], [3, 1]]), 4)],
    "batch_norm": [
        (signed(4, 3), signed(3), signed(3), None, None, True, 0.1, 1e-3),
        (
            signed(2, 3, 2, 2),
            signed(3),
            signed(3),
            rl.tensor([0.1, 0.2, 0.3], dtype=rl.float64),
            rl.tensor([0.5, 0.6, 0.7], dtype=rl.float64),
            False,
            0.1,
            1e-3,
        ),
        (signed(4, 3), None, None, None, None, True, 0.1, 1e-3),
    ],
    "dropout": [(signed(2, 3), 0.0), (signed(2, 3), 0.5, False)],
}
