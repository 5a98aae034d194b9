"""Classes of cudnn that others are made from; they compute nothing themselves."""

from __future__ import annotations

from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register

# Rows: name, what it is.
BASES = [
    ("_Pointwise", "The base of cudnn's functions of every element."),
    ("_Pooling", "The base of cudnn's pooling layers."),
    ("_Pooling3D", "The base of cudnn's pooling layers of volumes."),
]
for _name, _documentation in BASES:
    _members = {"__doc__": _documentation, "__module__": __name__}
    globals()[_name] = register(f"cudnn.{_name}")(type(_name, (Module,), _members))
