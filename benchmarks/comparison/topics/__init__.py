"""Everything that is compared, in the order of the report."""

from . import convolution, data_movement, elementwise, matmul, memory, models, optimizers, small_ops

TOPICS = [
    small_ops.TOPIC,
    elementwise.ELEMENTWISE_TOPIC,
    elementwise.REDUCTIONS_TOPIC,
    data_movement.TOPIC,
    matmul.TOPIC,
    convolution.TOPIC,
    models.TOPIC,
    optimizers.TOPIC,
    memory.TOPIC,
]
