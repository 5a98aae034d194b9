"""The weights of a model or checkpoint as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relume import Tensor, from_numpy
from relume.converters.object_tree import memory_of, walk

__all__ = ["Weights", "collect", "named_tensors"]


@dataclass
class Weights:
    """Tensors by name, each once.

    Attributes:
        arrays: NumPy arrays on the tensors' memory.
        aliases: further names of the same tensors: alias -> name.
        root: the object that they are in.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    root: Any = None


def collect(root: Any, *, everything: bool = False) -> Weights:
    """The tensors of a loaded object, named by their paths.

    Buffers, gradients and last outputs of layers are left out, empty tensors too. A tensor that
    sits in several places is there once, under the first path; so are two tensors that look at
    the same elements.

    Args:
        root: what `relume.load` returned.
        everything: take the buffers, gradients and outputs too.

    >>> import relume as rl
    >>> w = rl.zeros([2, 3])
    >>> weights = collect({"encoder": w, "decoder": w})
    >>> list(weights.arrays), weights.aliases
    (['encoder'], {'decoder': 'encoder'})
    """
    weights = Weights(root=root)
    names: dict[tuple[Any, ...], str] = {}
    used: set[str] = set()
    for node in walk(root, skip_scratch=not everything):
        if not isinstance(node.value, Tensor) or node.value.numel() == 0:
            continue
        name = node.path or "tensor"
        while name in used:  # keys 1 and "1" of one table have the same path
            name += "_"
        used.add(name)
        first = names.setdefault(memory_of(node.value), name)
        if first == name:
            weights.arrays[name] = node.value.detach().numpy()
        else:
            weights.aliases[name] = first
    return weights


def named_tensors(arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Tensors by name on the memory of arrays; an alias is the same tensor."""
    tensors = {name: from_numpy(array) for name, array in arrays.items()}
    return {**tensors, **{alias: tensors[name] for alias, name in aliases.items()}}
