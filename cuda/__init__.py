"""The GPU: not there yet. What a script asks before it chooses a device.

>>> import relume as rl
>>> "cuda" if rl.cuda.is_available() else "cpu"
'cpu'
"""

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Can tensors live on a GPU? Not yet."""
    return False


def device_count() -> int:
    """How many GPUs can be used: none yet."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the random numbers of the GPU: nothing to do without one, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seeds the random numbers of all GPUs: nothing to do without one, as in PyTorch."""


def empty_cache() -> None:
    """Gives back unused memory of the GPU: nothing to do without one, as in PyTorch."""
