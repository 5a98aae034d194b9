"""Weights by name in files that other tools read: safetensors, npz, HDF5."""

from __future__ import annotations

from relume.converters.weights.collecting import Weights, collect, with_aliases

__all__ = ["Weights", "collect", "with_aliases"]
