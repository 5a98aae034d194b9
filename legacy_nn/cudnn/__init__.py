"""The classes of the cudnn bindings: layers of `nn` under other names, and recurrent networks.

An object that a file calls cudnn.X is one of `nn.X` once it is loaded, and remembers what it was;
`convert` goes the other way too. Recurrent networks stay what they are: `nn` has none like them.

>>> from relume import legacy_nn as nn
>>> nn.cudnn.SpatialConvolution(3, 8, 3, 3)
cudnn.SpatialConvolution(3 -> 8, 3x3)
>>> nn.cudnn.LSTM(10, 20, 2).weight.numel()
5920
"""

from relume.legacy_nn.cudnn import bases, criterions, names, planes, recurrent
from relume.legacy_nn.cudnn.conversion import convert

__all__ = ["bases", "convert", "criterions", "names", "planes", "recurrent"]
