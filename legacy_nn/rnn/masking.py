"""Samples of zeros mark the gaps between sequences: modules and criterions that skip them."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


def first_tensor(value: Activation) -> Tensor:
    """The tensor that says which samples are zeros: the first of a (nested) table."""
    while nested.is_table(value):
        value = nested.elements(value)[0]
    return value


def zero_samples(layer: Any, input: Activation) -> Tensor:
    """Which samples are all zeros: one boolean per sample, a single one without a batch."""
    first = first_tensor(input).detach()
    dims = first.ndim - 1 if layer.nInputDim is None else int(layer.nInputDim)
    if first.ndim == dims:
        return first.square().sum() == 0
    if first.ndim != dims + 1:
        raise ValueError(
            f"{layer.torch_typename}: expected an input of {dims} dimensions, or {dims + 1} with "
            f"a batch, got {nested.describe(first)}"
        )
    return first.reshape((first.shape[0], -1)).square().sum(1) == 0


def with_zeros(value: Activation, is_zero: Tensor) -> Activation:
    """The same with zeros in the samples that are marked."""

    def masked(tensor: Tensor) -> Tensor:
        if is_zero.ndim == 0:
            return tensor.masked_fill(is_zero, 0)
        return tensor.masked_fill(is_zero.reshape((-1,) + (1,) * (tensor.ndim - 1)), 0)

    return nested.map_tensors(masked, value)


@register("nn.MaskZero")
class MaskZero(Decorator):
    """Zeroes what a module gives, and the gradients it gets, for samples that are all zeros.

    Args:
        module: the module; when its input is a table, the first tensor counts.
        nInputDim: dimensions of one sample of the input. In later versions of the package it is
            True to find the samples in the input, False to be told them by `setZeroMask`.
        maskinput, maskoutput: of later versions: what is zeroed, by default the output.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.MaskZero(nn.Linear(2, 1), 1)
    >>> layer.forward(rl.zeros(1, 2, dtype=rl.float64)).tolist()
    [[0.0]]
    """

    buffer_names = ("gradOutput",)
    # Of later versions of the package: the mask is set by `setZeroMask` unless `v2` is false.
    v2 = False
    maskinput: bool | None = None
    maskoutput: bool | None = True
    nInputDim: int | None = None

    def __init__(
        self,
        module: Any,
        nInputDim: int | None = 1,
        maskinput: bool | None = None,
        maskoutput: bool | None = None,
    ) -> None:
        super().__init__(module)
        if nInputDim is None or isinstance(nInputDim, bool):
            self.v2 = not nInputDim
            self.maskinput = maskinput
            self.maskoutput = True if maskoutput is None else maskoutput
        else:
            self.nInputDim = nInputDim

    def setZeroMask(self, zeroMask: Any) -> Any:
        """Sets which samples count as zeros from now on; False for none."""
        self.v2 = True
        self.zeroMask = zeroMask
        return self

    def _mask_of(self, input: Activation) -> Any:
        """Which samples of an input count as zeros; False for none."""
        return self._set_mask() if self.v2 else zero_samples(self, input)

    def _set_mask(self) -> Any:
        mask = self.__dict__.get("zeroMask")
        if mask is None:
            before = "setZeroMask" if self.v2 else "forward"
            raise RuntimeError(f"{self.torch_typename}: {before} comes first")
        return mask if mask is False else mask != 0

    def _masked_input(self, input: Activation, mask: Any) -> Activation:
        return with_zeros(input, mask) if self.maskinput and mask is not False else input

    def _masked_output(self, output: Activation, mask: Any) -> Activation:
        return with_zeros(output, mask) if self.maskoutput and mask is not False else output

    def compute(self, input: Activation) -> Activation:
        mask = self._mask_of(input)
        return self._masked_output(super().compute(self._masked_input(input, mask)), mask)

    def updateOutput(self, input: Activation) -> Activation:
        mask = self._mask_of(input)
        if not self.v2:
            self.zeroMask = mask.to(rl.uint8)
        output = super().updateOutput(self._masked_input(input, mask))
        self.output = self._masked_output(output, mask)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        mask = self._set_mask()
        self.gradOutput = self._masked_output(gradOutput, mask)
        gradient = self._run_child(0, "updateGradInput", input, self.gradOutput)
        self.gradInput = self._masked_input(gradient, mask)
        return self.gradInput

    # As in Torch7, parameters of the module's last layer see the gradient before it is masked:
    # accGradParameters is that of nn.Decorator. `layer(x)` masks all gradients.

    def clearState(self) -> Any:
        for name in ("zeroMask", "_zeroMask"):
            self.__dict__.pop(name, None)
        return super().clearState()

    def type(self, typename: str | None = None, tensorCache: Any = None) -> Any:
        if typename is not None:
            for name in ("zeroMask", "_zeroMask", "_maskbyte", "_maskindices"):
                self.__dict__.pop(name, None)
        return super().type(typename, tensorCache)


@register("nn.TrimZero")
class TrimZero(MaskZero):
    """As `MaskZero`, but the samples that are all zeros are left out of the batch.

    Args:
        module: the module; when its input is a table, the first tensor counts.
        nInputDim: dimensions of one sample of the input.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.TrimZero(nn.Linear(2, 1), 1).forward(rl.zeros(3, 2, dtype=rl.float64)).shape
    (3, 1)
    """

    def __init__(self, module: Any, nInputDim: int = 1, silent: bool | None = None) -> None:
        super().__init__(module, nInputDim)
        self.temp = new_empty()
        self.gradTemp = new_empty()

    def compute(self, input: Activation) -> Activation:
        mask = zero_samples(self, input)
        return untrimmed(self._apply_child(0, trimmed(input, mask)), mask)

    def updateOutput(self, input: Activation) -> Activation:
        mask = zero_samples(self, input)
        self.zeroMask = mask.to(rl.uint8)
        self.temp = trimmed(input, mask)
        self.output = untrimmed(self._run_child(0, "forward", self.temp), mask)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        mask = self._set_mask()
        self.gradTemp = trimmed(gradOutput, mask)
        gradient = self._run_child(0, "updateGradInput", self.temp, self.gradTemp)
        self.gradInput = untrimmed(gradient, mask)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        mask = self._set_mask()
        gradient = trimmed(gradOutput, mask) if mask.ndim else gradOutput
        self._run_child(0, "accGradParameters", self.temp, gradient, scale)


def kept_samples(is_zero: Tensor) -> Tensor:
    """The numbers (from 0) of the samples that are not marked."""
    return (is_zero == 0).nonzero().reshape((-1,))


def trimmed(value: Activation, is_zero: Tensor) -> Activation:
    """The samples that are not marked; one sample of zeros when all are."""
    if is_zero.ndim == 0:
        return with_zeros(value, is_zero)
    rows = kept_samples(is_zero)
    if not rows.numel():
        return nested.map_tensors(lambda tensor: tensor.narrow(0, 0, 1) * 0, value)
    return nested.map_tensors(lambda tensor: tensor.index_select(0, rows), value)


def untrimmed(value: Activation, is_zero: Tensor) -> Activation:
    """The samples in their places again, zeros in the places of those that were left out."""
    if is_zero.ndim == 0:
        return with_zeros(value, is_zero)
    rows = kept_samples(is_zero)

    def placed(tensor: Tensor) -> Tensor:
        whole = rl.zeros((is_zero.shape[0], *tensor.shape[1:]), dtype=tensor.dtype)
        return whole.index_copy(0, rows, tensor) if rows.numel() else whole

    return nested.map_tensors(placed, value)


@register("nn.LookupTableMaskZero")
class LookupTableMaskZero(LookupTable):
    """A lookup table in which index 0 means a vector of zeros.

    Args:
        nIndex: rows, for the indices 1 to nIndex; the weight has one more, for 0.
        nOutput: length of a row.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.LookupTableMaskZero(5, 2).forward(rl.tensor([0])).tolist()
    [[0.0, 0.0]]
    """

    def __init__(self, nIndex: int, nOutput: int) -> None:
        super().__init__(nIndex + 1, nOutput)

    def _rows(self, input: Tensor) -> Tensor:
        return super()._rows(input.detach().to(rl.int64) + 1)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        weight.detach().select(0, 0).zero_()
        return super().compute(input, weight)


@register("nn.MaskZeroCriterion")
class MaskZeroCriterion(Criterion):
    """A criterion of the samples whose input is not all zeros.

    Args:
        criterion: the criterion; when its input is a table, the first tensor counts.
        nInputDim: dimensions of one sample of the input; True or False as in `MaskZero`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> c = nn.MaskZeroCriterion(nn.AbsCriterion(), 1)
    >>> c.forward(rl.tensor([[0.0, 0.0], [2.0, 2.0]]), rl.tensor([[7.0, 7.0], [1.0, 1.0]]))
    1.0
    """

    v2 = False
    nInputDim: int | None = None

    def __init__(self, criterion: Any, nInputDim: int | None = 1) -> None:
        super().__init__()
        self.criterion = criterion
        if nInputDim is None or isinstance(nInputDim, bool):
            self.v2 = not nInputDim
        else:
            self.nInputDim = nInputDim

    def children(self) -> list[Any]:
        return [self.criterion]

    def setZeroMask(self, zeroMask: Any) -> Any:
        """Sets which samples count as zeros from now on; False for none."""
        self.v2 = True
        self.zeroMask = zeroMask
        return self

    def _rows(self, input: Activation) -> Tensor | None:
        """The numbers (from 0) of the samples that count; None for all."""
        if self.v2:
            mask = self.zeroMask
            return None if mask is False else kept_samples(mask.reshape((-1,)))
        is_zero = zero_samples(self, input)
        if is_zero.ndim == 0:
            raise ValueError(f"{self.torch_typename} needs a batch, got {nested.describe(input)}")
        return kept_samples(is_zero)

    def compute(self, input: Activation, target: Any) -> Tensor:
        rows = self._rows(input)
        if rows is None:
            return self.criterion(input, target)
        if not rows.numel():
            return first_tensor(input).sum() * 0
        chosen = [
            nested.map_tensors(lambda tensor: tensor.index_select(0, rows), value)
            for value in (input, target)
        ]
        return self.criterion(*chosen)

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        output = super().updateOutput(input, target)
        rows = self._rows(input)
        if not self.v2 and rows is not None:
            self.zeroMask = rows + 1
        return output
