"""What every layer of a network gave: `net.forward(x, trace=True)`, for finding what is wrong.

While a trace runs, each module of the network has an `updateOutput` of its own, a `Watched`,
which runs the real one and notes what it gave. So containers, graphs, recurrent networks and
classes of users need to know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.printing import first_line
from relume.tensor.printing import size_text


@dataclass(frozen=True)
class Statistics:
    """Of the elements of a tensor; `nan` and `inf` are counts, the rest is of the finite ones."""

    shape: tuple[int, ...]
    dtype: str
    min: float
    max: float
    mean: float
    std: float
    nan: int
    inf: int

    @property
    def is_finite(self) -> bool:
        return self.nan == 0 and self.inf == 0


def statistics_of(tensor: Tensor) -> Statistics:
    """Statistics of one tensor.

    >>> import relume as rl
    >>> from relume.legacy_nn.tracing import statistics_of
    >>> s = statistics_of(rl.tensor([1.0, 3.0, float("nan")]))
    >>> s.min, s.max, s.mean, s.std, s.nan
    (1.0, 3.0, 2.0, 1.0, 1)
    """
    values = tensor.detach().to(rl.float64).numpy()
    finite = values[np.isfinite(values)]
    nan = int(np.isnan(values).sum())
    if not finite.size:
        finite = np.full(1, np.nan)
    return Statistics(
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("relume."),
        min=float(finite.min()),
        max=float(finite.max()),
        mean=float(finite.mean()),
        std=float(finite.std()),
        nan=nan,
        inf=int(np.isinf(values).sum()),
    )


class TracedLayer:
    """One run of one layer.

    Attributes:
        name: its path, such as root.modules[2].modules[1]; #2 marks its second run, and so on.
        module: the layer.
        input: what it got, in words.
        outputs: what it gave, by name: the path, and [1], [2], ... for elements of a table.
        statistics: the same with `Statistics`.
        seconds: how long it took, with the layers inside it.
    """

    def __init__(self, name: str, module: Any, input: Activation) -> None:
        self.name = name
        self.module = module
        self.input = nested.describe(input)
        self.outputs: dict[str, Tensor] = {}
        self.statistics: dict[str, Statistics] = {}
        self.seconds = 0.0

    def note(self, output: Activation, keep: bool) -> None:
        """Takes down what came out."""
        for name, tensor in named_tensors(self.name, output):
            self.statistics[name] = statistics_of(tensor)
            if keep:
                self.outputs[name] = tensor.detach().clone()

    @property
    def is_finite(self) -> bool:
        return all(statistics.is_finite for statistics in self.statistics.values())

    def __repr__(self) -> str:
        return f"{self.name}: {first_line(self.module)}"


def named_tensors(name: str, value: Activation) -> Iterator[tuple[str, Tensor]]:
    """The tensors of an activation with names: name, or name[1], name[2], ..."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, (int, float)):
        yield name, rl.tensor(float(value), dtype=rl.float64)
    elif nested.is_table(value):
        for position, element in enumerate(nested.elements(value), 1):
            yield from named_tensors(f"{name}[{position}]", element)


@dataclass(frozen=True)
class OutputDifference:
    """How one output differs from the one it is compared with.

    Attributes:
        name: of the output.
        largest: of the absolute differences; None when there is no such output, or of another
            shape.
        relative: `largest` over the largest absolute value of the other output.
        differs: is it more than was allowed?
    """

    name: str
    largest: float | None
    relative: float | None
    differs: bool


class Trace:
    """What `trace` gives: the output, and what every layer gave, in the order of their ends.

    Attributes:
        output: of the network.
        layers: one `TracedLayer` per run of a layer; the network itself is the last.
    """

    def __init__(self, layers: list[TracedLayer], output: Activation) -> None:
        self.layers = layers
        self.output = output

    def __iter__(self) -> Iterator[TracedLayer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, name: str) -> TracedLayer:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"no layer {name!r}; there are {', '.join(layer.name for layer in self)}")

    def outputs(self) -> dict[str, Tensor]:
        """All outputs by name."""
        return {name: tensor for layer in self.layers for name, tensor in layer.outputs.items()}

    def first_not_finite(self) -> TracedLayer | None:
        """The first layer that gave a NaN or an infinity: where it comes from."""
        return next((layer for layer in self.layers if not layer.is_finite), None)

    def save(self, path: str | Path) -> None:
        """Writes all outputs as an .npz file, under their names."""
        from relume.converters.atomic import replacing

        arrays: dict[str, Any] = {name: t.numpy() for name, t in self.outputs().items()}
        with replacing(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)

    def compare(
        self, other: Trace | Mapping[str, Any] | str | Path, tolerance: float = 1e-5
    ) -> list[OutputDifference]:
        """Compares every output with the one of the same name.

        Args:
            other: a trace, arrays by name, or the path of an .npz file of them. Only what it
                has is compared.
            tolerance: how much of the largest absolute value may differ.

        Returns:
            One `OutputDifference` per name of `other` that is a layer's, in the layers' order.

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Square()).add(nn.Sqrt())
        >>> before = nn.trace(net, rl.ones(2))
        >>> after = nn.trace(net, rl.ones(2) * 2)
        >>> after.first_difference(before).name
        'root.modules[1]'
        """
        others = named_arrays(other)
        mine = {name: tensor.numpy() for name, tensor in self.outputs().items()}
        if not set(mine) & set(others):
            raise ValueError(
                "no output has the name of a layer; the layers' outputs are called "
                f"{', '.join(list(mine)[:3])}, ..., the others {', '.join(list(others)[:3])}"
            )
        return [
            difference_of(name, array, others[name], tolerance)
            for name, array in mine.items()
            if name in others
        ]

    def first_difference(
        self, other: Trace | Mapping[str, Any] | str | Path, tolerance: float = 1e-5
    ) -> OutputDifference | None:
        """The first layer that differs, None when all agree; see `compare`."""
        return next((d for d in self.compare(other, tolerance) if d.differs), None)

    def __str__(self) -> str:
        rows = [COLUMNS, *[row for layer in self.layers for row in texts_of(layer)]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    __repr__ = __str__


COLUMNS = ["output of", "layer", "shape", "min", "max", "mean", "std", "nan", "inf", "ms"]


def texts_of(layer: TracedLayer) -> Iterator[list[str]]:
    """The cells of a layer's rows, one per tensor that it gave."""
    for name, s in layer.statistics.items():
        shape = size_text(s.shape)
        numbers = [f"{number:.4g}" for number in (s.min, s.max, s.mean, s.std)]
        counts = [str(s.nan or ""), str(s.inf or "")]
        milliseconds = f"{layer.seconds * 1e3:.3f}"
        yield [name, first_line(layer.module), shape, *numbers, *counts, milliseconds]


def named_arrays(source: Trace | Mapping[str, Any] | str | Path) -> dict[str, np.ndarray]:
    if isinstance(source, Trace):
        source = source.outputs()
    if isinstance(source, (str, Path)):
        with np.load(source, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in loaded}
    return {
        name: value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
        for name, value in source.items()
    }


def difference_of(
    name: str, mine: np.ndarray, other: np.ndarray, tolerance: float
) -> OutputDifference:
    if mine.shape != other.shape:
        return OutputDifference(name, None, None, True)
    if mine.size == 0:
        return OutputDifference(name, 0.0, 0.0, False)
    mine, other = mine.astype(np.float64), other.astype(np.float64)
    is_same = (mine == other) | (np.isnan(mine) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        distances = np.where(is_same, 0, np.abs(mine - other))
    largest = float(distances.max())  # NaN where only one of them is
    scale = float(np.abs(other[np.isfinite(other)]).max(initial=0))
    relative = largest / scale if scale else largest
    return OutputDifference(name, largest, relative, not relative <= tolerance)


class Watched:
    """Stands in the place of a module's `updateOutput` while a trace runs."""

    def __init__(self, watch: Watch, module: Any, path: str) -> None:
        self.watch = watch
        self.module = module
        self.path = path

    def __call__(self, *arguments: Any) -> Activation:
        layer = TracedLayer(self.watch.name_run(self.path), self.module, arguments[0])
        self.watch.add_children(self.module, self.path)
        noting = self.watch.noting
        started = time.perf_counter()
        output = type(self.module).updateOutput(self.module, *arguments)
        ended = time.perf_counter()
        layer.seconds = ended - started - (self.watch.noting - noting)
        layer.note(output, self.watch.keep)
        self.watch.noting += time.perf_counter() - ended
        self.watch.layers.append(layer)
        return output

    def for_copy(self, module: Any) -> Watched:
        """The module was cloned while it is watched, as recurrent networks do: the clone is
        watched under the same path."""
        return self.watch.put(module, self.path)


class Watch:
    """What is watched, and what was seen.

    Attributes:
        noting: seconds that went into statistics and copies.
    """

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.layers: list[TracedLayer] = []
        self.watched: dict[int, Any] = {}
        self.runs: dict[str, int] = {}
        self.noting = 0.0

    def name_run(self, path: str) -> str:
        run = self.runs[path] = self.runs.get(path, 0) + 1
        return path if run == 1 else f"{path}#{run}"

    def put(self, module: Any, path: str) -> Watched:
        watched = Watched(self, module, path)
        self.watched[id(module)] = module
        return watched

    def add(self, module: Any, path: str) -> None:
        if id(module) not in self.watched:
            module.__dict__["updateOutput"] = self.put(module, path)

    def add_children(self, module: Any, path: str) -> None:
        """Only now: a module may get new ones as it runs."""
        from relume.legacy_nn.module import Module

        for position, child in enumerate(module.children(), 1):
            if isinstance(child, Module):
                self.add(child, f"{path}.modules[{position}]")

    def remove(self) -> None:
        for module in self.watched.values():
            module.__dict__.pop("updateOutput", None)


@contextmanager
def watching(module: Any, keep: bool) -> Iterator[Watch]:
    watch = Watch(keep)
    watch.add(module, "root")
    try:
        yield watch
    finally:
        watch.remove()


def trace(module: Any, input: Activation, *target: Any, keep: bool = True) -> Trace:
    """Runs `module.forward(input)` and takes down what every layer in it gives.

    Args:
        module: a layer, network or criterion.
        input: a tensor, or a table of tensors.
        target: of a criterion.
        keep: False for statistics alone, without copies of the outputs.

    Returns:
        A `Trace`: print it for a table, `trace["root.modules[2]"]` for one layer.

    Raises:
        What a layer raises; the exception's `trace` has the layers that ran before it.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.MulConstant(2)).add(nn.Log())
    >>> seen = nn.trace(net, rl.tensor([-1.0, 0.5]))
    >>> [layer.name for layer in seen]
    ['root.modules[1]', 'root.modules[2]', 'root']
    >>> seen["root.modules[1]"].statistics["root.modules[1]"].min
    -2.0
    >>> seen.first_not_finite()
    root.modules[2]: nn.Log
    """
    with watching(module, keep) as watch:
        try:
            output = module.forward(input, *target)
        except Exception as error:
            error.trace = Trace(watch.layers, None)  # type: ignore[attr-defined]
            raise
    return Trace(watch.layers, output)
