"""Finds the clones in unrolled networks: modules of one structure that share all parameters."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from relume import Storage, Tensor
from relume.converters import object_tree
from relume.converters.table import Table
from relume.legacy_nn.copying import contents
from relume.legacy_nn.flattening import storage_key
from relume.legacy_nn.module import Module
from relume.legacy_nn.nesting import make_room
from relume.legacy_nn.parameter_methods import gradient_name_of

AVERAGES = {"running_mean", "running_var"}  # which every use updates
PLAIN = (int, float, str, bytes, bool, type(None))


@dataclass
class Clones:
    """Modules of one structure that share all their parameters.

    Attributes:
        cell: the first of them.
        modules: all of them, the cell too.
        paths: where each was met first, such as modules.3.modules.1.
    """

    modules: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def cell(self) -> Any:
        return self.modules[0]

    def __len__(self) -> int:
        return len(self.modules)

    def __str__(self) -> str:
        return f"{len(self)} clones of one {describe_cell(self.cell)}"


# How many Sigmoid, Tanh and CMulTable one layer of a well-known cell has.
CELLS: dict[tuple[float, ...], str] = {
    (3, 2, 3): "LSTM",
    (2, 1, 2): "GRU",
    (2, 1, 3): "GRU",
    (0, 1, 0): "RNN",
}


def describe_cell(module: Any) -> str:
    """What a cell is, in a few words: "LSTM cell", "2-layer LSTM cell", "nn.Linear(3 -> 4)".

    >>> from relume import legacy_nn as nn
    >>> from relume.legacy_nn.clones import describe_cell
    >>> describe_cell(nn.Linear(3, 4))
    'nn.Linear(3 -> 4)'
    """
    parts = [part for part in module.walk() if isinstance(part, Module)]
    if len(parts) == 1:
        return str(module)
    counts = Counter(part.torch_typename for part in parts)
    found = tuple(counts[f"nn.{name}"] for name in ("Sigmoid", "Tanh", "CMulTable"))
    for layers in range(1, max(found) + 1):
        name = CELLS.get(tuple(count / layers for count in found))
        if name is not None:
            return f"{name} cell" if layers == 1 else f"{layers}-layer {name} cell"
    return f"{module.torch_typename} of {len(parts) - 1} modules"


# ---- what makes two modules clones of each other ----


class Signatures:
    """Tells whether modules are clones: equal signatures."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self.numbers: dict[tuple, int] = {}
        self.learning: dict[int, bool] = {}

    def of(self, module: Any) -> int:
        """A number that clones of each other have in common."""
        if id(module) not in self.known:
            signature = self.make(module)  # small: modules inside are numbers in it
            self.known[id(module)] = self.numbers.setdefault(signature, len(self.numbers))
        return self.known[id(module)]

    def has_parameters(self, module: Any) -> bool:
        """Does a module, or one inside it, hold parameters?"""
        if id(module) not in self.learning:
            self.learning[id(module)] = False  # for one that is inside itself
            own = any(getattr(module, name) is not None for name in module.parameter_names)
            inside = (child for child in module.children() if isinstance(child, Module))
            self.learning[id(module)] = own or any(map(self.has_parameters, inside))
        return self.learning[id(module)]

    def make(self, module: Any) -> tuple:
        parameters = set(module.parameter_names)
        parameters |= {gradient_name_of(name) for name in parameters} | AVERAGES
        fields = []
        for name, value in vars(module).items():
            if name in parameters or not is_left_behind(module, name):
                fields.append((name, self.of_value(value, name in parameters)))
        wiring = wiring_of(module) if hasattr(module, "steps") else ()
        return (module.torch_typename, wiring, *sorted(fields, key=lambda pair: pair[0]))

    def of_value(self, value: Any, is_parameter: bool) -> Any:
        if isinstance(value, Tensor):
            return memory_of(value) if is_parameter or value.numel() > 64 else value_of(value)
        if isinstance(value, Module):
            return self.of(value)
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, Storage):
            return ("storage", *value.tolist())
        if isinstance(value, (list, tuple)):
            return tuple(self.of_value(element, False) for element in value)
        if isinstance(value, Table):
            return tuple((str(key), self.of_value(v, False)) for key, v in value.items())
        return id(value)


def is_left_behind(module: Any, name: str) -> bool:
    """Does a field hold only what the last call left behind, or how a graph is wired?"""
    return object_tree.is_scratch(name) or name in module.buffer_names or name == "shared"


def memory_of(tensor: Tensor) -> tuple:
    """Where a tensor's elements are."""
    place = (storage_key(tensor)[0], tensor.storage_offset()) if tensor.numel() else ()
    return (*place, tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype))


def value_of(tensor: Tensor) -> tuple:
    return (tuple(tensor.shape), str(tensor.dtype), *tensor.detach().flatten().tolist())


def wiring_of(graph: Any) -> tuple:
    """How the nodes of a graph are connected, and which module each runs."""
    places = {id(module): place for place, module in enumerate(graph.modules)}
    return tuple(
        (places.get(id(step.data.get("module")), -1), step.select, *step.sources)
        for step in graph.steps()
    )


def is_cell(module: Any) -> bool:
    """May it be one of several clones? Recurrent layers keep their clones themselves."""
    return (
        isinstance(module, Module)
        and module.torch_typename != "nn.CellUse"
        and "sharedClones" not in vars(module)
    )


# ---- finding them ----


def things_in(
    root: Any, enter: Callable[[Any], bool] = lambda value: True
) -> Iterator[tuple[Any, str]]:
    """Everything that is reachable, outer things first, with its path.

    Args:
        enter: asked about everything after it was given: are the things inside wanted too?
    """
    seen: set[int] = set()
    waiting = deque([(root, "")])
    while waiting:
        value, path = waiting.popleft()
        if id(value) in seen or isinstance(value, PLAIN):
            continue
        seen.add(id(value))
        yield value, path
        if not enter(value):
            continue
        for key, element in items_of(value):
            waiting.append((element, object_tree.join(path, key)))


def items_of(value: Any) -> list[tuple[Any, Any]]:
    """What a value holds, by key; lists count from 1, the modules of a container come first."""
    inside = value if isinstance(value, tuple) else contents(value)
    if inside is None:
        return []
    if isinstance(inside, (list, tuple)):
        return list(enumerate(inside, 1))
    return sorted(inside.items(), key=lambda item: item[0] != "modules")


def find_clones(root: Any) -> list[Clones]:
    """The groups of modules that are clones of each other: same structure, shared parameters.

    Args:
        root: anything that holds modules: a network, a list of clones, a checkpoint.

    >>> from relume import legacy_nn as nn
    >>> cell = nn.Linear(3, 4)
    >>> steps = [cell.clone("weight", "bias", "gradWeight", "gradBias") for _ in range(3)]
    >>> [str(group) for group in nn.find_clones(steps)]
    ['3 clones of one nn.Linear(3 -> 4)']
    """
    signatures = Signatures()
    groups: dict[Any, Clones] = {}
    repeated: set[int] = set()  # clones of an earlier one: what is inside belongs to them
    for value, path in things_in(root, lambda value: id(value) not in repeated):
        if not is_cell(value):
            continue
        if not getattr(value, "_has_room", True):
            make_room(value)
        if not signatures.has_parameters(value):
            continue
        group = groups.setdefault(signatures.of(value), Clones())
        group.modules.append(value)
        group.paths.append(path)
        if len(group) > 1:
            repeated.add(id(value))
    return [group for group in groups.values() if len(group) > 1]


def storage_bytes(root: Any) -> int:
    """The bytes of all storages that tensors below an object look at, each counted once.

    >>> import relume as rl
    >>> from relume.legacy_nn.clones import storage_bytes
    >>> x = rl.zeros(10)
    >>> storage_bytes([x, x[2:]])
    40
    """
    sizes = {}
    for value, _ in things_in(root):
        if isinstance(value, Tensor) and value.numel():
            sizes[storage_key(value)] = len(value.storage() or ()) * value.itemsize
    return sum(sizes.values())
