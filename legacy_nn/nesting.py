"""Room on Python's stack for networks whose modules stand deep in one another."""

from __future__ import annotations

import sys
from typing import Any

# Fewer levels fit into what Python allows at the start.
USUAL = 50
FRAMES = 16  # per level, at most: of printing, of comparing clones
# From 3.11 on, calls between Python functions take nothing from the stack of the machine.
MOST = 150_000 if sys.version_info >= (3, 11) else 12_000


def make_room(container: Any) -> None:
    """Lets Python go as deep as the modules below a container stand.

    Looks at every container once; one that is put inside later is looked at when it is used.

    Args:
        container: whose `_has_room` says that it has not been looked at.
    """
    deepest = 0
    waiting = [(container, 1)]
    while waiting:
        module, depth = waiting.pop()
        deepest = max(deepest, depth)
        if getattr(module, "_has_room", True):
            continue
        module._has_room = True
        waiting.extend((child, depth + 1) for child in module.children())
    if deepest > USUAL:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), min(MOST, 2000 + FRAMES * deepest)))
