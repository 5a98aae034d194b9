"""Settings of PyTorch's backends, so that scripts which set them run: they change nothing here.

>>> import relume as rl
>>> rl.backends.cudnn.deterministic = True
>>> rl.backends.mps.is_available()
False
"""

from __future__ import annotations

from typing import Any

__all__ = ["cuda", "cudnn", "mps"]


class AbsentBackend:
    """A library or device that relume does not use; its settings are kept and have no effect."""

    def __init__(self, **settings: Any) -> None:
        vars(self).update(settings)

    def is_available(self) -> bool:
        """Can it be used? It cannot."""
        return False

    def is_built(self) -> bool:
        """Is it a part of this build? It is not."""
        return False


cuda = AbsentBackend(matmul=AbsentBackend(allow_tf32=False))
cudnn = AbsentBackend(enabled=False, benchmark=False, deterministic=True, allow_tf32=False)
mps = AbsentBackend()
