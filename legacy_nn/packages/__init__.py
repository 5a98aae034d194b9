"""Torch7's smaller packages, one file each (nnx: by topic)."""

from relume.legacy_nn.packages import cunn, fbcunn, fbnn, inn, nnx_resampling, stn

_ROOMS = (cunn, fbcunn, fbnn, inn, nnx_resampling, stn)
