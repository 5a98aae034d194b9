"""What all recurrent modules share: steps, their clones, and the way back through time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.container import Container
from relume.legacy_nn.errors import locate, names_errors, not_runnable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.step_clone import tie

UNLIMITED = 99999
# Tables with one entry per step; a file may lack those that its version did not have.
STEP_TABLES = ("outputs", "gradInputs", "_gradOutputs", "gradOutputs", "sharedClones")


class StepMemory:
    """What a recurrent module keeps that is no field of the Torch object.

    Attributes:
        dropped: the last step of which nothing is kept.
        evaluating_since: the first step of this evaluation.
        is_tied: do the clones have the parameters of the original for certain?
        fused: the steps that ran as one function, by number (see `fused_steps`).
    """

    __slots__ = ("dropped", "evaluating_since", "fused", "is_tied")

    def __init__(self) -> None:
        self.is_tied = False
        self.forget()

    def forget(self) -> None:
        """The next step is the first one."""
        self.dropped = 0
        self.evaluating_since = 1
        self.fused: dict[int, Any] = {}


@register("nn.AbstractRecurrent")
class AbstractRecurrent(Container):
    """The base of recurrent modules: every `forward` is the next step of a sequence.

    In training, step t runs a clone of `recurrentModule`, which shares its parameters, so that
    the backward calls for steps T, ..., 1 find what each step left behind. In evaluation
    `recurrentModule` runs all steps. `forget` begins a new sequence.

    A subclass says what the module of a step gets (`_given`), what becomes of its output
    (`_keep_output`), and the same for gradients (`_output_gradient`, `_keep_gradient`).

    Args:
        rho: how many steps gradients go back at most.
    """

    _kept: StepMemory
    keeps_its_steps = True
    rho: float
    step: int
    recurrentModule: Any
    inputSize: int | None = None
    outputSize: Any = None
    zeroMaskStep: int = 0
    p: float = 0
    mono: bool = False
    updateGradInputStep: int | None = None
    accGradParametersStep: int | None = None

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._kept = StepMemory()
        return self

    def __init__(self, rho: int | None = None) -> None:
        super().__init__()
        self.rho = rho or UNLIMITED
        for name in STEP_TABLES:
            self.__dict__[name] = Table()
        self.step = 1
        self.rmInSharedClones = True

    def __getattr__(self, name: str) -> Any:
        if name in STEP_TABLES:
            self.__dict__[name] = Table()
            return self.__dict__[name]
        return super().__getattr__(name)

    # ---- what a subclass says ----

    def _given(self, step: int, input: Activation) -> Activation:
        """What the module of a step gets: by default the input alone."""
        return input

    def _keep_output(self, step: int, output: Activation) -> Activation:
        """Keeps what the module of a step gave; returns the output of the step."""
        self.outputs[step] = self._shared_in_evaluation(self.outputs, step, output)
        return output

    def _output_gradient(self, step: int, gradOutput: Activation) -> Activation:
        """The gradient of what the module of a step gave."""
        return gradOutput

    def _keep_gradient(self, step: int, gradient: Activation) -> Activation:
        """Keeps the gradient of what the module of a step got; returns that of the input."""
        return gradient

    def _apply_step(self, input: Activation) -> Activation:
        """One step of the modern face."""
        return self.recurrentModule(input)

    # ---- the modules of steps ----

    def getStepModule(self, step: int) -> Any:
        """The module that runs a step (from 1) in training."""
        module = self.sharedClones.get(step)
        if module is None:
            module = self.recurrentModule.stepClone()
            self.sharedClones[step] = module
            self.nSharedClone = len(self.sharedClones.items())
        return module

    def _forward_module(self, step: int) -> Any:
        if not self.train:
            return self.recurrentModule
        self.recycle()
        return self.getStepModule(step)

    def _backward_module(self, step: int) -> Any:
        return self.getStepModule(step)

    def recycle(self, offset: int | None = None) -> Any:
        """Lets a step beyond `rho` take over the clone of the step that is out of reach."""
        clones = self.sharedClones
        if self.__dict__.get("nSharedClone") is None:
            self.nSharedClone = len(clones.items())
        reach = int(max(self.rho + 1, self.nSharedClone))
        oldest = self.step - reach
        if oldest > 0 and clones.get(self.step) is None:
            for table in (clones, self._gradOutputs):
                table[self.step], table[oldest] = table.get(oldest), None
        return self

    def _step_tables(self) -> list[Table]:
        """What is kept of every step, apart from its clone."""
        return [self.outputs, self.gradInputs, self.gradOutputs]

    def _drop_out_of_reach(self) -> None:
        """Forgets the steps that no backward call will come to."""
        last = int(self.step - self.rho) - 2
        for step in range(self._kept.dropped + 1, last + 1):
            for table in self._step_tables():
                table[step] = None
        self._kept.dropped = max(self._kept.dropped, last)

    def _copies(self) -> list[Any]:
        """The step clones that are not among `modules` themselves."""
        own = {id(module) for module in self.modules}
        clones = [clone for clone in self.sharedClones.values() if id(clone) not in own]
        return [clone for clone in clones if isinstance(clone, Module)]

    def tie_clones(self) -> None:
        if not self._kept.is_tied:
            for clone in AbstractRecurrent._copies(self):
                tie(clone, self.recurrentModule)
            self._kept.is_tied = True

    # ---- forward ----

    def compute(self, input: Activation) -> Activation:
        return self._apply_step(input)

    def updateOutput(self, input: Activation) -> Activation:
        step = self.step
        self.tie_clones()
        module = self._forward_module(step)
        self._hand_on_mask(module)
        output = self._run_step(module, "forward", self._given(step, input))
        self.output = self._keep_output(step, output)
        self._drop_out_of_reach()
        self.step = step + 1
        self.__dict__.pop("updateGradInputStep", None)
        self.__dict__.pop("accGradParametersStep", None)
        return self.output

    def _hand_on_mask(self, module: Any) -> None:
        """Gives the module of the next step its row of the mask that setZeroMask set."""
        mask = self.__dict__.get("zeroMask")
        if mask is None or mask is False:
            return
        self.zeroMaskStep += 1
        if self.zeroMaskStep > mask.shape[0]:
            raise RuntimeError(f"{self}: setZeroMask was given a mask of {mask.shape[0]} steps")
        module.setZeroMask(mask[self.zeroMaskStep - 1])

    def setZeroMask(self, zeroMask: Any) -> Any:
        self.zeroMask = zeroMask
        self.zeroMaskStep = 0
        if zeroMask is False:
            for module in (self.recurrentModule, *self._copies()):
                module.setZeroMask(False)
        return self

    def _shared_in_evaluation(self, table: Table, step: int, value: Activation) -> Activation:
        """In evaluation all steps keep their values in one memory, as in Torch7."""
        if self.train or not isinstance(value, Tensor):
            return value
        before = table.get(step - 1) if step > self._kept.evaluating_since else None
        if isinstance(before, Tensor) and before.shape == value.shape:
            return before.copy_(value)
        return value.clone()

    def _run_step(self, module: Any, method: str, *arguments: Any) -> Activation:
        try:
            if not isinstance(module, Module):
                raise not_runnable(module)
            return getattr(module, method)(*arguments)
        except Exception as error:
            locate(error, self, 0)
            raise

    # ---- backward through time ----

    @names_errors
    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        step = self._step_back("updateGradInputStep")
        self._step_back("accGradParametersStep")
        gradient = self._output_gradient(step, gradOutput)
        return self._receive(step, self._go_back("backward", step, input, gradient, scale))

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        step = self._step_back("updateGradInputStep")
        gradient = self._output_gradient(step, gradOutput)
        return self._receive(step, self._go_back("updateGradInput", step, input, gradient))

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._accumulate_step("accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._accumulate_step("accUpdateGradParameters", input, gradOutput, lr)

    def _accumulate_step(
        self, method: str, input: Activation, gradOutput: Activation, factor: float
    ) -> None:
        step = self._step_back("accGradParametersStep")
        if self.updateGradInputStep is None or self.updateGradInputStep > step:
            raise RuntimeError(f"{self}: updateGradInput comes before {method} of the same step")
        self._go_back(method, step, input, self._known_gradient(step, gradOutput), factor)

    def _step_back(self, counter: str) -> int:
        """Moves a counter of backward steps by one; returns the step (from 1) to go back from."""
        at = self.__dict__.get(counter)
        step = int(self.step if at is None else at) - 1
        if step < 1:
            message = "no forward is left to go back from" if at else "backward needs a forward"
            raise RuntimeError(f"{self.torch_typename}: {message} (steps go T, ..., 1)")
        self.__dict__[counter] = step
        return step

    def _go_back(self, method: str, step: int, input: Activation, gradient: Activation, *more: Any):
        module = self._backward_module(step)
        result = self._run_step(module, method, self._given(step, input), gradient, *more)
        return module.gradInput if result is None else result

    def _receive(self, step: int, gradient: Activation) -> Activation:
        self.gradInput = self._keep_gradient(step, gradient)
        self.gradInputs[step] = self.gradInput
        return self.gradInput

    def _known_gradient(self, step: int, gradOutput: Activation) -> Activation:
        """The gradient of what the module of a step gave, once updateGradInput was there."""
        return gradOutput

    # ---- memory ----

    def forget(self) -> Any:
        super().forget()
        if self.train:
            for name in ("outputs", "gradInputs", "gradOutputs"):
                self.__dict__[name] = Table()
            for name in ("sharedClones", "_gradOutputs"):
                self.__dict__[name] = without_gaps(self.__dict__.get(name) or Table())
        self.step = 1
        self._kept.forget()
        return self

    def clearState(self) -> Any:
        self.forget()
        for name in ("outputs", "gradInputs", "gradOutputs", "_gradOutputs"):
            self.__dict__[name] = Table()
        self.__dict__.pop("zeroMask", None)
        for clone in self._copies():
            clone.clearState()
        return super().clearState()

    def setOutputStep(self, step: int) -> None:
        output = self.outputs.get(step)
        if output is None:
            raise RuntimeError(f"{self.torch_typename}: there is no output of step {step}")
        self.output = output
        gradient = self.gradInputs.get(step)
        if gradient is not None:
            self.gradInput = gradient

    def maxBPTTstep(self, rho: int) -> None:
        self.rho = rho

    def stepClone(self) -> Any:
        return self

    # ---- parameters and modules of others ----

    def share(self, other: Any, *fields: str) -> Any:
        super().share(other, *fields)
        self._kept.is_tied = False
        return self

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        replace_modules(self, function)
        self.sharedClones = Table([self.recurrentModule])
        self.nSharedClone = 1

    # ---- modes, types, masks ----

    def training(self) -> Any:
        for clone in self._copies():
            clone.training()
        return super().training()

    def evaluate(self) -> Any:
        for clone in self._copies():
            clone.evaluate()
            for module in clone.walk():
                module._record = None  # what only a backward in training would need
        if self.train:
            self._kept.evaluating_since = int(self.step)
        return super().evaluate()

    def type(self, typename: str | None = None, tensorCache: Any = None) -> Any:
        if typename is not None:
            self.forget()
            self.clearState()
        return super().type(typename, tensorCache)

    def reinforce(self, reward: Any) -> Any:
        """Gives the reward to all steps, or to each the one of its own.

        Args:
            reward: a vector (one number per sample) for all steps; or a table of them, or a
                tensor with one dimension more, for the last steps.
        """
        if not nested.is_table(reward) and reward.ndim < 2:
            for module in (*self.modules, *self._copies()):
                module.reinforce(reward)
            return self
        rewards = nested.elements(reward) if nested.is_table(reward) else list(reward)
        first = self.step - len(rewards)
        if first < 1:
            raise ValueError(f"{self.torch_typename}: more rewards ({len(rewards)}) than steps")
        for step, own_reward in enumerate(rewards, first):
            self.getStepModule(step).reinforce(own_reward)
        return self

    def maskZero(self, nInputDim: int | None = 1) -> Any:
        """Zeroes output and states for samples whose input is all zeros.

        Args:
            nInputDim: dimensions of one sample of the input; of later versions of the package:
                True to find the samples in the input, False to be told them by `setZeroMask`.
        """
        from relume.legacy_nn.rnn.masking import MaskZero

        return self._decorate_step(MaskZero(self.recurrentModule, nInputDim))

    def trimZero(self, nInputDim: int = 1) -> Any:
        """Like `maskZero`, but the samples of zeros are not even computed.

        Args:
            nInputDim: dimensions of one sample of the input.
        """
        from relume.legacy_nn.rnn.masking import TrimZero

        if self.p and not self.mono:
            raise ValueError(f"{self}: trimZero with dropout needs the option `mono`")
        return self._decorate_step(TrimZero(self.recurrentModule, nInputDim))

    def _decorate_step(self, module: Any) -> Any:
        self.recurrentModule = module
        self.sharedClones = Table([module])
        self.modules[0] = module
        return self

    def __str__(self) -> str:
        if self.inputSize is not None and self.outputSize is not None:
            return f"{self.torch_typename}({int(self.inputSize)} -> {int(self.outputSize)})"
        return self.torch_typename


def replace_modules(module: Any, function: Callable[[Any], Any]) -> None:
    """Puts `function(child)` in the place of every module in `modules`, and in the place of the
    same modules in other fields."""
    replacements = {id(child): function(child) for child in module.modules}
    module.modules[:] = [replacements[id(child)] for child in module.modules]
    for name, value in vars(module).items():
        if id(value) in replacements:
            vars(module)[name] = replacements[id(value)]


def without_gaps(table: Table) -> Table:
    """The values of integer keys, in order, at 1, 2, ..."""
    return Table([value for _, value in sorted(table.items())])
