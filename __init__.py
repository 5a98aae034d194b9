"""relume: go on using Lua-Torch (Torch7) models and code.

>>> import relume as rl
>>> x = rl.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

import importlib
import sys
from math import e, inf, nan, pi
from typing import Any

from relume import autograd
from relume._C import Storage, Tensor
from relume.autograd import (
    enable_grad,
    func,
    grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from relume.tensor import (
    accelerator,
    as_tensor,
    backends,
    fft,
    from_dlpack,
    from_numpy,
    linalg,
    signal,
    special,
    tensor,
)
from relume.tensor import processes as multiprocessing
from relume.tensor.devices import device
from relume.tensor.dtypes import (
    SECOND_NAMES,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from relume.tensor.functions import public_functions
from relume.tensor.startup import load_blas
from relume.tensor.threads import get_num_threads, set_num_threads
from relume.tensor.typed_tensors import TYPED_TENSORS

__version__ = "0.1.0"
__all__ = [
    "Size",
    "Storage",
    "Tensor",
    "accelerator",
    "as_tensor",
    "autograd",
    "backends",
    "bfloat16",
    "bool_",
    "complex64",
    "complex128",
    "device",
    "dtype",
    "e",
    "enable_grad",
    "euler_gamma",
    "fft",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "func",
    "get_default_dtype",
    "get_num_threads",
    "grad",
    "inf",
    "inference_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "linalg",
    "multiprocessing",
    "nan",
    "newaxis",
    "no_grad",
    "pi",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "signal",
    "special",
    "tensor",
    "uint8",
]

# A folder of that name beside this file would hide Python's own module from scripts run here.
sys.modules["relume.multiprocessing"] = multiprocessing
# Modules that are known by a shorter name.
sys.modules["relume.linalg"] = linalg
sys.modules["relume.fft"] = fft
sys.modules["relume.accelerator"] = accelerator
sys.modules["relume.backends"] = backends
sys.modules["relume.signal"] = signal
sys.modules["relume.signal.windows"] = signal.windows

euler_gamma = 0.5772156649015329
# Shapes are tuples; x[newaxis] is x[None].
Size = tuple
newaxis = None

load_blas()
globals().update(public_functions())
globals().update(TYPED_TENSORS)
# Last, as they hide Python's own float, int and bool in this module.
globals().update(SECOND_NAMES)

# Rooms that are loaded when somebody asks for them.
_LAZY_MODULES = (
    "array_api",
    "bridge",
    "compat",
    "converters",
    "cuda",
    "data",
    "distributions",
    "legacy_nn",
    "nn",
    "optim",
)
_LAZY_NAMES = {
    "load": "relume.converters",
    "load_all": "relume.converters",
    "loads": "relume.converters",
    "save": "relume.converters",
    "save_all": "relume.converters",
    "dumps": "relume.converters",
    "ConversionReport": "relume.converters",
    "compare": "relume.converters",
    "convert": "relume.converters",
    "graph": "relume.converters.graph.drawing",
    "FileFormatError": "relume.converters",
    "Table": "relume.converters",
    "TorchObject": "relume.converters",
    "LuaFunction": "relume.converters",
    "vmap": "relume.autograd.func",
    "isdtype": "relume.array_api",
    "unique_all": "relume.array_api",
    "unique_counts": "relume.array_api",
    "unique_inverse": "relume.array_api",
    "unique_values": "relume.array_api",
    "manual_seed": "relume.tensor.random",
    "initial_seed": "relume.tensor.random",
    "seed": "relume.tensor.random",
    "get_rng_state": "relume.tensor.random",
    "set_rng_state": "relume.tensor.random",
    "Generator": "relume.tensor.random",
}


# What PyTorch and NumPy have and relume does not.
_INSTEAD = {
    "uint16": "int32, which holds the same numbers",
    "uint32": "int64, which holds the same numbers",
    "uint64": "int64, or float64 for numbers above 2**63 - 1",
    "eig": "relume.linalg.eig",
    "lstsq": "relume.linalg.lstsq",
    "matrix_rank": "relume.linalg.matrix_rank",
    "solve": "relume.linalg.solve",
    "symeig": "relume.linalg.eigh",
    "random": "relume.rand, relume.randn, relume.randint, ...",
    "utils": "relume.data for torch.utils.data, relume.autograd.checkpoint for checkpoints",
    "autocast": "the layers in one type: relume computes in the type of its tensors",
    "amp": "the layers in one type: relume computes in the type of its tensors",
    "compile": "the module itself: relume compiles nothing",
    "jit": "the module itself: relume compiles nothing",
    "set_default_device": "the argument device where a tensor is made; it is the CPU by default",
    "typename": "x.type()",
    "use_deterministic_algorithms": "nothing in its place: threads do not change results",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(f"relume.{name}")
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
        globals()[name] = value
        return value
    hint = _INSTEAD.get(name)
    raise AttributeError(
        f"module 'relume' has no attribute {name!r}" + (f"; use {hint}" if hint else "")
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, *_LAZY_NAMES})
