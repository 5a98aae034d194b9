"""The rules of every family of layers; importing this package fills the registry."""

from relume.converters.pytorch.families import (
    containers,
    convolution,
    graphs,
    learned,
    losses,
    normalization,
    packages,
    planes,
    pointwise,
    pooling,
    projects,
    recurrent,
    shapes,
    tables,
)

__all__ = [
    "containers",
    "convolution",
    "graphs",
    "learned",
    "losses",
    "normalization",
    "packages",
    "planes",
    "pointwise",
    "pooling",
    "projects",
    "recurrent",
    "shapes",
    "tables",
]
