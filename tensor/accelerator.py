"""Which accelerator tensors can live on: none. What a script asks before it chooses a device.

>>> import relume as rl
>>> rl.accelerator.current_accelerator() if rl.accelerator.is_available() else "cpu"
'cpu'
"""

from __future__ import annotations

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """Is there an accelerator? There is none: tensors live in the CPU's memory."""
    return False


def device_count() -> int:
    """How many accelerators can be used: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator's device: None, as in PyTorch where there is none."""
