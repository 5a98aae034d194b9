"""The core of data: dtypes, storages, tensors, the op registry and NumPy interop.

The C++ core lives beside this file; `tensor/python/*.cpp` binds it. Importing this package
adds the Python parts (printing, conversions, methods with several meanings) to
`relume.Tensor`.
"""

from relume.tensor import (
    aliases,
    dtypes,
    functions,
    in_place,
    interop,
    other_forms,
    printing,
    processes,
    serialization,
)
from relume.tensor.creation import as_tensor, from_dlpack, from_numpy, tensor

__all__ = ["as_tensor", "from_dlpack", "from_numpy", "tensor"]

functions.install()
in_place.install()
aliases.install()
interop.install()
other_forms.install()
printing.install()
processes.install()
serialization.install()
del aliases, dtypes
