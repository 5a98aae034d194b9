"""The modern face of classes that write Torch7's methods: one node on the tape."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import once_differentiable
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation


class Protocol(rl.autograd.Function):
    """Runs updateOutput forwards; backwards updateGradInput and accGradParameters."""

    @staticmethod
    def forward(ctx: Any, call: ProtocolCall, *tensors: Tensor) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)  # what the gradients depend on
        return call.run_forward()

    @staticmethod
    @once_differentiable  # whatever updateGradInput does, it is not on the tape
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return (None, *ctx.call.run_backward(gradients))


class ProtocolCall:
    """One application of a module to an input."""

    def __init__(self, module: Any, input: Activation, parameters: list, gradients: list):
        self.module = module
        self.input = nested.map_tensors(Tensor.detach, input)
        self.parameters = parameters
        self.gradients = gradients
        self.output: Activation = None

    def run_forward(self) -> Any:
        with rl.no_grad():
            output = self.module.updateOutput(self.input)
        self.output = nested.map_tensors(lambda tensor: tensor.detach().clone(), output)
        outputs = nested.tensors_in(self.output)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run_backward(self, gradients: tuple) -> list:
        gradOutput = nested.with_tensors(self.output, gradients)
        # The module may have been used for something else since: bring this call back. What
        # it adds to its gradients goes to the tape instead, which adds it there.
        held = [gradient.clone() for gradient in self.gradients]
        for gradient in self.gradients:
            gradient.zero_()
        self.module.updateOutput(self.input)
        self.module.updateGradInput(self.input, gradOutput)
        self.module.accGradParameters(self.input, gradOutput, 1)
        own = [gradient.clone() for gradient in self.gradients]
        for gradient, value in zip(self.gradients, held, strict=False):
            gradient.copy_(value)
        pairs = nested.pair_up(self.input, self.module.gradInput)
        return [gradient for _, gradient in pairs] + own


def apply_protocol(module: Any, input: Activation, parameters: list, gradients: list) -> Activation:
    """Applies a module with methods of its own to an input, on the tape."""
    call = ProtocolCall(module, input, parameters, gradients)
    outputs = Protocol.apply(call, *nested.tensors_in(input), *parameters)
    found = outputs if isinstance(outputs, tuple) else (outputs,)
    return nested.with_tensors(call.output, found)


class CriterionProtocol(rl.autograd.Function):
    """Runs a criterion's updateOutput forwards, its updateGradInput backwards."""

    @staticmethod
    def forward(ctx: Any, criterion: Any, input: Activation, target: Any, *tensors: Tensor) -> Any:
        ctx.call = criterion, input, target
        with rl.no_grad():
            value = criterion.updateOutput(input, target)
        return rl.tensor(float(value), dtype=tensors[0].dtype)

    @staticmethod
    @once_differentiable  # whatever updateGradInput does, it is not on the tape
    def backward(ctx: Any, gradient: Tensor) -> Any:
        criterion, input, target = ctx.call
        criterion.updateOutput(input, target)  # it may have been used for something else since
        pairs = nested.pair_up(input, criterion.updateGradInput(input, target))
        return (None, None, None, *[own * gradient for _, own in pairs])


def apply_criterion(criterion: Any, input: Activation, target: Any) -> Tensor:
    """Applies a criterion with methods of its own, on the tape."""
    plain = nested.map_tensors(Tensor.detach, input)
    return CriterionProtocol.apply(criterion, plain, target, *nested.tensors_in(input))
