"""A char-rnn checkpoint of Lua Torch as an ONNX model, which then writes text by itself.

    python examples/convert_charrnn.py examples/models/shakespeare.t7 --length 200

One step of the network becomes the model: character and states in, states and log-probabilities
out. onnxruntime runs it; the text is the one that the network writes here.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import relume as rl


def convert(checkpoint: Any, path: Path) -> None:
    """Writes the step of a checkpoint as an ONNX model, with proof."""
    step, state = checkpoint.protos.rnn, np.zeros((1, checkpoint.opt.rnn_size), np.float32)
    states = [state] * (2 * checkpoint.opt.num_layers)
    report = rl.convert(step, path, input=[np.ones(1, np.float32), *states])
    print(report)


def write(path: Path, checkpoint: Any, prime: str, length: int) -> Iterator[str]:
    """Yields the likeliest `length` characters after `prime`, by onnxruntime alone."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    character_of = {index: character for character, index in checkpoint.vocab.items()}
    zeros = np.zeros((1, checkpoint.opt.rnn_size), np.float32)
    states = [zeros] * (len(names) - 1)
    waiting = [checkpoint.vocab[character] for character in prime]
    written = 0
    while written < length:
        index = waiting.pop(0)
        given = [np.array([index], np.float32), *states]
        *states, scores = session.run(None, dict(zip(names, given, strict=True)))
        if not waiting:
            waiting.append(int(scores.argmax()) + 1)  # Lua counts from 1
            yield character_of[waiting[0]]
            written += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("--prime", default="ROMEO:")
    parser.add_argument("--length", type=int, default=200)
    arguments = parser.parse_args()
    loaded = rl.load(arguments.checkpoint)
    model = Path(tempfile.mkdtemp()) / "step.onnx"
    convert(loaded, model)
    print(arguments.prime + "".join(write(model, loaded, arguments.prime, arguments.length)))
