"""Torch7's layers through forward and backward, against the same networks in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import legacy_models as models
from ..case import Arrays, Case, Names, Result, Settings, Topic
from ..timing import LIBRARIES, timed
from .memory import in_new_process


@dataclass(frozen=True)
class Network:
    """A network and its input."""

    label: str
    build: Callable[[Any], Any]
    shape: tuple[int, ...]
    targets: tuple[int, ...]  # classes, then the shape


NETWORKS = [
    Network("perceptron 3x64, batch 32", models.perceptron, (32, 64), (64, 32)),
    Network("LeNet, batch 32", models.lenet, (32, 1, 28, 28), (10, 32)),
    Network("char-rnn gModule, 20 steps, batch 50", models.char_rnn, (20, 50, 65), (65, 20, 50)),
    Network("SeqLSTM 128, 50 steps, batch 32", models.seq_lstm, (50, 32, 128), (65, 1600)),
    Network("ResNet-18, batch 4 of 128x128", models.resnet18, (4, 3, 128, 128), (1000, 4)),
]
SMALL_LAYERS = [("Linear", (4, 4)), ("Tanh", ()), ("ReLU", ())]

PEAK = """
import importlib, re, sys
lib = importlib.import_module(sys.argv[1])
from comparison.case import Arrays
from comparison import legacy_models
batch, size = int(sys.argv[2]), int(sys.argv[3])
arrays = Arrays(lib)
model = legacy_models.resnet18(lib)
x, targets = arrays.floats(batch, 3, size, size), arrays.integers(1000, batch) + 1
def peak():
    return int(re.search("VmHWM:\\\\s*(\\\\d+)", open("/proc/self/status").read()).group(1)) / 1024
before = peak()
for _ in range(3):
    model.step(x, targets)
print(peak() - before)
"""


def names(network: Network, lib: Any) -> Names:
    arrays = Arrays(lib)
    classes, *shape = network.targets
    targets = arrays.integers(classes, *shape) + 1
    return {"model": network.build(lib), "x": arrays.floats(*network.shape), "targets": targets}


def layer_names(name: str, arguments: tuple, lib: Any) -> Names:
    """One small layer with its output already there, for backward."""
    x = Arrays(lib).floats(1, 4)
    if models.is_torch(lib):
        layer = getattr(lib.nn, name)(*arguments)
        x.requires_grad_()

        def backward() -> Any:
            return lib.autograd.grad(y, [x, *layer.parameters()], x.detach(), retain_graph=True)

        y = layer(x)
        return {"forward": layer, "x": x, "backward": backward}
    from relume import legacy_nn

    layer = getattr(legacy_nn, name)(*arguments).float()
    layer.forward(x)
    return {"forward": layer.forward, "x": x, "backward": partial(layer.backward, x, x)}


def cases(settings: Settings) -> Iterator[Case]:
    for name, arguments in SMALL_LAYERS:
        made = partial(layer_names, name, arguments)
        yield Case(f"one small {name}, forward", "forward(x)", made, recorded=True)
        yield Case(f"one small {name}, backward", "backward()", made, recorded=True)
    for network in NETWORKS:
        if settings.quick and network.label.startswith("ResNet"):
            continue
        made = partial(names, network)
        yield Case(f"{network.label}, forward", "model.forward(x)", made, recorded=True)
        yield Case(f"{network.label}, training", "model.step(x, targets)", made, recorded=True)


def measure(topic: Topic, settings: Settings) -> Iterator[Result]:
    yield from timed(cases)(topic, settings)
    numbers = (2, 64) if settings.quick else (8, 224)
    label = "ResNet-18 training step, batch 8, peak"
    if settings.wants(label):
        values = [in_new_process(PEAK, name, *numbers) for name in LIBRARIES]
        yield Result(topic.name, label, "MB", *values, aim=1.0)


TOPIC = Topic("legacy_nn", "Torch7's layers through forward and backward", measure, worst=0.9)
