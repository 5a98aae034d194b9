"""Recurrent layers over sequences, and single cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.nn import init
from relume.nn.module import Module
from relume.nn.parameter import Parameter, new_parameter
from relume.nn.utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


class RNNBase(Module):
    """What the recurrent layers share.

    Parameters are called `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, with the
    number of the layer, and `_reverse` for the other direction.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be between 0 and 1, it is {dropout}")
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError("hidden_size and num_layers must be positive")
        if proj_size and (mode != "LSTM" or not 0 <= proj_size < hidden_size):
            raise ValueError("proj_size is for LSTM, and smaller than hidden_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        output_size = proj_size or hidden_size
        gates = _GATES[mode] * hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else output_size * self._directions
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (gates, inputs),
                "weight_hh": (gates, output_size),
            }
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: self._directions]:
                for kind, shape in shapes.items():
                    name = f"{kind}_l{layer}{suffix}"
                    self.register_parameter(name, new_parameter(shape, device, dtype))
                    self._flat_weights_names.append(name)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of every layer and direction."""
        weights = self._flat_weights
        count = len(weights) // (self.num_layers * self._directions)
        return [weights[i : i + count] for i in range(0, len(weights), count)]

    def reset_parameters(self) -> None:
        """Draws new parameters: uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: there for PyTorch's sake."""

    def _zeros(self, like: Tensor, batch: int, size: int) -> Tensor:
        return rl.zeros(self.num_layers * self._directions, batch, size, dtype=like.dtype)

    def _initial_states(self, like: Tensor, batch: int) -> Any:
        return self._zeros(like, batch, self.hidden_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Output and last states of a batch, one sequence or a PackedSequence."""
        packed = input if isinstance(input, PackedSequence) else None
        data = input if packed is None else packed.data
        if packed is None and data.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} needs an input of 2 or 3 dimensions, not {data.ndim}"
            )
        if data.shape[-1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__} needs inputs of size {self.input_size}, not "
                f"{data.shape[-1]}"
            )
        single = packed is None and data.ndim == 2
        if single:
            data = data.unsqueeze(0 if self.batch_first else 1)
        sizes = None if packed is None else packed.batch_sizes.tolist()
        batch = sizes[0] if sizes is not None else data.shape[0 if self.batch_first else 1]
        if hx is None:
            hx = self._initial_states(data, batch)
        else:
            hx = self._arranged(hx, single, None if packed is None else packed.sorted_indices)
        function: Callable[..., Any] = getattr(rl, _FUNCTIONS[self.mode])
        output, *states = function(
            data,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first and packed is None,
            batch_sizes=sizes,
        )
        last: Any = tuple(states) if len(states) > 1 else states[0]
        last = self._arranged(last, False, None if packed is None else packed.unsorted_indices)
        if packed is not None:
            return packed._replace(data=output), last
        if single:
            squeezed = _each(last, lambda state: state.squeeze(1))
            return output.squeeze(0 if self.batch_first else 1), squeezed
        return output, last

    @staticmethod
    def _arranged(hx: Any, single: bool, order: Tensor | None) -> Any:
        """States with a batch dimension, in the order of a packed batch."""
        if single:
            hx = _each(hx, lambda state: state.unsqueeze(1))
        if order is not None:
            hx = _each(hx, lambda state: state.index_select(1, order))
        return hx

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts += [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        return ", ".join(parts)


def _each(states: Any, function: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(states, tuple | list):
        return tuple(function(state) for state in states)
    return function(states)


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh) over a sequence; Elman, 1990.

    Args:
        input_size, hidden_size: sizes of x and h.
        num_layers: how many layers stand on each other.
        nonlinearity: "tanh" or "relu".
        batch_first: the batch is the first dimension instead of the time.
        dropout: between layers, while training.
        bidirectional: also go from the end to the start.

    `forward(input, h0)`: input (time, batch, input_size), (time, input_size) or a
    PackedSequence; h0 (layers * directions, batch, hidden_size), zeros by default. Returns the
    outputs of the last layer at all times, and the last states of all layers.

    >>> import relume as rl
    >>> output, last = RNN(3, 4)(rl.randn(7, 2, 3))
    >>> output.shape, last.shape
    ((7, 2, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over a sequence; Hochreiter and Schmidhuber, 1997.

    Args:
        proj_size: project the output of every layer to this size; others as of RNN.

    `forward(input, (h0, c0))` returns the outputs and the pair of last states and cells.

    >>> import relume as rl
    >>> output, (h, c) = LSTM(3, 4, num_layers=2, bidirectional=True)(rl.randn(7, 2, 3))
    >>> output.shape, h.shape, c.shape
    ((7, 2, 8), (4, 2, 4), (4, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def _initial_states(self, like: Tensor, batch: int) -> Any:
        h0 = self._zeros(like, batch, self.proj_size or self.hidden_size)
        return h0, self._zeros(like, batch, self.hidden_size)


class GRU(RNNBase):
    """Gated recurrent units over a sequence; Cho et al., 2014. Arguments as of RNN.

    >>> import relume as rl
    >>> output, last = GRU(3, 4, batch_first=True)(rl.randn(2, 7, 3))
    >>> output.shape, last.shape
    ((2, 7, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )


class RNNCellBase(Module):
    """What the cells share: parameters weight_ih, weight_hh, bias_ih and bias_hh."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = new_parameter((gates, input_size), device, dtype)
        self.weight_hh = new_parameter((gates, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            value = new_parameter((gates,), device, dtype) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters: uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _state(self, input: Tensor) -> Tensor:
        """The state before the first step."""
        return rl.zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias=False"


class RNNCell(RNNCellBase):
    """One step of RNN: `forward(input, hx)` gives the next state.

    >>> import relume as rl
    >>> RNNCell(3, 4)(rl.randn(2, 3)).shape
    (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        step = rl.rnn_tanh_cell if self.nonlinearity == "tanh" else rl.rnn_relu_cell
        return step(input, self._state(input) if hx is None else hx, *self._weights())

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of LSTM: `forward(input, (h, c))` gives the next pair.

    >>> import relume as rl
    >>> h, c = LSTMCell(3, 4)(rl.randn(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        if hx is None:
            zeros = self._state(input)
            hx = (zeros, zeros)
        return rl.lstm_cell(input, hx, *self._weights())


class GRUCell(RNNCellBase):
    """One step of GRU: `forward(input, hx)` gives the next state.

    >>> import relume as rl
    >>> GRUCell(3, 4)(rl.randn(2, 3)).shape
    (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return rl.gru_cell(input, self._state(input) if hx is None else hx, *self._weights())
