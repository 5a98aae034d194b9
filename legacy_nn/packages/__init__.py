"""Torch7's smaller packages, one file each (nnx: by topic)."""

from relume.legacy_nn.packages import nnx_resampling

_ROOMS = (nnx_resampling,)
