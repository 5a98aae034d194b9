"""ONNX: networks as graphs that other runtimes run."""

from __future__ import annotations

from relume.converters.onnx.exporting import export

__all__ = ["export"]
