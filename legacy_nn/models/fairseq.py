"""Translation with convolutions (facebookresearch/fairseq-lua; Gehring et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Decorator, Sequential
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.models.multipathnet import ModeSwitch
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register, register_also
from relume.legacy_nn.table_layers import MM, CAddTable, TableLayer


@register("nn.AppendBias")
class AppendBias(Module):
    """Vectors with a one at their ends.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.AppendBias().forward(rl.tensor([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 1.0]]
    """

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim == 0:
            raise ValueError(f"{self}: expected vectors, got {nested.describe(input)}")
        return rl.cat([input, rl.ones((*input.shape[:-1], 1), dtype=input.dtype)], -1)


@register("nn.BeamableMM")
class BeamableMM(MM):
    """`MM` of {one step N x 1 x A, N x A x B}. In evaluation, when `setBeamSize` says how many
    samples belong together, these share the second matrix of the first of them.

    Args:
        transA, transB: turn the first or the second matrix.
    """

    beam = 0

    def setBeamSize(self, beam: int | None = None) -> None:
        """Says how many samples in a row belong together."""
        self.beam = beam or 0

    def compute(self, input: Activation) -> Tensor:
        values, beam = nested.elements(input), int(self.beam)
        is_step = not self.train and beam > 0 and values[0].ndim == 3 and values[0].shape[1] == 1
        if not is_step:
            return super().compute(input)
        first, second = values[:2]
        if first.shape[0] % beam:
            raise ValueError(
                f"{self}: expected a multiple of {beam} samples, got {nested.describe(input)}"
            )
        together = first.reshape((first.shape[0] // beam, beam, first.shape[2]))
        output = super().compute([together, second[::beam]])
        return output.reshape((first.shape[0], 1, -1))


@register("nn.CAddTableMulConstant")
class CAddTableMulConstant(CAddTable):
    """The sum of the elements of a table, times a number.

    Args:
        constant_scalar: the number.
    """

    follows_compute = True

    def __init__(self, constant_scalar: float) -> None:
        super().__init__()
        self.constant_scalar = constant_scalar

    def compute(self, input: Activation) -> Tensor:
        return super().compute(input) * float(self.constant_scalar)


@register("nn.GradMultiply")
class GradMultiply(Decorator):
    """A module whose gradients of parameters are multiplied.

    Args:
        module: the module.
        factor: what they are multiplied by.
    """

    factor: float

    def __init__(self, module: Any, factor: float) -> None:
        super().__init__(module)
        self.factor = factor

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        super().accGradParameters(input, gradOutput, scale * float(self.factor))

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        super().accUpdateGradParameters(input, gradOutput, lr * float(self.factor))


@register("nn.SeqMultiply")
class SeqMultiply(TableLayer):
    """{x, a sequence N x steps x ...} to x times the root of the number of steps."""

    def compute(self, input: Activation) -> Tensor:
        values, sequence = self._elements(input, 2)[:2]
        if sequence.ndim < 2:
            raise ValueError(f"{self}: expected N x steps, got {nested.describe(input)}")
        return values * math.sqrt(sequence.shape[1])


@register("nn.ZipAlong")
class ZipAlong(TableLayer):
    """{table, x} to a table of {element, x}."""

    def compute(self, input: Activation) -> Activation:
        values, other = self._elements(input, 2)[:2]
        return nested.table([nested.table([value, other]) for value in nested.elements(values)])


@register("nn.LinearizedConvolution")
class LinearizedConvolution(Linear):
    """A convolution of sequences that takes one step after the other, N x 1 x features, and keeps
    the last steps. `shiftState` goes on to the next step, `resetState` begins anew.

    Attributes:
        kw: how many steps it sees.
        weight: outputs x (kw * features).
    """

    kw = 0
    inputBuffer: Any = None

    def __init__(self) -> None:
        super().__init__(1, 1)
        for name in ("weight", "bias", "inputBuffer"):
            self.__dict__[name] = rl.zeros((0,), dtype=self.output.dtype)

    def setParameters(self, weight: Tensor, bias: Tensor) -> None:
        """Takes the parameters of a convolution: outputs x kw x inputs, and outputs."""
        self.kw = weight.shape[1]
        self.weight = weight.detach().reshape((weight.shape[0], -1)).clone()
        self.bias = bias.detach().clone()

    def resetState(self) -> None:
        """Begins a new sequence."""
        self.inputBuffer = rl.zeros((0,), dtype=self.weight.dtype)

    def shiftState(self, reorder: Tensor | None = None) -> None:
        """Goes on to the next step.

        Args:
            reorder: from which samples (from 1) the samples of the next step come.
        """
        steps = self.inputBuffer
        if int(self.kw) > 1 and steps.numel():
            kept = steps if reorder is None else steps[reorder - 1]
            self.inputBuffer = rl.cat([kept[:, 1:], kept[:, -1:]], 1)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 3 or int(self.kw) < 1:
            raise ValueError(
                f"{self.torch_typename}: expected one step N x 1 x features (after setParameters), "
                f"got {nested.describe(input)}"
            )
        step = input.narrow(1, input.shape[1] - 1, 1)
        before = self.inputBuffer
        if before is None or before.numel() == 0:
            shape = (input.shape[0], int(self.kw), input.shape[2])
            before = rl.zeros(shape, dtype=input.dtype)
        steps = rl.cat([before[:, : int(self.kw) - 1], step], 1)
        self.inputBuffer = steps.detach()
        return super().compute(steps.reshape((input.shape[0], -1)), weight, bias).unsqueeze(1)


@register("nn.TrainTestLayer")
class TrainTestLayer(ModeSwitch):
    """One module in training, another one, made from it, in evaluation.

    Args:
        trainModule, evalModule: the modules.
        onTrain, onEvaluate: functions of both, which run when the mode changes.
    """

    def __init__(
        self, trainModule: Any, evalModule: Any, onTrain: Any = None, onEvaluate: Any = None
    ) -> None:
        super().__init__(trainModule, evalModule)
        self.onTrain, self.onEvaluate = onTrain, onEvaluate

    def change_mode(self, name: str) -> None:
        """Runs one of the two functions."""
        function = self.__dict__.get(name)
        if callable(function):
            function(*self.modules)

    def evaluate(self) -> Any:
        if self.train:
            self.change_mode("onEvaluate")
        return super().evaluate()

    def training(self) -> Any:
        if not self.train:
            self.change_mode("onTrain")
        return super().training()

    def parameters(self) -> tuple[list, list]:
        return self.modules[0].parameters()

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._run_child(self._active(), "accGradParameters", input, gradOutput, scale)

    def __str__(self) -> str:
        return f"nn.TrainTestLayer [ {self.modules[0]} ; {self.modules[1]} ]"


@register("nn.ConvBlockTrainTestLayer")
class ConvBlockTrainTestLayer(TrainTestLayer):
    """A convolution in training; in evaluation a `LinearizedConvolution` with its parameters.

    Args:
        trainModule: a network whose second module holds the convolution.
        evalModule: the linearized convolution.
    """

    def __init__(self, trainModule: Any, evalModule: Any) -> None:
        super().__init__(trainModule, evalModule)

    def change_mode(self, name: str) -> None:
        if name == "onEvaluate":
            convolution = self.modules[0].get(2).get(1)  # kernel x inputs x outputs
            weight = convolution.weight.permute((2, 0, 1))
            self.modules[1].setParameters(weight, convolution.bias)


@register("nn.CudnnRnnTable")
class CudnnRnnTable(Sequential):
    """A recurrent network of cudnn for {first states, table of steps}; gives {last states, table of
    steps}.

    Args:
        module: the recurrent network.
        inputsize: features of a step.
        dropoutin: probability of dropping features of a step.

    States are layers x N x size; of an LSTM, {cells, states}.
    """

    rnn: Any

    def __init__(self, module: Any, inputsize: int, dropoutin: float = 0) -> None:
        super().__init__()
        self.add(make("MapTable", make("View", 1, -1, inputsize))).add(make("JoinTable", 1))
        if dropoutin > 0:
            self.add(make("Dropout", dropoutin))
        self.add(module).add(make("SplitTable", 1))
        self.rnn = module

    def _is_lstm(self) -> bool:
        return "LSTM" in str(self.rnn.mode)

    def _begin(self, input: Activation) -> Activation:
        """Sets the first states; the steps."""
        states, steps = nested.elements(input)[:2]
        if self._is_lstm():
            self.rnn.cellInput, self.rnn.hiddenInput = nested.elements(states)[:2]
        else:
            self.rnn.hiddenInput = states
        return steps

    def getLastHidden(self) -> Activation:
        """The last states."""
        if self._is_lstm():
            return nested.table([self.rnn.cellOutput, self.rnn.hiddenOutput])
        return self.rnn.hiddenOutput

    def compute(self, input: Activation) -> Activation:
        steps = super().compute(self._begin(input))
        return nested.table([self.getLastHidden(), steps])

    def updateOutput(self, input: Activation) -> Activation:
        steps = super().updateOutput(self._begin(input))
        self.output = nested.table([self.getLastHidden(), steps])
        return self.output

    def _backwards(self, method: str, input: Any, gradOutput: Any, *more: Any) -> Any:
        of_states, of_steps = nested.elements(gradOutput)[:2]
        rnn, is_lstm = self.rnn, self._is_lstm()
        if is_lstm:
            rnn.gradCellOutput, rnn.gradHiddenOutput = nested.elements(of_states)[:2]
        else:
            rnn.gradHiddenOutput = of_states
        gradient = super()._backwards(method, self._begin(input), of_steps, *more)
        states = rnn.gradHiddenInput
        if is_lstm:
            states = nested.table([rnn.gradCellInput, states])
        self.gradInput = nested.table([states, gradient])
        return self.gradInput


# ---- what files hold around a network ----


@register_also("SelectionBLSTMModel")
@register_also("FConvModel")
@register_also("ConvModel")
@register_also("BLSTMModel")
@register("AvgpoolModel")
class Model(Holder):
    """A model for translation: runs its network.

    Attributes:
        module: the network.
    """

    held_name = "module"

    def network(self) -> Any:
        """The network."""
        return self.held

    def setBeamSize(self, beam: int) -> None:
        """Says how many hypotheses of one sentence the network gets in a row."""
        for module in self.held.listModules():
            if isinstance(module, BeamableMM):
                module.setBeamSize(beam)


@register("Dictionary")
class Dictionary:
    """The words of a language, by number from 1.

    Attributes:
        symbol_to_index, index_to_symbol, index_to_freq: numbers, words, and how often.
        cutoff: words with higher numbers count as unknown.
        unk_index, pad_index, eos_index: of the unknown word, of nothing, of the end.
    """

    symbol_to_index: Any
    index_to_symbol: Any
    cutoff = math.inf
    unk_index = 1

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        vars(self).update(fields)

    def size(self) -> int:
        """How many words are known."""
        return int(min(self.cutoff, len(self.index_to_symbol)))

    def getIndex(self, symbol: str) -> int:
        """The number of a word."""
        index = self.symbol_to_index.get(symbol)
        return int(index if index is not None and index <= self.cutoff else self.unk_index)

    def getSymbol(self, index: int) -> str:
        """The word of a number."""
        known = index if index <= self.cutoff else self.unk_index
        return self.index_to_symbol[int(known)]
