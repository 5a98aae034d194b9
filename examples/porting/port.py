"""Port a Lua Torch project to Python in five steps, each of them verified.

    python examples/porting/port.py

The project is in `project/`. docs/porting.md tells the story.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import relume as rl
from relume import legacy_nn as nn
from relume.bridge import Lua, check, swap

PROJECT = Path(__file__).parent / "project" / "train.lua"
STEPS = 30


@nn.register("nn.GatedUnit")
class GatedUnit(nn.Module):
    """The project's layer in Python: what it computes; gradients follow from that."""

    parameter_names = ("weight",)

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = rl.ones(size, dtype=rl.float64)
        self.gradWeight = rl.zeros(size, dtype=rl.float64)

    def compute(self, input: Any, weight: Any) -> Any:
        return input * rl.sigmoid(input * weight)


def penalty(parameters: Any) -> tuple[float, Any]:
    """The project's function in Python."""
    return 1e-4 * (parameters**2).sum().item(), parameters * 2e-4


def start() -> tuple[Lua, Any]:
    """A new run of the project: same seed, same weights."""
    lua = Lua()
    return lua, lua.run(PROJECT)


def train_in_python(network: Any, batches: list, steps: int) -> list[float]:
    """The project's training loop in Python, on the tape."""
    parameters = network.parameters()[0]
    optimizer = rl.optim.Adam(parameters, lr=0.02)
    losses = []
    for input, target in batches[:steps]:
        optimizer.zero_grad()
        cost = sum((parameter**2).sum() for parameter in parameters) * 1e-4
        loss = ((network(input) - target) ** 2).mean() + cost
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def largest_distance(first: list[float], second: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def main() -> None:
    # 1. The project runs as it is. Its losses are what all later steps must give.
    lua, project = start()
    expected = list(project.train(STEPS))
    print(f"1. as it was: {expected[0]:.4f} ... {expected[-1]:.4f}")
    trained = project.net.clone()

    # 2. The layer in Python computes what the one in Lua does ...
    lua, project = start()
    layer = project.net.modules[2]
    port = GatedUnit(16)
    inputs = [rl.randn(8, 16, dtype=rl.float64) for _ in range(3)]
    report = check(layer, port, inputs)
    print(f"2. GatedUnit: {report}")
    assert report

    # 3. ... and takes its place in the network, which trains as before.
    swap(project.net, "modules[2]", port)
    distance = largest_distance(list(project.train(STEPS)), expected)
    print(f"3. trained with it: losses within {distance:.1e}")
    assert distance < 1e-9

    # 4. A function follows.
    lua, project = start()
    swap(project.net, "modules[2]", GatedUnit(16))
    swap(project, "penalty", penalty)
    distance = largest_distance(list(project.train(STEPS)), expected)
    print(f"4. with the penalty in Python: losses within {distance:.1e}")
    assert distance < 1e-9

    # 5. The whole network in Python, the training loop too; Lua makes the same batches.
    lua, project = start()
    network = project.net.to_python()
    assert check(project.net, network, project.batch(8)[0])
    lua.execute("torch.manualSeed(2)")
    batches = [project.batch(32) for _ in range(STEPS)]
    distance = largest_distance(train_in_python(network, batches, STEPS), expected)
    print(f"5. all in Python: losses within {distance:.1e}")
    assert distance < 1e-3  # the two Adams put their epsilon in other places
    report = check(trained, network, batches[0][0], tolerance=0.01)
    print(f"   the two trained networks: {report}")
    assert report
    with tempfile.TemporaryDirectory() as folder:
        rl.save(network, Path(folder) / "model.t7")
        assert check(network, rl.load(Path(folder) / "model.t7"), batches[0][0])


if __name__ == "__main__":
    main()
