"""Hogwild: processes train one model at once, without a lock.

    python examples/hogwild.py --processes 2

The parameters lie in memory that all processes share; each computes gradients of its own batches
and changes the parameters whenever it has some. Now and then a change is lost, which stochastic
gradient descent does not mind. (Niu, Recht, Ré & Wright 2011, "Hogwild!: A Lock-Free Approach
to Parallelizing Stochastic Gradient Descent".)
"""

from __future__ import annotations

import argparse
import time

import relume as rl
import relume.multiprocessing as mp
from relume import nn, optim


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1)
    )


def make_batch(size: int) -> tuple[rl.Tensor, rl.Tensor]:
    """Points and what the model is to learn of them."""
    x = rl.rand(size, 16) * 2 - 1
    return x, (x[:, :4].prod(1) + (x[:, 4:] * 3).sin().mean(1)).unsqueeze(1)


def loss_of(model: nn.Module, size: int) -> float:
    rl.manual_seed(99)
    x, y = make_batch(size)
    with rl.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def train(rank: int, model: nn.Module, steps: int, batch: int) -> None:
    """One process: `steps` steps on the shared model."""
    rl.set_num_threads(1)
    rl.manual_seed(rank)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x, y = make_batch(batch)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def run(processes: int, steps: int, batch: int) -> tuple[float, float, float]:
    """Seconds that `steps` steps took in all, and the loss before and after."""
    rl.manual_seed(1)
    model = make_model()
    model.share_memory()
    before = loss_of(model, 1000)
    start = time.perf_counter()
    mp.spawn(train, (model, steps // processes, batch), nprocs=processes, start_method="fork")
    return time.perf_counter() - start, before, loss_of(model, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    for processes in sorted({1, options.processes}):
        seconds, before, after = run(processes, options.steps, options.batch)
        print(f"{processes} process(es): {seconds:.2f} s, loss {before:.4f} -> {after:.4f}")


if __name__ == "__main__":
    main()
