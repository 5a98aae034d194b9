"""What `convert` takes that is no file of an old network: tensors for one, or a PyTorch module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relume.converters.importing.torch_module import is_torch_module, network_of
from relume.converters.importing.weights_into import Names, fill_weights
from relume.converters.loading import load_any
from relume.converters.networks import find_network
from relume.converters.table import Table
from relume.converters.weights import collect

__all__ = ["as_network", "with_weights"]


def as_network(source: Any) -> Any:
    """A module of PyTorch as an old network; anything else as it is."""
    return network_of(source) if is_torch_module(source) else source


def with_weights(source: Any, into: Any, select: str = "", names: Names = None) -> Any:
    """The object in a file (or an object), with new weights in its network.

    Args:
        source: tensors by name, a module of PyTorch, or an old network with other weights.
        into: the path of the file with the network, or what `relume.load` returned.
        select: where in the file the network is.
        names: see `fill_weights`.
    """
    is_path = isinstance(into, str) or hasattr(into, "__fspath__")
    root = load_any(into) if is_path else into.clone()
    fill_weights(find_network(root, select), tensors_of(source), names)
    return root


def tensors_of(source: Any) -> dict[str, Any]:
    """Tensors by name."""
    if is_torch_module(source):
        return dict(source.state_dict())
    if isinstance(source, Table):
        return {str(key): value for key, value in source.items() if hasattr(value, "shape")}
    if isinstance(source, Mapping):
        return {str(key): value for key, value in source.items() if hasattr(value, "shape")}
    return collect(source).by_every_name()
