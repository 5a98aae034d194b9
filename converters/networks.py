"""The networks in what a file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

import relume as rl
from relume import legacy_nn
from relume.converters import object_tree
from relume.legacy_nn.types import DTYPES

__all__ = [
    "NoNetwork",
    "find_network",
    "networks_to_prove",
    "outer_modules",
    "types_of",
    "with_one_type",
]


CONVERTERS = ("nn.Copy", "nn.Convert")  # layers whose output has another type than their input


class NoNetwork(ValueError):
    """An object holds no module that could be run alone."""


def find_network(root: Any, path: str = "") -> Any:
    """The module at a path; without one, the only module that is not inside another one.

    Args:
        root: what `relume.load` returned.
        path: such as "protos.rnn".

    Raises:
        NoNetwork: (a ValueError) there is none.
        ValueError: there are several; the message lists them.

    >>> from relume import legacy_nn as nn
    >>> find_network({"model": nn.Tanh(), "epoch": 3})
    nn.Tanh
    """
    if path:
        root = object_tree.select(root, path)
    if isinstance(root, legacy_nn.criterion.Criterion):
        where = f"{path!r}" if path else "the file"
        raise NoNetwork(
            f"{where} is a criterion ({root.torch_typename}), not a network: it compares an output "
            "with a target; call it in Python: relume.load(file), criterion.forward(output, target)"
        )
    if isinstance(root, legacy_nn.Module):
        return root
    found = outer_modules(root)
    if len(found) == 1:
        return found[0][1]
    where = f"{path!r}" if path else "the file"
    if not found:
        kind = object_tree.class_name(root)
        raise NoNetwork(f"there is no network to run in {where}, which holds: {kind}")
    names = "\n".join(f"  --select {name}   ({m.torch_typename})" for name, m in found)
    raise ValueError(f"there are {len(found)} modules in {where}; say which one:\n{names}")


def outer_modules(root: Any) -> list[tuple[str, Any]]:
    """Modules by path, without criterions and without those inside of modules."""
    if isinstance(root, legacy_nn.Module):
        return [("", root)]
    found: list[tuple[str, Any]] = []
    for node in object_tree.walk(root, skip_scratch=True):
        if isinstance(node.value, legacy_nn.criterion.Criterion) or node.same_as is not None:
            continue
        if isinstance(node.value, legacy_nn.Module):
            inside = any(node.path.startswith(f"{path}.") for path, _ in found)
            if not inside:
                found.append((node.path, node.value))
    return found


def networks_to_prove(root: Any) -> list[tuple[str, Any]]:
    """The outer modules without clones: of those that share all parameters, the first one."""
    found, seen = [], set()
    for path, module in outer_modules(root):
        if isinstance(module, legacy_nn.criterion.Criterion):
            continue
        parameters = frozenset(tensor.data_ptr() for tensor in module.parameters()[0])
        if parameters and parameters in seen:
            continue
        seen.add(parameters)
        found.append((path, module))
    return found


def types_of(network: Any) -> dict[str, str]:
    """The type of the floating parameters, with the path of the first that has it.

    >>> from relume import legacy_nn as nn
    >>> types_of(nn.Sequential().add(nn.Linear(2, 2)).add(nn.Linear(2, 2).float()))
    {'float64': 'modules.1.weight', 'float32': 'modules.2.weight'}
    """
    parameters = {id(parameter) for parameter in network.parameters()[0]}
    found: dict[str, str] = {}
    for node in object_tree.walk(network, skip_scratch=True):
        if id(node.value) in parameters and node.value.dtype.is_floating_point:
            found.setdefault(str(node.value.dtype).removeprefix("relume."), node.path)
    return found


def with_one_type(network: Any) -> tuple[Any, str]:
    """A network whose layers compute in one type: a copy in the widest of theirs when they differ,
    as Torch7 asks for, and a sentence about it; else, or with layers that convert between types,
    the network itself and "".

    >>> from relume import legacy_nn as nn
    >>> with_one_type(nn.Sequential().add(nn.Linear(2, 2)).add(nn.Linear(2, 2).float()))[1]
    'float64 at modules.1.weight, float32 at modules.2.weight: all of it became float64'
    """
    found = types_of(network)
    if len(found) < 2 or any(m.torch_typename in CONVERTERS for m in network.listModules()):
        return network, ""
    widest = max(found, key=lambda name: np.dtype(name).itemsize)
    typename = next(name for name, dtype in DTYPES.items() if dtype == getattr(rl, widest))
    where = ", ".join(f"{name} at {path}" for name, path in found.items())
    return network.clone().type(typename), f"{where}: all of it became {widest}"
