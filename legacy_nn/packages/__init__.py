"""Torch7's smaller packages, one file each (nnx: by topic)."""

from relume.legacy_nn.packages import cunn, nnx_resampling

_ROOMS = (cunn, nnx_resampling)
