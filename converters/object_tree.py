"""A walk over what was loaded: every table, object, tensor and function, with its path.

A path joins the keys from the root with dots, numbers as Lua counts them:
`protos.rnn.modules.1.weight`. An object that can be reached in several ways has the path of the
first one; where it is met again there is a node that says `same_as`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from relume import Storage, Tensor
from relume.converters.lua_function import LuaFunction
from relume.converters.table import Table
from relume.converters.tds import TdsVec
from relume.converters.torch_object import TorchObject

__all__ = [
    "Node",
    "class_name",
    "fields_of",
    "is_parameter",
    "is_scratch",
    "is_table",
    "memory_of",
    "select",
    "walk",
]

# Fields of layers that hold what the last call left behind, or how a graph of layers is wired:
# nothing that was learnt, and no layer that is not in `modules` too.
SCRATCH = frozenset(
    """finput fgradInput columns ones indices noise mask cinput addBuffer zeros clonedInput
    copiedInput total_weight_tensor target sharedClones tableoutput tablegradInput tablegradinput
    fg bg forwardnodes backwardnodes innode outnode""".split()
)
PLAIN_TYPES = frozenset({type(None), bool, int, float, str, bytes})
LONGEST_PATH = 1000
SCRATCH_PREFIXES = ("grad", "_", "buffer", "save_", "input", "output")


@dataclass(slots=True)
class Node:
    """One object in the tree.

    Attributes:
        path: keys from the root, joined by dots; "" for the root.
        key: its key in the parent.
        value: the object.
        depth: 0 for the root.
        same_as: the path under which the same object was met before, or None.
        parent: position of the parent in the list of nodes, or -1.
        values: the entries that are plain numbers, strings, booleans or None.
        children: positions of the entries that are nodes.
    """

    path: str
    key: Any
    value: Any
    depth: int = 0
    same_as: str | None = None
    parent: int = -1
    values: dict[Any, Any] = field(default_factory=dict)
    children: list[int] = field(default_factory=list)


def walk(root: Any, *, skip_scratch: bool = False) -> list[Node]:
    """All objects that can be reached from `root`, each before what it holds.

    Args:
        root: what `relume.load` returned.
        skip_scratch: leave out the buffers, gradients and last outputs of layers.

    >>> import relume as rl
    >>> [node.path for node in walk({"weights": [rl.zeros([2]), rl.ones([2])], "epoch": 3})]
    ['', 'weights', 'weights.1', 'weights.2']
    """
    nodes: list[Node] = []
    seen: dict[int, str] = {}
    waiting = [Node("", None, root)]
    while waiting:
        node = waiting.pop()
        position = len(nodes)
        nodes.append(node)
        if node.parent >= 0:
            nodes[node.parent].children.append(position)
        node.same_as = seen.setdefault(id(node.value), node.path)
        if node.same_as == node.path:
            node.same_as = None
        if node.same_as is not None or is_plain(node.value):
            continue
        found = []
        is_layer = not is_table(node.value)
        for key, value in fields_of(node.value):
            if is_plain(value):
                node.values[key] = value
            elif not (skip_scratch and is_layer and is_scratch(key)):
                path = join(node.path, key)
                found.append(Node(path, key, value, node.depth + 1, parent=position))
        waiting.extend(reversed(found))
    return nodes


def join(path: str, key: Any) -> str:
    """The path of an entry. That of one thousands of levels down is cut in the middle."""
    joined = f"{path}.{key_text(key)}" if path else key_text(key)
    if len(joined) <= LONGEST_PATH:
        return joined
    return f"{joined[: LONGEST_PATH // 2]}...{joined[-LONGEST_PATH // 4 :]}"


def memory_of(tensor: Tensor) -> tuple[Any, ...]:
    """The same for two tensors that look at the same elements in the same way."""
    if tensor.numel() == 0:
        return (id(tensor),)
    return (tensor.data_ptr(), tensor.shape, tensor.stride(), str(tensor.dtype))


def is_plain(value: Any) -> bool:
    """Is it a number, a string, a boolean or nothing?"""
    return type(value) in PLAIN_TYPES


def key_text(key: Any) -> str:
    """A table's key as it stands in paths."""
    if isinstance(key, bytes):
        return key.decode("latin-1")
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, (str, int, float)):
        return str(key)
    return f"<{class_name(key)}>"


def is_table(value: Any) -> bool:
    """Is it a container of anything, and no layer or other object with fields of its own?"""
    return isinstance(value, (Table, TdsVec, list, tuple, dict))


def class_name(value: Any) -> str:
    """Torch7's name of an object's class: "nn.Linear", "torch.FloatTensor", "table"."""
    if isinstance(value, LuaFunction):
        return "function"
    if isinstance(value, (list, tuple, dict)):
        return "table"
    name = getattr(value, "torch_typename", None)
    if name:
        return str(name)
    return f"{value.dtype} tensor" if isinstance(value, Tensor) else type(value).__name__


def fields_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """What an object holds, by key; a list counts from 1.

    Layers come before what refers to them, so that a layer's path is where it sits in its
    network.
    """
    if is_table(value):
        return iter(_pairs(value))
    return iter(sorted(_pairs(value), key=lambda pair: pair[0] != "modules"))


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if is_plain(value) or isinstance(value, (Tensor, Storage)):
        return ()
    if isinstance(value, (list, tuple, TdsVec)):
        return enumerate(value, start=1)
    if isinstance(value, (Table, dict)):
        return value.items()
    if isinstance(value, TorchObject):
        return value.fields.items()
    if isinstance(value, LuaFunction):
        return [(upvalue.name or i, upvalue.value) for i, upvalue in enumerate(value.upvalues, 1)]
    return vars(value).items() if hasattr(value, "__dict__") else ()


def is_scratch(key: Any) -> bool:
    """Does a layer's field of this name hold only what the last call left behind?"""
    return isinstance(key, str) and (key in SCRATCH or key.startswith(SCRATCH_PREFIXES))


def is_parameter(node: Node, nodes: list[Node]) -> bool:
    """Is it a learnt tensor of a layer: a weight, a bias, or what has a gradient beside it?"""
    if not isinstance(node.value, Tensor) or node.parent < 0 or not isinstance(node.key, str):
        return False
    parent = nodes[node.parent]
    if is_table(parent.value) or is_scratch(node.key):
        return False
    if node.key in ("weight", "bias"):
        return True
    gradient = f"grad{node.key[:1].upper()}{node.key[1:]}"
    return any(key == gradient and isinstance(v, Tensor) for key, v in fields_of(parent.value))


def select(root: Any, path: str) -> Any:
    """The object at a path: "protos.rnn", "modules.3", "modules[3].weight", or "" for the root.

    Raises:
        KeyError: there is nothing; the message says how far the path leads and what is there.

    >>> select({"layers": [10, 20]}, "layers[2]")
    20
    """
    value = root
    done: list[str] = []
    for step in re.findall(r"[^.\[\]]+", path):
        entries = {key_text(key): entry for key, entry in fields_of(value)}
        if step not in entries:
            where = f"{'.'.join(done)} ({class_name(value)})" if done else class_name(value)
            some = ", ".join(list(entries)[:12]) or "nothing"
            raise KeyError(f"no {step!r} in {where}; there is: {some}")
        value = entries[step]
        done.append(step)
    return value
