"""Torch7's smaller packages, one file each (nnx: by topic)."""

from relume.legacy_nn.packages import (
    cunn,
    fbcunn,
    fbnn,
    fbnn_criterions,
    fbnn_dropout,
    fbnn_filters,
    fbnn_optim,
    fbnn_sequences,
    fbnn_sparse,
    inn,
    nnx_criterions,
    nnx_planes,
    nnx_pyramids,
    nnx_resampling,
    nnx_tables,
    nnx_trees,
    nnx_vectors,
    stn,
    unsup,
)
