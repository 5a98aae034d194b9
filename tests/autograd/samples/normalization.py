"""Samples of layer, group, instance and root-mean-square normalisation."""

from sample_values import positive, signed

SAMPLES = {
    "normalize_rows": [
        (signed(2, 3), signed(3), signed(3), 2, 1, 3, 0.1),
        (signed(2, 4, 2), signed(4), None, 4, 2, 2, 0.1),
        (signed(2, 4), None, signed(4), 4, 2, 2, 0.1),
    ],
    "layer_norm": [
        (signed(2, 3), (3,)),
        (signed(2, 3, 2), (3, 2), signed(3, 2), signed(3, 2), 0.1),
    ],
    "rms_norm": [(signed(2, 3), (3,)), (signed(2, 3, 2), (3, 2), signed(3, 2), 0.1)],
    "group_norm": [
        (signed(2, 4), 2),
        (signed(2, 4, 3), 2, signed(4), signed(4), 0.1),
        (signed(1, 2, 2, 2), 1, signed(2)),
    ],
    "instance_norm": [
        (signed(2, 2, 3),),
        (signed(2, 2, 3), None, None, signed(2), signed(2), True, 0.1, 0.1),
        (signed(2, 2, 3), signed(2).detach(), positive(2).detach(), signed(2), None, False),
    ],
}
