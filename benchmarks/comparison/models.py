"""The models whose steps are timed: parameters as a list, and a forward function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .case import Arrays

LEARNING_RATE = 1e-4


class Model:
    """Parameters of either library, trained by gradient descent."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.f = lib.nn.functional  # one code for both
        self.arrays = Arrays(lib)
        self.parameters: list[Any] = []

    def parameter(self, *shape: int, scale: float = 0.1) -> Any:
        self.parameters.append(self.arrays.parameter(*shape, scale=scale))
        return self.parameters[-1]

    def linear(self, inputs: int, outputs: int) -> Callable[[Any], Any]:
        weight, bias = self.parameter(outputs, inputs), self.parameter(outputs)
        return lambda x: self.f.linear(x, weight, bias)

    def forward(self, x: Any) -> Any:
        raise NotImplementedError

    def loss(self, x: Any, targets: Any) -> Any:
        return self.f.cross_entropy(self.forward(x), targets)

    def step(self, x: Any, targets: Any) -> None:
        self.loss(x, targets).backward()
        with self.lib.no_grad():
            for parameter in self.parameters:
                parameter.add_(parameter.grad, alpha=-LEARNING_RATE)
                parameter.grad = None

    def infer(self, x: Any) -> Any:
        with self.lib.no_grad():
            return self.forward(x)


class Perceptron(Model):
    """Three layers of 64 units."""

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        self.layers = [self.linear(64, 64) for _ in range(3)]

    def forward(self, x: Any) -> Any:
        for layer in self.layers[:-1]:
            x = self.f.relu(layer(x))
        return self.layers[-1](x)


class LeNet(Model):
    """Two convolutions and three linear layers on 28x28 digits."""

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        self.first, self.first_bias = self.parameter(6, 1, 5, 5), self.parameter(6)
        self.second, self.second_bias = self.parameter(16, 6, 5, 5), self.parameter(16)
        self.layers = [self.linear(400, 120), self.linear(120, 84), self.linear(84, 10)]

    def forward(self, x: Any) -> Any:
        f = self.f
        x = f.relu(f.conv2d(x, self.first, self.first_bias, [1, 1], [2, 2]))
        x = f.max_pool2d(x, 2)
        x = f.max_pool2d(f.relu(f.conv2d(x, self.second, self.second_bias)), 2)
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = f.relu(layer(x))
        return self.layers[-1](x)


class ResNet18(Model):
    """The network of He et al. (2015) for 224x224 images and a thousand classes."""

    def __init__(self, lib: Any, training: bool = True) -> None:
        super().__init__(lib)
        self.training = training
        self.first = self.convolution(3, 64, 7, 2)
        blocks = []
        inputs = 64
        for outputs in (64, 128, 256, 512):
            blocks.append(self.block(inputs, outputs, 1 if outputs == 64 else 2))
            blocks.append(self.block(outputs, outputs, 1))
            inputs = outputs
        self.blocks = blocks
        self.last = self.linear(512, 1000)

    def convolution(
        self, inputs: int, outputs: int, kernel: int, stride: int
    ) -> Callable[[Any], Any]:
        """A convolution and its batch normalisation."""
        f, lib = self.f, self.lib
        weight = self.parameter(outputs, inputs, kernel, kernel, scale=0.02)
        gain = lib.ones(outputs).requires_grad_()
        bias = self.parameter(outputs)
        self.parameters.append(gain)
        mean, variance = lib.zeros(outputs), lib.ones(outputs)
        padding = [kernel // 2] * 2

        def apply(x: Any) -> Any:
            x = f.conv2d(x, weight, None, [stride, stride], padding)
            return f.batch_norm(x, mean, variance, gain, bias, self.training)

        return apply

    def block(self, inputs: int, outputs: int, stride: int) -> Callable[[Any], Any]:
        f = self.f
        first = self.convolution(inputs, outputs, 3, stride)
        second = self.convolution(outputs, outputs, 3, 1)
        same = inputs == outputs
        shortcut = None if same else self.convolution(inputs, outputs, 1, stride)

        def apply(x: Any) -> Any:
            y = second(f.relu(first(x)))
            return f.relu(y + (shortcut(x) if shortcut else x))

        return apply

    def forward(self, x: Any) -> Any:
        x = self.f.max_pool2d(self.f.relu(self.first(x)), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.last(x.mean([2, 3]))


class CharacterRnn(Model):
    """Two LSTM layers of 128 units over 50 characters, as in char-rnn."""

    VOCABULARY, UNITS, LAYERS = 65, 128, 2

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        self.table = self.parameter(self.VOCABULARY, self.UNITS)
        self.lstm = lib.nn.LSTM(self.UNITS, self.UNITS, self.LAYERS)
        self.parameters += list(self.lstm.parameters())
        self.last = self.linear(self.UNITS, self.VOCABULARY)

    def forward(self, x: Any) -> Any:
        """`x` holds characters, time first."""
        y, _ = self.lstm(self.f.embedding(x, self.table))
        return self.last(y.reshape(-1, self.UNITS))
