"""The names of the tools that used to read Torch7 files, so that old scripts change one import.

* `relume.compat.torchfile` stands in for the package torchfile,
* `relume.compat.load_lua` for `torch.utils.serialization.load_lua` of PyTorch before 1.0,
* `relume.compat.readNetFromTorch` for `cv2.dnn.readNetFromTorch` of OpenCV before 5.
"""

from __future__ import annotations

from relume.compat import torchfile
from relume.compat.opencv import readNetFromTorch
from relume.compat.pytorch import load_lua

__all__ = ["load_lua", "readNetFromTorch", "torchfile"]
