"""`relume.signal`: holds `windows`, as `torch.signal` and `scipy.signal` do."""

from relume.tensor import signal_windows as windows

__all__ = ["windows"]
