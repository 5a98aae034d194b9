"""Torch7's `nn` and `nngraph` in Python: Torch7's names, arguments and numbers.

Dimensions and labels count from 1, as in Torch7. `layer(x)` is the modern face, on the tape;
`layer.forward(x)` and `layer.backward(x, g)` are Torch7's protocol.

>>> import relume as rl
>>> from relume import legacy_nn as nn
>>> net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))
>>> x = rl.ones(5, 3, dtype=rl.float64)
>>> net(x).shape
(5, 2)
"""

from types import ModuleType

from relume.legacy_nn import (
    aliases,
    composite,
    container,
    convert,
    convolution,
    criterion,
    cudnn,
    distances,
    dpnn,
    dropout,
    fractional_pooling,
    gmodule,
    graph_nodes,
    kmeans,
    linear,
    lookup_table,
    margin_criterion,
    models,
    module,
    normalization,
    optim,
    packages,
    plane_layers,
    pointwise,
    pooling,
    reductions,
    registry,
    selection,
    shape_layers,
    simplex_criterion,
    sparse_layers,
    stochastic_gradient,
    table_layers,
    utils,
    volumetric,
    weight_norm,
    wrappers,
)
from relume.legacy_nn.clones import find_clones
from relume.legacy_nn.collapsing import CellUse, collapse_clones, expand_clones
from relume.legacy_nn.diagonal_hessian import hessian
from relume.legacy_nn.errors import UnknownModuleError
from relume.legacy_nn.jacobian import Jacobian, SparseJacobian
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import lookup, register, registered_names
from relume.legacy_nn.rnn import (
    attention,
    bidirectional,
    criterions,
    gru,
    later_layers,
    lstm,
    masking,
    recurrence,
    sequence_gru,
    sequence_lstm,
    sequencer,
    small_layers,
    step_cells,
)
from relume.legacy_nn.rnn.unrolling import Unrolling
from relume.legacy_nn.tracing import trace
from relume.legacy_nn.types import get_default_tensor_type, set_default_tensor_type

__all__ = [
    "CellUse",
    "Jacobian",
    "Module",
    "SparseJacobian",
    "UnknownModuleError",
    "Unrolling",
    "collapse_clones",
    "cudnn",
    "expand_clones",
    "find_clones",
    "get_default_tensor_type",
    "hessian",
    "lookup",
    "optim",
    "register",
    "registered_names",
    "set_default_tensor_type",
    "trace",
    "utils",
]


def _publish() -> None:
    """Makes every registered class of nn a name of this package, and every one of another
    package a name of a module called like that package."""
    for typename in registered_names():
        package, _, name = typename.rpartition(".")
        if package == "nn":
            globals()[name] = registry.lookup(typename)
            __all__.append(name)
        elif package and package.isidentifier():
            setattr(_package(package), name, registry.lookup(typename))
    globals().update(Node=graph_nodes.Node, tables=plane_layers.tables)


def _package(name: str) -> ModuleType:
    """`legacy_nn.onmt`, for classes that files call onmt.X."""
    if not isinstance(globals().get(name), ModuleType):
        globals()[name] = ModuleType(f"{__name__}.{name}", f"The classes of the package {name}.")
        __all__.append(name)
    return globals()[name]


aliases.register_aliases()
cudnn.names.register_names()
_publish()
