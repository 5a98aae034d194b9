"""One call of an op while its nodes are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relume.converters.graph import Node, Size, Value
from relume.converters.onnx.builder import Builder, NeedsFixedSizeError, UnexportableError

__all__ = ["Call", "Row", "Rows"]


class Call:
    """What a row of the table sees: `call["dim"]` are the arguments, `call.add` adds nodes.

    Attributes:
        builder: of the graph.
        node: the call.
    """

    def __init__(self, builder: Builder, node: Node) -> None:
        self.builder = builder
        self.node = node

    def __getitem__(self, name: str) -> Any:
        return self.node.arguments[name]

    # ---- values ----

    def value(self, name: str = "input") -> Value:
        """A tensor among the arguments."""
        value = self.node.arguments[name]
        assert isinstance(value, Value), (self.node.op, name)
        return value

    @property
    def output(self) -> Value:
        return self.node.outputs[0]

    def name(self, name: str = "input") -> str:
        """The name of a tensor among the arguments; "" for None."""
        value = self.node.arguments[name]
        return "" if value is None else self.builder.name_of(value)

    def as_type(self, name: str, dtype: Any) -> str:
        """A tensor or number among the arguments, as a tensor of a type."""
        return self.converted(self.node.arguments[name], dtype)

    def converted(self, operand: Any, dtype: Any) -> str:
        if isinstance(operand, Size):
            return self.cast(self.squeezed(self.builder.size(operand), 0), "int64", dtype)
        if not isinstance(operand, Value):
            return self.builder.constant(operand, dtype)
        return self.cast(self.builder.name_of(operand), operand.dtype, dtype)

    def cast(self, name: str, source: Any, target: Any) -> str:
        if self.builder.type_of(source) == self.builder.type_of(target):
            return name
        return self.add("Cast", name, to=self.builder.type_of(target))

    def is_used(self, index: int) -> bool:
        """Does anything take that output?"""
        output = self.node.outputs[index]
        graph = self.builder.graph
        return any(output is value for value in graph.outputs) or any(
            output is value for node in graph.nodes for value in node.inputs()
        )

    # ---- sizes ----

    def fixed(self, size: int | Size) -> int:
        """A size that has to be fixed."""
        if isinstance(size, Size):
            raise NeedsFixedSizeError(size)
        return int(size)

    def all_fixed(self, sizes: Iterable[int | Size]) -> list[int]:
        return [self.fixed(size) for size in sizes]

    def dim(self, name: str = "dim", rank: int | None = None) -> int:
        """An argument that is a dimension, counted from the front."""
        count = self.value().rank if rank is None else rank
        return int(self[name]) % max(count, 1)

    def dims(self, name: str = "dim") -> list[int] | None:
        """An argument that is a list of dimensions; None for all."""
        given = self[name]
        if given is None or given == []:
            return None
        return [int(dim) % max(self.value().rank, 1) for dim in given]

    # ---- nodes ----

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        return self.builder.add(op_type, *inputs, outputs=outputs, **attributes)

    def ints(self, values: Iterable[int]) -> str:
        return self.builder.constant(list(values))

    def number(self, value: Any) -> str:
        """A number of the output's type, without dimensions."""
        return self.converted(value, self.output.dtype)

    def reshape(self, name: str, source: tuple, target: Iterable[int | Size]) -> str:
        """Other sizes for the same elements.

        Args:
            source: the sizes that it has.
            target: those that it gets.
        """
        target = list(target)
        wanted: list[int | Size] = list(target)
        free = [place for place, size in enumerate(wanted) if isinstance(size, Size)]
        copied = (
            [p for p in free if p < len(source) and source[p] == wanted[p]] if len(free) > 1 else []
        )
        for place in copied:
            if wanted[place].is_known or len(free) - len(copied) < 2:  # type: ignore[union-attr]
                wanted[place] = 0
        free = [place for place, size in enumerate(wanted) if isinstance(size, Size)]
        if len(free) == 1:
            wanted[free[0]] = -1
        is_empty = any(size == 0 for size in target)  # a size, and not: as it was
        return self.add(
            "Reshape", name, self.builder.sizes(wanted), allowzero=1 if is_empty else None
        )

    def unsqueezed(self, name: str, *dims: int) -> str:
        return self.add("Unsqueeze", name, self.ints(dims))

    def squeezed(self, name: str, *dims: int) -> str:
        return self.add("Squeeze", name, self.ints(dims))

    def sliced(self, name: str, dim: int, start: Any, stop: Any, step: int = 1) -> str:
        """Part of a tensor along a dimension; sizes may be free."""
        size = self.builder.size
        bounds = (size(start), size(stop), self.ints([dim]), self.ints([step]))
        return self.add("Slice", name, *bounds)

    def refuse(self, reason: str) -> UnexportableError:
        return UnexportableError(f"{self.node.op}: {reason}")


Row = Callable[[Call], Any]  # gives the name of the output, or a list of them
Rows = dict[str, Row]
