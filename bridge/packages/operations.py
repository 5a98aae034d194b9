"""What the core says about its operations, for `? torch.name` at the prompt."""

from __future__ import annotations

from relume import _C

__all__ = ["describe"]


def describe(name: str) -> str | None:
    """The description of a registered operation; None if there is none."""
    for operation in _C.registry():
        if operation["name"] == name:
            return str(operation["doc"]) or None
    return None
