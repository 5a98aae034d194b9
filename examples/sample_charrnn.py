"""Sample text from a char-rnn checkpoint of Lua Torch.

    python examples/sample_charrnn.py examples/models/shakespeare.t7 --length 200

`sample_charrnn.lua` is the same in Lua; from the same seed both write the same text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import relume as rl


def sample(
    checkpoint: Any,
    prime: str = "ROMEO:",
    length: int = 600,
    temperature: float = 0.7,
    seed: int = 123,
) -> Iterator[str]:
    """Yields `length` characters that the network writes after `prime`.

    Args:
        checkpoint: what `rl.load` gives: a table with protos.rnn, vocab and opt.
        prime: text that the network reads first.
        temperature: below 1 the network keeps to what it is sure of.
    """
    network = checkpoint.protos.rnn
    network.evaluate()
    character_of = {index: character for character, index in checkpoint.vocab.items()}
    layers, size = checkpoint.opt.num_layers, checkpoint.opt.rnn_size
    state = [rl.zeros([1, size], dtype=rl.float64) for _ in range(2 * layers)]
    log_probabilities = None

    def read(index: int) -> None:
        """Shows the network one character."""
        nonlocal state, log_probabilities
        *state, log_probabilities = network([rl.tensor([float(index)]), *state])

    rl.manual_seed(seed)
    with rl.no_grad():
        for character in prime:
            read(checkpoint.vocab[character])
        for _ in range(length):
            weights = (log_probabilities / temperature).exp().squeeze()
            probabilities = (weights / weights.sum()).to(rl.float32)
            index = int(rl.multinomial(probabilities, 1).item()) + 1  # Lua counts from 1
            yield character_of[index]
            read(index)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--prime", default="ROMEO:")
    parser.add_argument("--length", type=int, default=600)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=123)
    options = vars(parser.parse_args())
    model = rl.load(options.pop("checkpoint"))
    print(options["prime"], end="")
    for character in sample(model, **options):
        print(character, end="", flush=True)
    print()
