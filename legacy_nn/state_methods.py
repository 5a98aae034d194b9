"""The state of a module: its mode, its tensor type, copies of it, and its form in files."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.legacy_nn import copying, nested, printing, utils
from relume.legacy_nn.module_tree import ModuleTree
from relume.legacy_nn.types import new_empty


class StateMethods(ModuleTree):
    """Modes, copies, casts, and what goes to files."""

    __slots__ = ()

    _type: str
    _record: Any
    _released: Any

    def training(self: Any) -> Any:
        """Training mode: Dropout drops, batch normalisation uses the batch."""
        self.train = True
        return self

    def evaluate(self: Any) -> Any:
        """Evaluation mode: `forward` keeps outputs alone, and what a tape held is free again.

        `backward` works here too. It computes the layer once more; from then on `forward` keeps
        the tape, until `evaluate()` is called again.
        """
        self.train = False
        self._record = None
        self._keeps_tape = False
        return self

    def clone(self, *shared_fields: str) -> Any:
        """A copy, which shares the named fields with the original.

        Args:
            *shared_fields: such as "weight", "bias", "gradWeight", "gradBias"; these tensors
                are not copied, not even for a moment.

        >>> from relume import legacy_nn as nn
        >>> a = nn.Linear(3, 2)
        >>> b = a.clone("weight")
        >>> b.weight is a.weight, b.bias is a.bias
        (True, False)
        """
        return copying.clone(self, shared_fields)

    def share(self: Any, other: Any, *fields: str) -> Any:
        """Uses the named tensors of `other`, which has the same structure, from now on."""
        for name in fields:
            mine, theirs = self.__dict__.get(name), other.__dict__.get(name)
            if mine is not None and theirs is not None:
                self.__dict__[name] = theirs
                self.shared = other.shared = True
                self._record = None
        return self

    def type(self, typename: str | None = None, tensorCache: Any = None) -> Any:
        """Converts all tensors to a Torch7 type; without an argument, the type it has.

        Tensors that share memory still do afterwards.

        Args:
            typename: such as "torch.FloatTensor".
            tensorCache: a dict, given again for other modules that share memory with this one.

        >>> from relume import legacy_nn as nn
        >>> nn.Linear(2, 2).type("torch.FloatTensor").weight.torch_typename
        'torch.FloatTensor'
        """
        if typename is None:
            return self._type
        return utils.recursiveType(self, typename, tensorCache)

    def _as_type(self, typename: str) -> Any:
        return type(self).type(self, typename)  # some layers have a field called `type`

    def float(self) -> Any:
        """Converts all tensors to float32."""
        return self._as_type("torch.FloatTensor")

    def double(self) -> Any:
        """Converts all tensors to float64."""
        return self._as_type("torch.DoubleTensor")

    def half(self) -> Any:
        """Converts all tensors to float16."""
        return self._as_type("torch.HalfTensor")

    def clearState(self: Any) -> Any:
        """Frees what forward and backward left behind; parameters stay."""
        self._record = None
        if self._released is not None and "gradInput" not in self.__dict__:
            self.gradInput = self._released.empty(self)
        self._released = None  # which holds what backward was given
        for name in ("output", "gradInput", *self.buffer_names):
            value = self.__dict__.get(name)
            if value is None:
                continue
            if isinstance(value, Tensor):
                self.__dict__[name] = new_empty(value.torch_typename)
            elif nested.is_table(value):
                self.__dict__[name] = nested.table([])
        return self

    statistics_names = ("running_mean", "running_var")  # learnt without a gradient
    buffer_names: tuple[str, ...] = ()  # fields that clearState empties too

    # ---- files and text ----

    def _load_fields(self: Any, fields: dict, version: int | None = None) -> None:
        """Takes over the fields of a file; old layouts become today's."""
        from relume.legacy_nn import layouts

        layouts.load_fields(self, fields)
        self._gradients_from_file = True

    def _save_fields(self) -> dict:
        """The fields for a file, in the layout of today's Torch7."""
        from relume.legacy_nn import layouts

        return layouts.saved_fields(self)

    def __str__(self) -> str:
        return self.torch_typename

    def __repr__(self) -> str:
        return printing.text_of(self)

    def __deepcopy__(self, memo: dict) -> Any:
        return self.clone()

    def __getstate__(self) -> dict:
        return self.__dict__

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
