"""The networks in what a file holds."""

from __future__ import annotations

from typing import Any

from relume import legacy_nn
from relume.converters import object_tree

__all__ = ["find_network", "networks_to_prove", "outer_modules"]


def find_network(root: Any, path: str = "") -> Any:
    """The module at a path; without one, the only module that is not inside another one.

    Args:
        root: what `relume.load` returned.
        path: such as "protos.rnn".

    Raises:
        ValueError: there is none, or several; the message lists them.

    >>> from relume import legacy_nn as nn
    >>> find_network({"model": nn.Tanh(), "epoch": 3})
    nn.Tanh
    """
    if path:
        root = object_tree.select(root, path)
    if isinstance(root, legacy_nn.criterion.Criterion):
        where = f"{path!r}" if path else "the file"
        raise ValueError(
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
        raise ValueError(f"there is no network to run in {where}, which holds: {kind}")
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
