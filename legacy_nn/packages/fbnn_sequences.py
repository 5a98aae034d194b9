"""Package fbnn (facebook/fbnn): layers over sequences."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.linear import Linear, draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


def largest_in_order(scores: Tensor, k: int) -> Tensor:
    """The places of the k largest scores along the last dimension, in their order."""
    places = scores.detach().topk(min(k, scores.shape[-1]), -1)[1]
    return places.sort(-1)[0]


class SequencePooling(Module):
    """The base of layers that keep some of the steps of a sequence: steps x features, or a batch.

    Args:
        k: how many steps.
        k_dynamic: or which share of the steps, when that is more.
    """

    parameter_names = ()
    k_dynamic: float | None = None

    def __init__(self, k: int, k_dynamic: float | None = None) -> None:
        super().__init__()
        self.k = k
        if k_dynamic is not None and k_dynamic >= 0:
            self.k_dynamic = k_dynamic
        self.switches = rl.empty((0,), dtype=rl.int64)

    def kept(self, steps: int) -> int:
        """How many steps are kept."""
        share = 0 if self.k_dynamic is None else int(steps * self.k_dynamic)
        return min(steps, max(int(self.k), share))

    def choose(self, sequences: Tensor) -> Tensor:
        """Places (batch, kept, features or 1) of what is kept."""
        raise NotImplementedError

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (2, 3):
            raise ValueError(
                f"{self}: expected a sequence TxF or a batch BxTxF, got {nested.describe(input)}"
            )
        sequences = input if input.ndim == 3 else input.unsqueeze(0)
        places = self.choose(sequences)
        self.switches = places + 1
        shape = (*places.shape[:2], sequences.shape[2])
        output = sequences.gather(1, places.expand(shape))
        return output if input.ndim == 3 else output.squeeze(0)


@register("nn.TemporalKMaxPooling")
class TemporalKMaxPooling(SequencePooling):
    """The k largest values of every feature of a sequence, in their order."""

    __doc__ += "\n".join((SequencePooling.__doc__ or "").split("\n")[1:])

    def choose(self, sequences: Tensor) -> Tensor:
        kept = self.kept(sequences.shape[1])
        return largest_in_order(sequences.transpose(1, 2), kept).transpose(1, 2)


@register("nn.GroupKMaxPooling")
class GroupKMaxPooling(SequencePooling):
    """The k steps of a sequence with the largest 2-norm, in their order."""

    __doc__ += "\n".join((SequencePooling.__doc__ or "").split("\n")[1:])

    def choose(self, sequences: Tensor) -> Tensor:
        norms = sequences.square().sum(2)
        return largest_in_order(norms, self.kept(sequences.shape[1])).unsqueeze(2)


@register("nn.KMaxPooling")
class KMaxPooling(TemporalKMaxPooling):
    """The k largest values of every feature of a sequence, in their order; zeros where the
    sequence has fewer steps.

    Args:
        k: how many steps.
        k_dynamic: or which share of the steps, when that is more.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.KMaxPooling(2).forward(rl.tensor([[3.0], [1.0], [2.0]])).tolist()
    [[3.0], [2.0]]
    """

    def __init__(self, k: int, k_dynamic: float | None = None) -> None:
        super().__init__(k)
        self.k_dynamic = -1 if k_dynamic is None else k_dynamic

    def kept(self, steps: int) -> int:
        share = float(self.k_dynamic or 0)
        return max(int(self.k), int(steps * share) if share > 0 else 0)

    def compute(self, input: Tensor) -> Tensor:
        output = super().compute(input)
        missing = self.kept(input.shape[-2]) - output.shape[-2]
        return rl.pad(output, [0, 0, 0, missing]) if missing > 0 else output


class ShapedConvolution(Module):
    """The base of convolutions over sequences whose weights and inputs have shapes of their own."""

    def convolve(self, rows: Tensor, weight: Tensor, bias: Tensor | None, pad: int) -> Tensor:
        """A convolution with step 1.

        Args:
            rows: samples x steps x features.
            weight: outputs x features x steps.
            pad: steps of zeros on either side.
        """
        if rows.shape[1] + 2 * pad < weight.shape[2]:
            raise ValueError(
                f"{self}: expected at least {weight.shape[2] - 2 * pad} steps, got {rows.shape[1]}"
            )
        return rl.conv1d(rows.transpose(1, 2), weight, bias, [1], [pad]).transpose(1, 2)


@register("nn.TemporalConvolutionTBC")
class TemporalConvolutionTBC(ShapedConvolution):
    """A convolution over sequences: steps x samples x features.

    Args:
        nIn, nOut: features, in and out.
        kw: steps of the kernel.
        pad: steps of zeros on either side, by default none.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.TemporalConvolutionTBC(3, 2, 5, 1).forward(rl.zeros(7, 4, 3, dtype=rl.float64)).shape
    (5, 4, 2)
    """

    pad = 0

    def __init__(self, nIn: int, nOut: int, kw: int, pad: int | None = None) -> None:
        super().__init__()
        self.kw, self.pad = kw, pad or 0
        self.nIn, self.nOut = nIn, nOut
        self.weight = new_parameter(kw, nIn, nOut)
        self.bias = new_parameter(nOut)
        self.gradWeight = new_parameter(kw, nIn, nOut)
        self.gradBias = new_parameter(nOut)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.kw * self.nIn), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        size = weight.shape[1]
        if not isinstance(input, Tensor) or input.ndim != 3 or input.shape[2] != size:
            raise ValueError(f"{self}: expected TxBx{size}, got {nested.describe(input)}")
        rows = input.transpose(0, 1)
        return self.convolve(rows, weight.permute((2, 1, 0)), bias, int(self.pad)).transpose(0, 1)


@register("nn.UnfoldedTemporalConvolution")
class UnfoldedTemporalConvolution(ShapedConvolution):
    """A convolution over sequences with step 1, which was one large matrix product.

    Args:
        nin, nout: features of a step, in and out.
        kw: steps of the kernel.
        dW: 1.
        pad: steps of zeros on either side, by default none.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.UnfoldedTemporalConvolution(3, 2, 5).forward(rl.zeros(7, 3, dtype=rl.float64)).shape
    (3, 2)
    """

    pad = 0
    buffer_names = (
        "_paddedInput",
        "_paddedGradInput",
        "_unfoldedInput",
        "_linearGradOutput",
        "_unfoldedGradInput",
    )

    def __init__(
        self, nin: int, nout: int, kw: int, dW: int | None = None, pad: int | None = None
    ) -> None:
        if dW not in (None, 1):
            raise ValueError(f"{self.torch_typename}: dW must be 1, got {dW}")
        super().__init__()
        self.linear = Linear(kw * nin, nout)
        self.kW, self.dW, self.pad = kw, 1, pad or 0
        self.inputFrameSize, self.outputFrameSize = nin, nout
        self.weight, self.bias = self.linear.weight, self.linear.bias
        self.gradWeight, self.gradBias = self.linear.gradWeight, self.linear.gradBias
        for name in self.buffer_names:
            self.__dict__[name] = new_empty()

    def reset(self, stdv: float | None = None) -> None:
        self.linear.reset(stdv)

    def noBias(self) -> Module:
        self.linear.noBias()
        return super().noBias()

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        size = int(self.inputFrameSize)
        if not isinstance(input, Tensor) or input.ndim not in (2, 3) or input.shape[-1] != size:
            raise ValueError(
                f"{self}: expected Tx{size}, or BxTx{size} for a batch, "
                f"got {nested.describe(input)}"
            )
        rows = input if input.ndim == 3 else input.unsqueeze(0)
        kernels = weight.reshape((weight.shape[0], int(self.kW), size)).permute((0, 2, 1))
        output = self.convolve(rows, kernels, bias, int(self.pad))
        return output if input.ndim == 3 else output.squeeze(0)
