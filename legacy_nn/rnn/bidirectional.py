"""Sequences in both directions: BiSequencer, BiSequencerLM, SeqBRNN."""

from __future__ import annotations

from typing import Any

from relume.converters.table import Table
from relume.legacy_nn import nested, printing
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent
from relume.legacy_nn.rnn.building import fan_out, sequence
from relume.legacy_nn.rnn.sequence_lstm import SeqLSTM
from relume.legacy_nn.rnn.sequencer import AbstractSequencer, Sequencer


def other_direction(forward: Any) -> Any:
    """A copy of a module with new parameters."""
    backward = forward.clone()
    backward.reset()
    return backward


def merge_module(merge: Any) -> Any:
    """What puts the outputs of both directions together: by default joins them."""
    if merge is None or isinstance(merge, int):
        return make("JoinTable", 1, 1 if merge is None else merge)
    return merge


def check_modules(name: str, *modules: Any) -> None:
    for module in modules:
        if not isinstance(module, Module):
            raise TypeError(f"{name}: expected a module, got {nested.describe(module)}")


class TwoDirections(AbstractSequencer):
    """What BiSequencer and BiSequencerLM share: their fields."""

    def _set_modules(self, forward: Any, backward: Any, merge: Any) -> None:
        check_modules(self.torch_typename, forward)
        self.forwardModule = forward
        self.backwardModule = other_direction(forward) if backward is None else backward
        self.mergeModule = merge_module(merge)
        check_modules(self.torch_typename, self.backwardModule, self.mergeModule)
        self.output = Table()
        self.gradInput = Table()


@register("nn.BiSequencer")
class BiSequencer(TwoDirections):
    """Applies one module to a table of steps in order, another in reverse, and merges per step.

    Args:
        forward: for the steps in order.
        backward: for the reverse; by default a copy of `forward` with new parameters.
        merge: gets {output, output of the reverse} of each step; by default joins them. A number
            n: joins along the first dimension of samples of n dimensions.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net, x = nn.BiSequencer(nn.GRU(3, 4)), rl.ones(2, 3, dtype=rl.float64)
    >>> [y.shape for y in net.forward([x, x])]
    [(2, 8), (2, 8)]
    """

    def __init__(self, forward: Any, backward: Any = None, merge: Any = None) -> None:
        super().__init__()
        self._set_modules(forward, backward, merge)
        self.fwdSeq = Sequencer(self.forwardModule)
        self.bwdSeq = Sequencer(self.backwardModule)
        self.mergeSeq = Sequencer(self.mergeModule)
        reverse = sequence(make("ReverseTable"), self.bwdSeq, make("ReverseTable"))
        self.module = sequence(fan_out(self.fwdSeq, reverse), make("ZipTable"), self.mergeSeq)
        self.modules = [self.module]

    compute = Decorator.compute
    updateOutput = Decorator.updateOutput
    updateGradInput = Decorator.updateGradInput
    accGradParameters = Decorator.accGradParameters
    accUpdateGradParameters = Decorator.accUpdateGradParameters

    def remember(self, mode: str | None = None) -> Any:
        """Notes the mode; in the layout of the last version the forward direction remembers."""
        super().remember(mode)
        if "fwdSeq" not in self.__dict__:
            forward, reverse = self.modules[0].get(1).modules
            forward.remember(mode)
            reverse.getModule().remember("neither")
        return self

    def __str__(self) -> str:
        if "fwdSeq" in self.__dict__:
            return f"{self.torch_typename} @ {self.modules[0]}"
        both, merge = self.modules[0].modules  # of the last version
        forward, reverse = both.modules
        parts = (("forward: ", forward), ("backward:", reverse.getModule()), ("merge:   ", merge))
        lines = [f"  {name} {printing.indented(part, '    |    ')}" for name, part in parts]
        return "\n".join([f"{self.torch_typename} {{", *lines, "}"])

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        self.gradInput = self._run_child(0, "backward", input, gradOutput, scale)
        return self.gradInput


@register("nn.BiSequencerLM")
class BiSequencerLM(TwoDirections):
    """A BiSequencer for language models: a step sees the steps before it and after it, not itself.

    Args:
        forward, backward, merge: as in `BiSequencer`; `forward` and `backward` may be sequencers
            or stacks of them.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net, x = nn.BiSequencerLM(nn.GRU(3, 4)), rl.ones(2, 3, dtype=rl.float64)
    >>> len(net.forward([x, x, x]))
    3
    """

    def __init__(self, forward: Any, backward: Any = None, merge: Any = None) -> None:
        super().__init__()
        self._set_modules(forward, backward, merge)
        self.fwdSeq = as_sequencer(self.forwardModule)
        self.bwdSeq = as_sequencer(self.backwardModule)
        self.mergeSeq = Sequencer(self.mergeModule)
        self._fwd = self.fwdSeq
        self._bwd = sequence(make("ReverseTable"), self.bwdSeq, make("ReverseTable"))
        self._merge = sequence(make("ZipTable"), self.mergeSeq)
        self.modules = [self._fwd, self._bwd, self._merge]

    def _parts(self, input: Activation) -> tuple[list, list]:
        """The steps that go forward (all but the last) and back (all but the first)."""
        steps = nested.elements(input)
        if len(steps) < 2:
            raise ValueError(f"nn.BiSequencerLM needs at least two steps, got {len(steps)}")
        return steps[:-1], steps[1:]

    @staticmethod
    def _shifted(forward: Activation, backward: Activation) -> Activation:
        """Both outputs for all steps, with zeros where there is nothing before or after."""
        before, after = nested.elements(forward), nested.elements(backward)
        return nested.table(
            [
                nested.table([nested.zeros_like(before[0]), *before]),
                nested.table([*after, nested.zeros_like(after[0])]),
            ]
        )

    def compute(self, input: Activation) -> Activation:
        first, last = self._parts(input)
        forward, backward = self._apply_child(0, first), self._apply_child(1, last)
        return self._apply_child(2, self._shifted(forward, backward))

    def updateOutput(self, input: Activation) -> Activation:
        first, last = self._parts(input)
        forward = self._run_child(0, "forward", first)
        backward = self._run_child(1, "forward", last)
        self._mergeInput = self._shifted(forward, backward)
        self.output = self._run_child(2, "forward", self._mergeInput)
        return self.output

    def _go_back(self, method: str, input: Activation, gradient: Activation, *more: Any) -> list:
        """Gradients of the steps that went forward and of those that went back."""
        first, last = self._parts(input)
        merged = self._run_child(2, method, self._mergeInput, gradient, *more)
        if merged is None:
            merged = self.modules[2].gradInput
        of_forward, of_backward = (nested.elements(part) for part in nested.elements(merged))
        return [
            self._run_child(0, method, first, of_forward[1:], *more),
            self._run_child(1, method, last, of_backward[:-1], *more),
        ]

    def _set_gradient(self, gradients: list) -> Activation:
        forward, backward = (nested.elements(part) for part in gradients)
        inner = [nested.add(a, b) for a, b in zip(forward[1:], backward[:-1], strict=True)]
        inner = [nested.table(value) if isinstance(value, list) else value for value in inner]
        self.gradInput = nested.table([forward[0], *inner, backward[-1]])
        return self.gradInput

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        return self._set_gradient(self._go_back("backward", input, gradOutput, scale))

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        return self._set_gradient(self._go_back("updateGradInput", input, gradOutput))

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._go_back("accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._go_back("accUpdateGradParameters", input, gradOutput, lr)

    def clearState(self) -> Any:
        self.__dict__.pop("_mergeInput", None)
        return super().clearState()

    def __str__(self) -> str:
        parts = (("(  fwd  )", self._fwd), ("(  bwd  )", self._bwd), ("( merge )", self._merge))
        lines = [f"  {name}: {printing.indented(part, '    |    ')}" for name, part in parts]
        return "\n".join([f"{self.torch_typename} {{", *lines, "}"])


def as_sequencer(module: Any) -> Any:
    """A Sequencer of a recurrent module; sequencers and stacks of them stay as they are."""
    return Sequencer(module) if isinstance(module, AbstractRecurrent) else module


@register("nn.SeqBRNN")
class SeqBRNN(Decorator):
    """Two SeqLSTM, one for each direction of a sequence, merged.

    Args:
        inputDim: length of the input vectors.
        hiddenDim: length of the output vectors of each.
        batchFirst: True for batch x time x features.
        merge: gets {output, output of the reverse}; by default adds them.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqBRNN(3, 4).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 4)
    """

    def __init__(
        self, inputDim: int, hiddenDim: int, batchFirst: bool | None = None, merge: Any = None
    ) -> None:
        self.forwardModule = SeqLSTM(inputDim, hiddenDim)
        self.backwardModule = SeqLSTM(inputDim, hiddenDim)
        self.merge = make("CAddTable") if merge is None else merge
        self.dim = 1
        turn = [make("SeqReverseSequence", self.dim) for _ in range(2)]
        reverse = sequence(turn[0], self.backwardModule, turn[1])
        module = sequence(fan_out(self.forwardModule, reverse), self.merge)
        if batchFirst:
            module.insert(make("Transpose", [1, 2]), 1).insert(make("Transpose", [1, 2]))
        super().__init__(module)
        self.module = module
