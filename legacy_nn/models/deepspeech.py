"""deepspeech.torch (SeanNaren/deepspeech.torch): recurrent layers of speech recognition."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.cudnn.recurrent import RNN
from relume.legacy_nn.registry import register
from relume.legacy_nn.shape_layers import View


@register("cudnn.BatchBRNN")
class BatchBRNN(Sequential):
    """A bidirectional recurrent layer whose input is normalised over batch and steps.

    Args:
        inputDim: size of the input of a step.
        outputDim: size of the state.

    Sequences are steps x batch x inputDim.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.cudnn.BatchBRNN(3, 4).forward(rl.randn(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 4)
    """

    view_in: Any
    view_out: Any

    def __init__(self, inputDim: int, outputDim: int) -> None:
        super().__init__()
        self.view_in = View(1, 1, -1).setNumInputDims(3)
        self.view_out = View(1, -1).setNumInputDims(2)
        self.rnn = RNN(outputDim, outputDim, 1)
        self.rnn.inputMode = "CUDNN_SKIP_INPUT"
        self.rnn.bidirectional = "CUDNN_BIDIRECTIONAL"
        self.rnn.numDirections = 2
        self.rnn.reset()
        self.add(self.view_in).add(make("Linear", inputDim, outputDim, False))
        self.add(make("BatchNormalization", outputDim)).add(self.view_out).add(self.rnn)
        self.add(View(-1, 2, outputDim).setNumInputDims(2)).add(make("Sum", 3))

    def _fit_views(self, input: Tensor) -> None:
        if not isinstance(input, Tensor) or input.ndim != 3:
            raise ValueError(
                f"{self.torch_typename}: expected steps x batch x size, "
                f"got {nested.describe(input)}"
            )
        steps, samples = input.shape[:2]
        self.view_in.resetSize(steps * samples, -1)
        self.view_out.resetSize(steps, samples, -1)

    def compute(self, input: Tensor) -> Tensor:
        self._fit_views(input)
        return super().compute(input)

    def updateOutput(self, input: Tensor) -> Tensor:
        self._fit_views(input)
        return super().updateOutput(input)

    def __str__(self) -> str:
        return super().__str__().replace(self.torch_typename, "BatchBRNN", 1)


@register("cudnn.BatchBRNNReLU")
class BatchBRNNReLU(BatchBRNN):
    """`BatchBRNN` with rectified states, kept between 0 and 20.

    Args:
        inputDim, outputDim: as there.
    """

    def __init__(self, inputDim: int, outputDim: int) -> None:
        super().__init__(inputDim, outputDim)
        self.rnn.mode = "CUDNN_RNN_RELU"
        self.rnn.reset()
        self.insert(make("Clamp", 0, 20), 6)
