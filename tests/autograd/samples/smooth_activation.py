"""Samples of the relatives of relu."""

from sample_values import signed

CURVED = ["silu", "mish", "logsigmoid", "hardswish", "hardsigmoid", "gelu"]

SAMPLES = {
    **{name: [(signed(2, 3),), (signed(),), (signed(2, 0),)] for name in CURVED},
    "gelu": [(signed(2, 3),), ((signed(2, 3),), {"approximate": "tanh"})],
    "hardswish": [(signed(2, 3),)],
    "hardsigmoid": [(signed(2, 3),)],
    "hardshrink": [(signed(2, 3),), (signed(2, 3), 0.1)],
    "softshrink": [(signed(2, 3),), (signed(2, 3), 0.1)],
    "gelu_backward": [(signed(3), signed(2, 3), "none"), (signed(2, 3), signed(3), "tanh")],
    **{
        f"{name}_backward": [(signed(2, 3), signed(2, 3)), (signed(3), signed(2, 1))]
        for name in ("silu", "mish", "hardswish", "hardsigmoid")
    },
    "shrink_backward": [(signed(2, 3), signed(2, 3).detach(), 0.5)],
}
