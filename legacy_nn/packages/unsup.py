"""Package unsup (koraykv/unsup): autoencoders and sparse coding.

A module's `forward(input, target)` gives a number, how much is lost; `backward(input, target)` adds
the gradients of it.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.composite import make
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.optim.fista import FistaLS
from relume.legacy_nn.record import Record
from relume.legacy_nn.registry import register


def summed_squares() -> Any:
    """A criterion: the sum of squared differences."""
    return make("MSECriterion", False)


@register("unsup.UnsupModule")
class UnsupModule(Taped):
    """The base: write `compute(input, target)`, which gives one number on the tape."""

    held_names: tuple[str, ...] = ("encoder", "decoder")

    def children(self) -> list[Any]:
        return [getattr(self, name) for name in self.held_names]

    def replace_children(self, function: Any) -> None:
        for name in self.held_names:
            setattr(self, name, function(getattr(self, name)))

    def normalize(self) -> None:
        """Gives what reconstructs kernels of length 1."""
        raise NotImplementedError(f"{self.torch_typename} has no normalize()")

    def forward(self, input: Activation, target: Any = None, **named: Any) -> Any:
        return self.updateOutput(input, target)

    def updateOutput(self, input: Tensor, target: Any = None) -> Any:
        self._record = Record(input, [], self.compute, target)
        self.output = self._record.output.item()
        return self.output

    def backward(self, input: Tensor, gradOutput: Any = None, scale: float = 1) -> Any:
        """Takes the target in the place of a gradient."""
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def updateGradInput(self, input: Tensor, gradOutput: Any = None) -> Any:
        (self.gradInput,) = self._gradients(input, gradOutput, self._recorded(input, gradOutput))
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Any = None, scale: float = 1) -> None:
        parameters, _ = self.parameters()
        self._accumulate(self._gradients(input, gradOutput, parameters), scale)

    def _recorded(self, input: Tensor, target: Any) -> list[Tensor]:
        """The leaves of the last forward, which is run again when it was another."""
        record = self._record
        if record is None or not record.is_of(input) or not record.is_with(target):
            with rl.enable_grad():
                self.updateOutput(input, target)
        assert self._record is not None
        return self._record.leaves

    def _gradients(self, input: Tensor, target: Any, wanted: list) -> list:
        self._recorded(input, target)
        assert self._record is not None
        return self._record.gradients_of(wanted, self, rl.ones_like(self._record.output.detach()))

    def __call__(self, *inputs: Any) -> Any:
        """The number on the tape, for an input and a target."""
        return self.compute(*inputs)


def unit_kernels(weight: Tensor) -> None:
    """Divides every kernel (a column of a matrix; of more dimensions, the last two) by its
    length."""
    dims = (0,) if weight.ndim == 2 else (-2, -1)
    with rl.no_grad():
        lengths = weight.square().sum(dims, keepdim=True).sqrt()
        weight.div_(lengths + 1e-12)


class CodeLoss(UnsupModule):
    """The base of autoencoders: beta times the loss of what the decoder makes of the code, plus
    lambda times the cost of the code."""

    encoder: Any
    decoder: Any
    loss: Any
    beta: float
    cost_name = "codecost"
    normalized: Any = None

    def __init__(self, encoder: Any, decoder: Any, beta: float) -> None:
        super().__init__()
        del self.modules
        self.encoder, self.decoder, self.beta = encoder, decoder, beta
        self.loss = summed_squares()

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        code = self.encoder(input)
        value = self.loss(self.decoder(code), target) * float(self.beta)
        factor = vars(self).get("lambda")
        return value + vars(self)[self.cost_name](code) * float(factor) if factor else value

    def normalize(self) -> None:
        if self.normalized and self.decoder.weight is not None and self.decoder.weight.ndim > 1:
            unit_kernels(self.decoder.weight)


@register("unsup.AutoEncoder")
class AutoEncoder(CodeLoss):
    """beta times the loss of what the decoder makes of the encoder's code.

    Args:
        encoder, decoder: the networks.
        beta: factor of the loss.
        loss: a criterion, by default the sum of squared differences.
        lambda_: factor of the cost of the code.
        codeloss: a criterion of codes.
    """

    def __init__(
        self,
        encoder: Any,
        decoder: Any,
        beta: float,
        loss: Any = None,
        lambda_: float | None = None,
        codeloss: Any = None,
    ) -> None:
        super().__init__(encoder, decoder, beta)
        self.loss = loss or self.loss
        if lambda_ and codeloss is not None:
            vars(self)["lambda"], self.codecost = lambda_, codeloss


@register("unsup.SparseAutoEncoder")
class SparseAutoEncoder(CodeLoss):
    """`AutoEncoder` with lambda times the 1-norm of the code.

    Args:
        encoder, decoder: the networks.
        beta, lambda_: factors of the loss and of the 1-norm.
        loss: a criterion, by default the sum of squared differences.
    """

    cost_name = "sparseCost"

    def __init__(
        self, encoder: Any, decoder: Any, beta: float, lambda_: float, loss: Any = None
    ) -> None:
        super().__init__(encoder, decoder, beta)
        self.loss = loss or self.loss
        self.sparseCost = make("L1Cost")
        vars(self)["lambda"] = lambda_


# ---- sparse codes ----


@register("unsup.FistaL1")
class FistaL1(UnsupModule):
    """Finds a sparse code that a network makes the input of: half the loss plus lambda times the
    1-norm of the code, by FISTA (Beck and Teboulle 2009).

    Args:
        freconstruction: the network.
        creconstruction: the loss, a criterion.
        lambda_: factor of the 1-norm.
        params: for `optim.FistaLS`.

    Attributes:
        code: the code of the last forward.
    """

    held_names = ("D",)
    loss_share = 0.5  # of the value
    smallest_step = 0.1
    starts_at_zero = False
    D: Any
    Fcost: Any
    params: Any

    def __init__(
        self, freconstruction: Any, creconstruction: Any, lambda_: float, params: Any = None
    ) -> None:
        super().__init__()
        del self.modules
        vars(self)["lambda"] = lambda_
        self.D, self.Fcost, self.Gcost = freconstruction, creconstruction, make("L1Cost")
        self.params = params if params is not None else {}
        usual = {"L": 0.1, "Lstep": 1.5, "maxiter": 50, "maxline": 20, "errthres": 1e-4}
        for name, value in usual.items():
            if self.params.get(name) is None:
                self.params[name] = value
        self.params["doFistaUpdate"] = True
        self.code = rl.zeros((0,), dtype=self.output.dtype)

    def find(self, input: Tensor, start: Tensor) -> Tensor:
        """The code of an input, found from a start."""
        factor = float(vars(self)["lambda"])

        def smooth(code: Tensor, mode: str | None = None) -> Any:
            leaf = code.detach().requires_grad_()
            with rl.enable_grad():
                value = self.Fcost(self.D(leaf), input) * self.loss_share
                return (value.item(), rl.grad(value, [leaf])[0]) if mode else value.item()

        def rest(code: Tensor, mode: str | None = None) -> float:
            return factor * code.abs().sum().item()

        def shrink(code: Tensor, constant: float) -> None:
            code.copy_(code.sign() * (code.abs() - factor / constant).clamp(0))

        before = self.params["L"]
        code, self.history = FistaLS(smooth, rest, shrink, start.detach().clone(), self.params)
        if self.params["L"] == before:
            self.params["L"] = max(self.smallest_step, before / 2)
        self.code = code.detach()
        return self.code

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        """The target is where to begin; by default the last code."""
        given = None if self.starts_at_zero else target
        start = self.code if given is None else given
        code = self.find(input.detach(), rl.zeros_like(start) if self.starts_at_zero else start)
        return self.Fcost(self.D(code), input) * self.loss_share + code.abs().sum() * float(
            vars(self)["lambda"]
        )

    def normalize(self) -> None:
        unit_kernels(self.D.weight)


@register("unsup.LinearFistaL1")
class LinearFistaL1(FistaL1):
    """`FistaL1` with a matrix; its bias stays zero.

    Args:
        inputSize, outputSize: lengths of the input and of the code.
        lambda_: factor of the 1-norm.
        params: for `optim.FistaLS`.
    """

    loss_share = 1.0
    smallest_step = 0.0
    starts_at_zero = True

    def __init__(self, inputSize: int, outputSize: int, lambda_: float, params: Any = None) -> None:
        super().__init__(make("Linear", outputSize, inputSize), summed_squares(), lambda_, params)
        self.code = rl.zeros((outputSize,), dtype=self.output.dtype)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        self.D.reset(stdv)
        with rl.no_grad():
            self.D.bias.zero_()

    def _accumulate(self, gradients: list, scale: float) -> None:
        super()._accumulate(gradients, scale)
        self.D.gradBias.zero_()

    def updateParameters(self, learningRate: float) -> None:
        super().updateParameters(learningRate)
        with rl.no_grad():
            self.D.bias.zero_()


@register("unsup.SpatialConvFistaL1")
class SpatialConvFistaL1(FistaL1):
    """`FistaL1` with a convolution; pixels count as often as kernels see them.

    Args:
        conntable: which planes of the code make which planes of the image.
        kw, kh: width and height of the kernels.
        iw, ih: width and height of the image.
        lambda_: factor of the 1-norm.
        params: for `optim.FistaLS`.
    """

    def __init__(
        self,
        conntable: Tensor,
        kw: int,
        kh: int,
        iw: int,
        ih: int,
        lambda_: float,
        params: Any = None,
    ) -> None:
        codes, planes = (int(conntable[:, side].amax().item()) for side in (0, 1))
        counts = [
            [min(place + 1, size - place, kernel, size - kernel + 1) for place in range(size)]
            for size, kernel in ((ih, kh), (iw, kw))
        ]
        rows, columns = (rl.tensor(count, dtype=rl.float64) for count in counts)
        seen = rows.reshape((-1, 1)) * columns.reshape((1, -1))
        weights = (seen / seen.amax()).unsqueeze(0).expand((planes, ih, iw))
        loss = make("WeightedMSECriterion", weights)
        loss.sizeAverage = False
        super().__init__(
            make("SpatialFullConvolutionMap", conntable, kw, kh), loss, lambda_, params
        )
        self.code = rl.zeros((codes, ih - kh + 1, iw - kw + 1), dtype=self.output.dtype)


@register("unsup.PSD")
class PSD(UnsupModule):
    """Sparse codes that an encoder learns to predict (Kavukcuoglu, Ranzato and LeCun 2010).

    Args:
        encoder: the network that predicts.
        decoder: a `FistaL1` module.
        beta: factor of the squared distance of codes from predictions.
        params: of both.
    """

    encoder: Any
    decoder: Any
    beta: float

    def __init__(self, encoder: Any, decoder: Any, beta: float, params: Any = None) -> None:
        super().__init__()
        del self.modules
        self.encoder, self.decoder, self.beta = encoder, decoder, beta
        self.predcost = summed_squares()
        self.params = params if params is not None else {}

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        prediction = self.encoder(input)
        value = self.decoder.compute(input, prediction.detach())
        return value + self.predcost(prediction, self.decoder.code) * float(self.beta)

    def accGradParameters(self, input: Tensor, gradOutput: Any = None, scale: float = 1) -> None:
        super().accGradParameters(input, gradOutput, scale)
        if isinstance(self.decoder, LinearFistaL1):
            self.decoder.D.gradBias.zero_()

    def normalize(self) -> None:
        """Gives the decoder kernels of length 1."""
        self.decoder.normalize()


def encoder_of(first: Any, kind: str | None, size: int) -> Any:
    """A linear function, alone or with a function of every element and a factor per plane."""
    functions = {"tanh": "Tanh", "tanh_shrink": "TanhShrink"}
    if kind in (None, "linear"):
        return first
    if kind not in functions:
        raise ValueError(f"encoderType is linear, tanh or tanh_shrink, got {kind!r}")
    return make("Sequential").add(first).add(make(functions[kind])).add(make("Diag", size))


@register("unsup.LinearPSD")
class LinearPSD(PSD):
    """`PSD` with matrices.

    Args:
        inputSize, outputSize: lengths of the input and of the code.
        lambda_, beta: factors of the 1-norm and of the distance of predictions.
        params: encoderType is "linear", "tanh" or "tanh_shrink"; the rest is for `optim.FistaLS`.
    """

    def __init__(
        self, inputSize: int, outputSize: int, lambda_: float, beta: float, params: Any = None
    ) -> None:
        params = params if params is not None else {}
        decoder = LinearFistaL1(inputSize, outputSize, lambda_, params)
        first = make("Linear", inputSize, outputSize)
        encoder = encoder_of(first, params.get("encoderType"), outputSize)
        super().__init__(encoder, decoder, beta, params)


@register("unsup.ConvPSD")
class ConvPSD(PSD):
    """`PSD` with convolutions.

    Args:
        conntable: which planes of the image make which planes of the code.
        kw, kh: width and height of the kernels.
        iw, ih: width and height of the image.
        lambda_, beta: factors of the 1-norm and of the distance of predictions.
        params: encoderType is "linear", "tanh" or "tanh_shrink"; the rest is for `optim.FistaLS`.
    """

    def __init__(
        self,
        conntable: Tensor,
        kw: int,
        kh: int,
        iw: int,
        ih: int,
        lambda_: float,
        beta: float,
        params: Any = None,
    ) -> None:
        params = params if params is not None else {}
        back = conntable.flip(1)
        decoder = SpatialConvFistaL1(back, kw, kh, iw, ih, lambda_, params)
        first = make("SpatialConvolutionMap", conntable, kw, kh)
        size = int(conntable[:, 1].amax().item())
        encoder = encoder_of(first, params.get("encoderType"), size)
        super().__init__(encoder, decoder, beta, params)
