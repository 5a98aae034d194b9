"""Containers of cunn and fbcunn that spread a network over GPUs: here one device does it all."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Concat, Decorator
from relume.legacy_nn.registry import register, register_also


class Replicated(Decorator):
    """The base of containers that give every GPU a copy of one module and a part of the batch:
    the module with the whole batch does the same."""

    dimension = 1
    # What the copies on the GPUs held.
    GPU_CACHES = (
        "input_gpu",
        "inputGpu",
        "output_gpu",
        "outputGpu",
        "gradInput_gpu",
        "gradInputGpu",
        "gradOutput_gpu",
        "gradOutputGpu",
        "buffer",
    )

    def children(self) -> list[Any]:
        return self.modules[:1]  # old files have the copies of the other GPUs too

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        kept = {key: value for key, value in fields.items() if key not in self.GPU_CACHES}
        super()._load_fields(kept, version)


@register("nn.DataParallelTable")
class DataParallelTable(Replicated):
    """A module whose batch Torch7 divided between GPUs; here it runs undivided.

    Args:
        dimension: along which the batch was divided, from 1.
        flattenParams, usenccl: how the GPUs exchanged parameters.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.DataParallelTable(1).add(nn.Linear(3, 2), [1, 2])
    >>> net
    DataParallelTable: 2 x nn.Linear(3 -> 2)
    >>> net.forward(rl.zeros(4, 3, dtype=rl.float64)).shape
    (4, 2)
    """

    def __init__(self, dimension: int, flattenParams: bool = False, usenccl: bool = False) -> None:
        super().__init__(None)
        self.modules = []
        self.dimension = dimension
        self.gpuAssignments = nested.table([])
        self.flattenParams = flattenParams
        self.usenccl = usenccl
        self.needsSync = False

    def add(self, module: Any, gpus: Any = 1) -> DataParallelTable:
        """Sets the module.

        Args:
            module: the module; with further calls, one more GPU for it.
            gpus: the number of a GPU, or a list of numbers.
        """
        if not self.modules:
            self.modules.append(module)
        numbers = nested.elements(self.gpuAssignments)
        more = [gpus] if isinstance(gpus, (int, float)) else nested.elements(gpus)
        self.gpuAssignments = nested.table([*numbers, *more])
        return self

    def threads(self, initFunc: Any = None) -> DataParallelTable:
        """Does nothing: there is one device."""
        return self

    syncParameters = threads

    def getParameters(self) -> tuple[Tensor, Tensor]:
        flat = super().getParameters()
        self.flattenParams = True
        self.flattenedParams = nested.table([nested.table(list(flat))])
        return flat

    def __str__(self) -> str:
        count = len(nested.elements(self.__dict__.get("gpuAssignments") or []))
        return f"DataParallelTable: {count} x {self.modules[0]}"


@register_also("nn.DataParallelTable.Basic")
@register("nn.DataParallelTable.Threads")
class Dispatch:
    """How a DataParallelTable ran its copies; of no use here."""

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)


@register_also("nn.AbstractParallel")
@register("nn.DataParallel")
class DataParallel(Replicated):
    """fbcunn's container that divides the batch between GPUs; here it runs undivided.

    Args:
        dimension: along which the batch was divided, from 1.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__(None)
        self.modules = []
        self.dimension = dimension
        self.gpu_assignments = nested.table([])
        self.container_gpuid = 1

    def add(self, module: Any, gpuid: int | None = None) -> DataParallel:
        """Adds a copy of the module, on a GPU."""
        self.modules.append(module)
        return assigned(self, gpuid)

    def __str__(self) -> str:
        return branches("DataParallel", self)


@register("nn.ModelParallel")
class ModelParallel(Concat):
    """fbcunn's container that gives its input to modules on several GPUs and joins their outputs.

    Args:
        dimension: along which outputs are joined, from 1.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.gpu_assignments = nested.table([])
        self.container_gpuid = 1

    def add(self, module: Any, gpuid: int | None = None) -> ModelParallel:
        """Adds a module, on a GPU."""
        self.modules.append(module)
        return assigned(self, gpuid)

    def __str__(self) -> str:
        return branches("ModelParallel", self)


def assigned(container: Any, gpuid: int | None) -> Any:
    """Notes the GPU of the module that was added last."""
    numbers = nested.elements(container.gpu_assignments)
    container.gpu_assignments = nested.table([*numbers, 1 if gpuid is None else gpuid])
    return container


def branches(name: str, container: Any) -> str:
    """How fbcunn prints its containers."""
    numbers = nested.elements(container.__dict__.get("gpu_assignments") or [])
    lines = [f"{name} {{", "  input"]
    for place, module in enumerate(container.modules, 1):
        text = str(module).replace("\n", "\n    |    ")
        gpu = f" [gpu:{numbers[place - 1]:g}]" if place <= len(numbers) else ""
        lines.append(f"    |`-> ({place}){gpu} {text}")
    return "\n".join([*lines, "     ... -> output", "}"])
