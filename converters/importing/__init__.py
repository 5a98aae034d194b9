"""From what people use now into old networks: weights by name, ONNX graphs, PyTorch modules."""

from __future__ import annotations

from relume.converters.importing.weights_into import WrongWeights, fill_weights

__all__ = ["WrongWeights", "fill_weights"]
