"""Networks as graphs of ops: what other formats and drawings are made of."""

from __future__ import annotations

from relume.converters.graph.model import Axis, Graph, Node, Size, UntraceableError, Value
from relume.converters.graph.recording import Recording
from relume.converters.graph.tracing import Traces, trace

__all__ = [
    "Axis",
    "Graph",
    "Node",
    "Recording",
    "Size",
    "Traces",
    "UntraceableError",
    "Value",
    "trace",
]
