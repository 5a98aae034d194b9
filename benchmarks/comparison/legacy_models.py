"""Networks of Torch7's layers, trained through forward and backward, beside the same in PyTorch.

Each builder gives an object with `forward(x)` and `step(x, targets)` of either library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LEARNING_RATE = 1e-4
SHARED = ("weight", "bias", "gradWeight", "gradBias")


class Protocol:
    """A network of legacy_nn, used as a Lua script uses it."""

    def __init__(self, net: Any) -> None:
        from relume import legacy_nn

        self.net = net.float()
        self.criterion = legacy_nn.CrossEntropyCriterion().float()

    def forward(self, x: Any) -> Any:
        return self.net.forward(x)

    def step(self, x: Any, targets: Any) -> None:
        net, criterion = self.net, self.criterion
        net.zeroGradParameters()
        output = net.forward(x)
        criterion.forward(output, targets)
        net.backward(x, criterion.backward(output, targets))
        net.updateParameters(LEARNING_RATE)


class Module:
    """A torch.nn.Module, used as a PyTorch script uses it."""

    def __init__(self, net: Any) -> None:
        import torch

        self.torch, self.net = torch, net
        self.parameters = list(net.parameters())

    def forward(self, x: Any) -> Any:
        with self.torch.no_grad():
            return self.net(x)

    def step(self, x: Any, targets: Any) -> None:
        loss = self.torch.nn.functional.cross_entropy(self.net(x), targets - 1)
        loss.backward()
        with self.torch.no_grad():
            for parameter in self.parameters:
                parameter.add_(parameter.grad, alpha=-LEARNING_RATE)
                parameter.grad = None


def is_torch(lib: Any) -> bool:
    return lib.__name__ == "torch"


def chain(lib: Any, torch7: Callable[[Any], list], torch: Callable[[Any], list]) -> Any:
    """A sequence of layers in either library."""
    if is_torch(lib):
        return Module(lib.nn.Sequential(*torch(lib.nn)))
    from relume import legacy_nn

    net = legacy_nn.Sequential()
    for layer in torch7(legacy_nn):
        net.add(layer)
    return Protocol(net)


def perceptron(lib: Any) -> Any:
    """Three layers of 64 units."""

    def layers(nn: Any) -> list:
        return [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)]

    return chain(lib, layers, layers)


def lenet(lib: Any) -> Any:
    """Two convolutions and three linear layers on 28x28 digits."""

    def torch7(nn: Any) -> list:
        return [
            nn.SpatialConvolution(1, 6, 5, 5, 1, 1, 2, 2), nn.ReLU(True),
            nn.SpatialMaxPooling(2, 2, 2, 2), nn.SpatialConvolution(6, 16, 5, 5), nn.ReLU(True),
            nn.SpatialMaxPooling(2, 2, 2, 2), nn.View(400), nn.Linear(400, 120), nn.ReLU(True),
            nn.Linear(120, 84), nn.ReLU(True), nn.Linear(84, 10),
        ]  # fmt: skip

    def torch(nn: Any) -> list:
        return [
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
            nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(True),
            nn.Linear(120, 84), nn.ReLU(True), nn.Linear(84, 10),
        ]  # fmt: skip

    return chain(lib, torch7, torch)


RESNET_STAGES = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]


def resnet18(lib: Any) -> Any:
    """The network of He et al. (2015), as fb.resnet.torch builds it."""
    return Module(torch_resnet18(lib)) if is_torch(lib) else Protocol(torch7_resnet18())


def torch7_resnet18() -> Any:
    from relume import legacy_nn as nn

    def convolution(inputs: int, outputs: int, kernel: int, stride: int) -> Any:
        pad = kernel // 2
        layer = nn.SpatialConvolution(inputs, outputs, kernel, kernel, stride, stride, pad, pad)
        return layer.noBias()

    def block(inputs: int, outputs: int, stride: int) -> Any:
        body = nn.Sequential().add(convolution(inputs, outputs, 3, stride))
        body.add(nn.SpatialBatchNormalization(outputs)).add(nn.ReLU(True))
        body.add(convolution(outputs, outputs, 3, 1)).add(nn.SpatialBatchNormalization(outputs))
        shortcut = nn.Identity()
        if inputs != outputs:
            shortcut = nn.Sequential().add(convolution(inputs, outputs, 1, stride))
            shortcut.add(nn.SpatialBatchNormalization(outputs))
        both = nn.ConcatTable().add(body).add(shortcut)
        return nn.Sequential().add(both).add(nn.CAddTable(True)).add(nn.ReLU(True))

    net = nn.Sequential().add(convolution(3, 64, 7, 2)).add(nn.SpatialBatchNormalization(64))
    net.add(nn.ReLU(True)).add(nn.SpatialMaxPooling(3, 3, 2, 2, 1, 1))
    for inputs, outputs, stride in RESNET_STAGES:
        net.add(block(inputs, outputs, stride)).add(block(outputs, outputs, 1))
    net.add(nn.Mean(3, 3)).add(nn.Mean(2, 2))
    return net.add(nn.Linear(512, 1000))


def torch_resnet18(lib: Any) -> Any:
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                nn.ReLU(True), nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )  # fmt: skip
            self.shortcut = nn.Identity()
            if inputs != outputs:
                first = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.shortcut = nn.Sequential(first, nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            return lib.relu_(self.body(x) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    for inputs, outputs, stride in RESNET_STAGES:
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


VOCABULARY, UNITS, STEPS = 65, 128, 20


class CharRnn:
    """char-rnn: an LSTM cell as a graph, a clone per step; gradients go back by hand."""

    def __init__(self) -> None:
        import relume
        from relume import legacy_nn as nn

        self.relume = relume
        cell = self.cell(nn).float()
        self.clones = [cell.clone(*SHARED) for _ in range(STEPS)]
        self.criterions = [nn.ClassNLLCriterion().float() for _ in range(STEPS)]
        self.net = cell

    @staticmethod
    def cell(nn: Any) -> Any:
        x, c, h = nn.Identity()(), nn.Identity()(), nn.Identity()()
        from_input = nn.Linear(VOCABULARY, 4 * UNITS)(x)
        total = nn.CAddTable()([from_input, nn.Linear(UNITS, 4 * UNITS)(h)])
        parts = nn.SplitTable(2)(nn.Reshape(4, UNITS)(total)).split(4)
        i, f, o = (nn.Sigmoid()(part) for part in parts[:3])
        new = nn.CMulTable()([i, nn.Tanh()(parts[3])])
        next_c = nn.CAddTable()([nn.CMulTable()([f, c]), new])
        next_h = nn.CMulTable()([o, nn.Tanh()(next_c)])
        scores = nn.LogSoftMax()(nn.Linear(UNITS, VOCABULARY)(next_h))
        return nn.gModule([x, c, h], [next_c, next_h, scores])

    def run(self, x: Any) -> tuple[list, list]:
        zeros = self.relume.zeros(x.shape[1], UNITS)
        inputs, outputs, state = [], [], [zeros, zeros]
        for t, clone in enumerate(self.clones):
            inputs.append([x[t], *state])
            outputs.append(list(clone.forward(inputs[t])))
            state = outputs[t][:2]
        return inputs, outputs

    def forward(self, x: Any) -> Any:
        return self.run(x)[1]

    def step(self, x: Any, targets: Any) -> None:
        self.net.zeroGradParameters()
        inputs, outputs = self.run(x)
        zeros = self.relume.zeros(x.shape[1], UNITS)
        gradients = [zeros, zeros]
        for t in reversed(range(STEPS)):
            self.criterions[t].forward(outputs[t][2], targets[t])
            last = self.criterions[t].backward(outputs[t][2], targets[t])
            gradients = list(self.clones[t].backward(inputs[t], [*gradients, last]))[1:]
        self.net.updateParameters(LEARNING_RATE)


class TorchCharRnn(Module):
    """The same with torch.nn.LSTMCell."""

    def __init__(self, lib: Any) -> None:
        nn = lib.nn
        super().__init__(
            nn.ModuleList([nn.LSTMCell(VOCABULARY, UNITS), nn.Linear(UNITS, VOCABULARY)])
        )

    def run(self, x: Any) -> list:
        cell, last = self.net
        zeros = self.torch.zeros(x.shape[1], UNITS)
        state, outputs = (zeros, zeros), []
        for t in range(STEPS):
            state = cell(x[t], state)
            outputs.append(self.torch.log_softmax(last(state[0]), 1))
        return outputs

    def forward(self, x: Any) -> Any:
        with self.torch.no_grad():
            return self.run(x)

    def step(self, x: Any, targets: Any) -> None:
        nll = self.torch.nn.functional.nll_loss
        outputs = self.run(x)
        loss = sum(nll(output, target - 1) for output, target in zip(outputs, targets, strict=True))
        loss.backward()
        with self.torch.no_grad():
            for parameter in self.parameters:
                parameter.add_(parameter.grad, alpha=-LEARNING_RATE)
                parameter.grad = None


def char_rnn(lib: Any) -> Any:
    return TorchCharRnn(lib) if is_torch(lib) else CharRnn()


class TorchLstm(Module):
    """torch.nn.LSTM and a linear layer on all steps."""

    def __init__(self, lib: Any) -> None:
        nn = lib.nn
        super().__init__(nn.ModuleList([nn.LSTM(UNITS, UNITS), nn.Linear(UNITS, VOCABULARY)]))

    def forward(self, x: Any) -> Any:
        with self.torch.no_grad():
            return self.net[1](self.net[0](x)[0].flatten(0, 1))

    def step(self, x: Any, targets: Any) -> None:
        output = self.net[1](self.net[0](x)[0].flatten(0, 1))
        self.torch.nn.functional.cross_entropy(output, targets - 1).backward()
        with self.torch.no_grad():
            for parameter in self.parameters:
                parameter.add_(parameter.grad, alpha=-LEARNING_RATE)
                parameter.grad = None


def seq_lstm(lib: Any) -> Any:
    """SeqLSTM and a linear layer on all steps."""
    if is_torch(lib):
        return TorchLstm(lib)
    from relume import legacy_nn as nn

    net = nn.Sequential().add(nn.SeqLSTM(UNITS, UNITS)).add(nn.View(-1, UNITS))
    return Protocol(net.add(nn.Linear(UNITS, VOCABULARY)))
