"""What models call, under one name and with one order of arguments in both libraries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def functions_of(lib: Any) -> SimpleNamespace:
    return torch_functions(lib) if lib.__name__ == "torch" else relume_functions(lib)


def torch_functions(torch: Any) -> SimpleNamespace:
    f = torch.nn.functional
    return SimpleNamespace(
        conv2d=f.conv2d,
        linear=f.linear,
        relu=f.relu,
        max_pool2d=f.max_pool2d,
        cross_entropy=f.cross_entropy,
        embedding=lambda table, indices: f.embedding(indices, table),
        batch_norm=lambda x, w, b, mean, variance, training: f.batch_norm(
            x, mean, variance, w, b, training
        ),
    )


def relume_functions(rl: Any) -> SimpleNamespace:
    def cross_entropy(scores: Any, targets: Any) -> Any:
        chosen = rl.log_softmax(scores, 1).gather(1, targets[:, None])
        return -chosen.mean()

    return SimpleNamespace(
        conv2d=rl.conv2d,
        linear=rl.linear,
        relu=rl.relu,
        max_pool2d=rl.max_pool2d,
        cross_entropy=cross_entropy,
        embedding=rl.embedding,
        batch_norm=lambda x, w, b, mean, variance, training: rl.batch_norm(
            x, w, b, mean, variance, training, 0.1, 1e-5
        )[0],
    )
