"""Torch7's smaller packages, one file each (nnx: by topic)."""

from relume.legacy_nn.packages import (
    cunn,
    fbcunn,
    fbnn,
    inn,
    nnx_criterions,
    nnx_planes,
    nnx_pyramids,
    nnx_resampling,
    nnx_tables,
    nnx_trees,
    stn,
)

_ROOMS = (
    cunn,
    fbcunn,
    fbnn,
    inn,
    nnx_criterions,
    nnx_planes,
    nnx_pyramids,
    nnx_resampling,
    nnx_tables,
    nnx_trees,
    stn,
)
