"""The GPU: not there yet. What a script asks before it chooses a device.

>>> import relume as rl
>>> "cuda" if rl.cuda.is_available() else "cpu"
'cpu'
"""

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Can tensors live on a GPU? Not yet."""
    return False


def device_count() -> int:
    """How many GPUs can be used: none yet."""
    return 0
