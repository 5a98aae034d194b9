"""Everything that is compared, in the order of the report."""

from . import (
    convolution,
    data_movement,
    elementwise,
    legacy_nn,
    matmul,
    memory,
    models,
    optimizers,
    small_ops,
)

TOPICS = [
    small_ops.TOPIC,
    elementwise.ELEMENTWISE_TOPIC,
    elementwise.REDUCTIONS_TOPIC,
    data_movement.TOPIC,
    matmul.TOPIC,
    convolution.TOPIC,
    models.TOPIC,
    legacy_nn.TOPIC,
    optimizers.TOPIC,
    memory.TOPIC,
]
