"""NumPy's and PyTorch's names for the dimensions that a function works along."""

from __future__ import annotations

from typing import Any


def chosen_dimension(dim: Any, axis: Any) -> Any:
    """What was given as `dim` or as `axis`; TypeError for both."""
    if dim is not None and axis is not None:
        raise TypeError("give either dim or axis, not both")
    return axis if dim is None else dim
