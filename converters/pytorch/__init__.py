"""Networks as PyTorch source and weights, and PyTorch's weights back into old networks."""

from __future__ import annotations

from relume.converters.pytorch.generating import Source, generate

__all__ = ["Source", "generate"]
