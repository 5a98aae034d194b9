"""Samples of recurrent layers: dense and packed sequences, both directions, stacks, cells."""

from sample_values import signed


def parameters(gates, inputs, hidden, biases=True):
    shapes = [(gates * hidden, inputs), (gates * hidden, hidden)]
    return [signed(*shape) for shape in shapes + [(gates * hidden,)] * (2 if biases else 0)]


def layer_samples(gates, states, *settings):
    """Of one fused layer: a dense sequence, and a packed one in reverse without biases."""
    initial = [signed(2, 2) for _ in range(states)]
    return [
        (signed(6, 3), *initial, *parameters(gates, 3, 2), (2, 2, 2), False, *settings),
        (signed(3, 1), *initial, *parameters(gates, 1, 2, False), None, None, (2, 1), True,
         *settings),
    ]  # fmt: skip


def stack_samples(gates, states):
    """Of whole networks: two layers with the batch first; both directions, packed."""

    def hx(*shape):
        made = [signed(*shape) for _ in range(states)]
        return made if states == 2 else made[0]

    two = [*parameters(gates, 2, 2), *parameters(gates, 2, 2)]
    both = [*parameters(gates, 1, 2, False), *parameters(gates, 1, 2, False)]
    packed = {"bidirectional": True, "batch_sizes": (2, 1)}
    return [
        ((signed(2, 3, 2), hx(2, 2, 2), two, True, 2), {"batch_first": True}),
        ((signed(3, 1), hx(2, 2, 2), both, False), packed),
    ]


def cell_samples(gates, states):
    made = [signed(2, 2) for _ in range(states)]
    return [
        (signed(2, 3), made if states == 2 else made[0], *parameters(gates, 3, 2)),
        (signed(3), [s[0] for s in made] if states == 2 else made[0][0], *parameters(gates, 3, 2)),
    ]


SAMPLES = {
    "lstm_layer": layer_samples(4, 2),
    "gru_layer": layer_samples(3, 1),
    "rnn_layer": layer_samples(1, 1, False),
    "lstm": stack_samples(4, 2),
    "gru": stack_samples(3, 1),
    "rnn_tanh": stack_samples(1, 1),
    "rnn_relu": stack_samples(1, 1),
    "lstm_cell": cell_samples(4, 2)[:1],
    "gru_cell": cell_samples(3, 1)[:1],
    "rnn_tanh_cell": cell_samples(1, 1)[:1],
    "rnn_relu_cell": cell_samples(1, 1)[:1],
}
