"""The example that makes an ONNX model of a char-rnn and lets it write."""

import runpy
from pathlib import Path

import relume as rl

EXAMPLES = Path(rl.__file__).parent / "examples"


def likeliest(checkpoint, prime, length):
    """What the network itself writes."""
    network, size = checkpoint.protos.rnn, checkpoint.opt.rnn_size
    network.evaluate()
    character_of = {index: character for character, index in checkpoint.vocab.items()}
    states = [rl.zeros(1, size, dtype=rl.float64) for _ in range(2 * checkpoint.opt.num_layers)]
    text, waiting = "", [checkpoint.vocab[character] for character in prime]
    while len(text) < length:
        *states, scores = network.forward([rl.tensor([float(waiting.pop(0))]), *states])
        if not waiting:
            waiting.append(int(scores.argmax().item()) + 1)
            text += character_of[waiting[0]]
    return text


def test_the_model_writes_what_the_network_writes(tmp_path):
    example = runpy.run_path(str(EXAMPLES / "convert_charrnn.py"))
    checkpoint = rl.load(EXAMPLES / "models" / "shakespeare.t7")
    path = tmp_path / "step.onnx"
    example["convert"](checkpoint, path)
    text = "".join(example["write"](path, checkpoint, "ROMEO:", 60))
    assert text == likeliest(checkpoint, "ROMEO:", 60)
