"""The weights of a model or checkpoint as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from relume import Tensor, bfloat16, from_numpy
from relume.converters.object_tree import memory_of, walk
from relume.converters.t7.arrays import Arrays

__all__ = ["Weights", "collect", "named_tensors", "with_aliases"]

Named = TypeVar("Named")


@dataclass
class Weights:
    """Tensors by name, each once.

    Attributes:
        arrays: NumPy arrays on the tensors' memory.
        aliases: further names of the same tensors: alias -> name.
        root: the object that they are in.
        tensors: the tensors by name; arrays of other libraries as tensors on their memory.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    root: Any = None
    tensors: dict[str, Tensor] = field(default_factory=dict)
    _names: dict[tuple[Any, ...], str] = field(default_factory=dict)
    _foreign: dict[int, tuple[Any, Tensor]] = field(default_factory=dict)
    _adopting: Arrays = field(default_factory=Arrays)

    def by_every_name(self) -> dict[str, np.ndarray]:
        """The arrays under all of their names."""
        return with_aliases(self.arrays, self.aliases)

    def tensor_of(self, value: Any) -> Tensor | None:
        """The tensor that a value is: relume's own, or an array of another library."""
        if isinstance(value, Tensor):
            return value
        if id(value) in self._foreign:
            return self._foreign[id(value)][1]
        tensor = self._adopting.as_tensor(value)
        if tensor is not None:
            self._foreign[id(value)] = (value, tensor)
        return tensor

    def name_of(self, tensor: Tensor) -> str | None:
        """The name of the array that has a tensor's elements."""
        return self._names.get(memory_of(tensor))

    def add(self, path: str, tensor: Tensor) -> None:
        """Takes a tensor in, under its path or as an alias."""
        name = printable(path) or "tensor"
        while name in self.tensors or name in self.aliases:  # keys 1 and "1" have the same path
            name += "_"
        first = self._names.setdefault(memory_of(tensor), name)
        if first != name:
            self.aliases[name] = first
            return
        self.tensors[name] = tensor
        self.arrays[name] = array_of(tensor)


def array_of(tensor: Tensor) -> np.ndarray:
    """The elements as an array; of bfloat16, which NumPy does not have, as float32."""
    return (tensor.float() if tensor.dtype == bfloat16 else tensor).detach().numpy()


def printable(path: str) -> str:
    """A path without characters that a format may stumble over.

    >>> print(printable("a" + chr(0) + "b"))
    a\\x00b
    """
    if path.isprintable():
        return path
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in path)


def collect(root: Any, *, everything: bool = False) -> Weights:
    """The tensors of a loaded object, named by their paths.

    Buffers, gradients and last outputs of layers are left out, empty tensors too. A tensor that
    sits in several places is there once, under the first path; so are two tensors that look at
    the same elements.

    Args:
        root: what `relume.load` returned; arrays of NumPy and PyTorch in it are tensors too.
        everything: take the buffers, gradients and outputs too.

    >>> import relume as rl
    >>> w = rl.zeros([2, 3])
    >>> weights = collect({"encoder": w, "decoder": w})
    >>> list(weights.arrays), weights.aliases
    (['encoder'], {'decoder': 'encoder'})
    """
    weights = Weights(root=root)
    for node in walk(root, skip_scratch=not everything):
        tensor = weights.tensor_of(node.value)
        if tensor is not None and tensor.numel():
            weights.add(node.path, tensor)
    return weights


def named_tensors(arrays: Mapping[str, np.ndarray], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Tensors by name on the memory of arrays; an alias is the same tensor."""
    return with_aliases({name: from_numpy(array) for name, array in arrays.items()}, aliases)


def with_aliases(named: Mapping[str, Named], aliases: Mapping[str, str]) -> dict[str, Named]:
    """Things by name, under their further names too.

    >>> with_aliases({"a": 1}, {"b": "a"})
    {'a': 1, 'b': 1}
    """
    further = {alias: named[name] for alias, name in aliases.items() if name in named}
    return {**named, **further}
