"""A checkpoint of 2016 goes on training in PyTorch, and its new weights go back to Lua.

    python examples/convert_to_pytorch.py [FOLDER]

Writes the network of the checkpoint as PyTorch source, trains it for some steps on a line of text,
puts the weights into a new checkpoint and compares what both sides say. Needs PyTorch.
"""

import importlib.util
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import torch

import relume as rl

CHECKPOINT = Path(__file__).parent / "models" / "shakespeare.t7"
TEXT = "To be, or not to be"


def numbers_of(text, vocabulary):
    """The characters of a text as the numbers (from 1) that the network knows them by."""
    return torch.tensor([[vocabulary[character]] for character in text])


def loss_of(network, characters, states):
    """The mean surprise at each next character; char-rnn's cell gives states and scores."""
    total = 0
    for given, wanted in pairwise(characters):
        *states, scores = network((given, *states))
        total = total - scores[0, wanted - 1]
    return (total / (len(characters) - 1)).sum()


def main(folder):
    checkpoint = rl.load(CHECKPOINT)
    print(rl.convert(CHECKPOINT, folder / "cell.py", select="protos.rnn"))

    spec = importlib.util.spec_from_file_location("cell", folder / "cell.py")
    cell = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cell)
    network = cell.load()

    size, layers = int(checkpoint.opt.rnn_size), int(checkpoint.opt.num_layers)
    states = [torch.zeros(1, size, dtype=torch.float64) for _ in range(2 * layers)]
    characters = numbers_of(TEXT, checkpoint.vocab)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    before = loss_of(network, characters, states).item()
    for _ in range(6):
        optimizer.zero_grad()
        loss_of(network, characters, states).backward()
        optimizer.step()
    after = loss_of(network, characters, states).item()
    print(f"surprise per character: {before:.2f} before, {after:.2f} after training")

    torch.save(network.state_dict(), folder / "trained.pt")
    report = rl.convert(
        folder / "trained.pt", folder / "trained.t7", into=CHECKPOINT, select="protos.rnn"
    )
    print(report)

    old = rl.load(folder / "trained.t7").protos.rnn.evaluate()
    zeros = [rl.zeros(1, size, dtype=rl.float64) for _ in range(2 * layers)]
    *_, scores = old.forward([rl.tensor([1]), *zeros])
    *_, expected = network((torch.tensor([1]), *states))
    difference = abs(scores.numpy() - expected.detach().numpy()).max()
    print(f"largest difference of the scores: {difference:.1e}")
    return before, after, difference


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
