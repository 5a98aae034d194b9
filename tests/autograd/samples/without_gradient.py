"""Samples of ops without a gradient whose arguments the schema alone does not tell."""

import relume as rl


def integers(*rows):
    return rl.tensor(rows)


BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]

SAMPLES = {
    **{name: [(integers([6, 5], [-3, 0]), integers([3, 12]))] for name in BITS},
    "bitwise_not": [(integers([6, -5]),), (rl.tensor([True, False]),)],
}
