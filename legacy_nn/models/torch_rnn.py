"""torch-rnn (jcjohnson/torch-rnn): recurrent layers over whole sequences, and its language model.

Its `nn.LSTM` is another class than the one of the rnn package; files tell them apart by a field.
"""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register, register_variant
from relume.legacy_nn.shape_layers import View
from relume.legacy_nn.types import new_empty, new_parameter


class SequenceLayer(Module):
    """The base of the recurrent layers: batch x steps x inputs to batch x steps x states.

    The input may be a table whose last element is the sequence and whose others are the first
    states, batch x states each. With `remember_states` a sequence begins where the last one ended.
    """

    gates = 1
    state_names: tuple[str, ...] = ("h0",)  # in the order in which the input has them
    remember_states = False

    input_dim: int
    hidden_dim: int

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.input_dim, self.hidden_dim = input_dim, hidden_dim
        shape = (input_dim + hidden_dim, self.gates * hidden_dim)
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.bias = new_parameter(shape[1])
        self.gradBias = new_parameter(shape[1])
        self.reset()
        for name in self.state_names:
            self.__dict__[name] = new_empty()
        self.remember_states = False

    def reset(self, std: float | None = None) -> None:
        std = 1 / math.sqrt(self.hidden_dim + self.input_dim) if std is None else std
        with rl.no_grad():
            self.bias.zero_()
            self.weight.normal_(0, std)

    def resetStates(self) -> None:
        """Lets the next sequence begin with zeros."""
        for name in self.state_names:
            self.__dict__[name] = new_empty(self.__dict__.get("_type"))

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        given, sequence = self._unpack(input)
        states = self._first_states(given, sequence)
        for name, state in zip(self.state_names, states, strict=True):
            self.__dict__[name] = state.detach()
        output, last = self._run(sequence, states, weight, bias)
        if self.remember_states:
            self._remember(output.detach(), last)
        return output

    def recompute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        given, sequence = self._unpack(input)
        states = given or [self.__dict__[name] for name in self.state_names]
        missing = [self.__dict__[name] for name in self.state_names[: -len(states) or None]]
        if len(states) < len(self.state_names):
            states = missing + states
        return self._run(sequence, states, weight, bias)[0]

    def _unpack(self, input: Activation) -> tuple[list[Tensor], Tensor]:
        """The first states that the input brings, and the sequence."""
        *given, sequence = nested.elements(input) if nested.is_table(input) else [input]
        size = self.input_dim
        is_sequence = isinstance(sequence, Tensor) and sequence.ndim == 3
        if not is_sequence or sequence.shape[2] != size or len(given) > len(self.state_names):
            raise ValueError(
                f"{self}: expected batch x steps x {size}, perhaps in a table behind "
                f"{' and '.join(self.state_names)}, got {nested.describe(input)}"
            )
        return given, sequence

    def _first_states(self, given: list[Tensor], sequence: Tensor) -> list[Tensor]:
        states = []
        for name in self.state_names[: len(self.state_names) - len(given)]:
            states.append(self._remembered(name, sequence))
        return states + given

    def _remembered(self, name: str, sequence: Tensor) -> Tensor:
        before = self.__dict__.get(name)
        shape = (sequence.shape[0], self.hidden_dim)
        if not self.remember_states or before is None or before.numel() == 0:
            return rl.zeros(shape, dtype=sequence.dtype)
        last = self._last(name)
        if tuple(last.shape) != shape:
            raise ValueError(
                f"{self}: it remembers the states of {last.shape[0]} samples, and the input has "
                f"{shape[0]}; resetStates() forgets them"
            )
        return last

    # ---- what each kind says ----

    def _run(self, sequence: Tensor, states: list, weight: Tensor, bias: Tensor) -> tuple:
        """The states of all steps, and the last ones."""
        raise NotImplementedError

    def _last(self, name: str) -> Tensor:
        """The state at the end of the last sequence."""
        return self.output.select(1, self.output.shape[1] - 1)

    def _remember(self, output: Tensor, last: Any) -> None:
        self.output = output

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.input_dim} -> {self.hidden_dim})"


def of_gates(weight: Tensor, bias: Tensor, order: list[int], inputs: int) -> list[Tensor]:
    """torch-rnn's weights as the op wants them: transposed, gates in another order, and parts for
    the input and the state; the second bias is zero."""
    hidden = bias.numel() // len(order)
    places = rl.tensor(order, dtype=rl.int64)
    rows = weight.shape[0]
    gates = weight.reshape((rows, len(order), hidden)).index_select(1, places)
    matrix = gates.reshape((rows, len(order) * hidden)).transpose(0, 1)
    own_bias = bias.reshape((len(order), hidden)).index_select(0, places).reshape((-1,))
    return [
        matrix.narrow(1, 0, inputs),
        matrix.narrow(1, inputs, rows - inputs),
        own_bias,
        rl.zeros_like(own_bias.detach()),
    ]


@register_variant("nn.LSTM", field="hidden_dim")
class LSTM(SequenceLayer):
    """torch-rnn's LSTM.

    Args:
        input_dim: size of the input of a step.
        hidden_dim: size of the state.

    The input is a sequence, {h0, sequence} or {c0, h0, sequence}.

    >>> import relume as rl
    >>> from relume.legacy_nn.models.torch_rnn import LSTM
    >>> LSTM(3, 4).forward(rl.zeros(2, 5, 3, dtype=rl.float64)).shape
    (2, 5, 4)
    """

    gates = 4
    state_names = ("c0", "h0")
    ORDER = [0, 1, 3, 2]  # its gates are input, forget, output, candidate
    buffer_names = ("cell", "gates", "buffer1", "buffer2", "buffer3", "grad_a_buffer")

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        self.cell = new_empty()

    def reset(self, std: float | None = None) -> None:
        super().reset(std)
        with rl.no_grad():
            self.bias.narrow(0, self.hidden_dim, self.hidden_dim).fill_(1)

    def _run(self, sequence: Tensor, states: list, weight: Tensor, bias: Tensor) -> tuple:
        cell, hidden = (state.unsqueeze(0) for state in states)
        parameters = of_gates(weight, bias, self.ORDER, int(self.input_dim))
        output, _, last_cell = rl.lstm(
            sequence, [hidden, cell], parameters, True, 1, 0.0, False, False, True
        )
        return output, last_cell

    def _last(self, name: str) -> Tensor:
        source = self.cell if name == "c0" else self.output
        return source.select(1, source.shape[1] - 1)

    def _remember(self, output: Tensor, last: Any) -> None:
        self.output = output
        self.cell = last.detach().transpose(0, 1)


@register("nn.VanillaRNN")
class VanillaRNN(SequenceLayer):
    """torch-rnn's recurrent layer with states between -1 and 1.

    Args:
        input_dim: size of the input of a step.
        hidden_dim: size of the state.

    The input is a sequence or {h0, sequence}.
    """

    def _run(self, sequence: Tensor, states: list, weight: Tensor, bias: Tensor) -> tuple:
        parameters = of_gates(weight, bias, [0], int(self.input_dim))
        hidden = states[0].unsqueeze(0)
        output, _ = rl.rnn_tanh(sequence, hidden, parameters, True, 1, 0.0, False, False, True)
        return output, None

    def __str__(self) -> str:
        return self.torch_typename


@register("nn.LanguageModel")
class LanguageModel(Holder):
    """torch-rnn's model of text: scores for the next character of every character.

    Args:
        idx_to_token: the characters, by number from 1.
        model_type: "lstm" or "rnn".
        wordvec_size: length of the vector of a character.
        rnn_size: size of the states.
        num_layers: of recurrent layers.
        dropout: probability, or 0 for no dropout.

    >>> import relume as rl
    >>> from relume.legacy_nn.models.torch_rnn import LanguageModel
    >>> model = LanguageModel(["a", "b"], rnn_size=5)
    >>> model.forward(rl.tensor([[1, 2, 1]])).shape
    (1, 3, 2)
    >>> len(model.sample(length=10, start_text="ab"))
    10
    """

    def __init__(
        self,
        idx_to_token: Any,
        model_type: str = "lstm",
        wordvec_size: int = 64,
        rnn_size: int = 128,
        num_layers: int = 1,
        dropout: float = 0,
    ) -> None:
        super().__init__()
        del self.modules
        tokens = nested.elements(idx_to_token)
        self.idx_to_token = nested.table(tokens)
        self.token_to_idx = {token: place for place, token in enumerate(tokens, 1)}
        self.vocab_size = len(tokens)
        self.model_type, self.wordvec_dim, self.rnn_size = model_type, wordvec_size, rnn_size
        self.num_layers, self.dropout = num_layers, dropout
        self.net = make("Sequential").add(make("LookupTable", self.vocab_size, wordvec_size))
        self.rnns = []
        cls = {"lstm": LSTM, "rnn": VanillaRNN}[model_type]
        for layer in range(num_layers):
            rnn = cls(rnn_size if layer else wordvec_size, rnn_size)
            rnn.remember_states = True
            self.rnns.append(rnn)
            self.net.add(rnn)
            if dropout > 0:
                self.net.add(make("Dropout", dropout))
        self.view1 = View(1, 1, -1).setNumInputDims(3)
        self.view2 = View(1, -1).setNumInputDims(2)
        self.net.add(self.view1).add(make("Linear", rnn_size, self.vocab_size)).add(self.view2)

    def _fit_views(self, input: Tensor) -> None:
        if not isinstance(input, Tensor) or input.ndim != 2:
            raise ValueError(f"{self}: expected batch x steps, got {nested.describe(input)}")
        samples, steps = input.shape
        self.view1.resetSize(samples * steps, -1)
        self.view2.resetSize(samples, steps, -1)

    def compute(self, input: Tensor) -> Tensor:
        self._fit_views(input)
        return super().compute(input)

    def updateOutput(self, input: Tensor) -> Tensor:
        self._fit_views(input)
        return super().updateOutput(input)

    def resetStates(self) -> None:
        """Lets the next text begin with zeros."""
        for rnn in nested.elements(self.rnns):
            rnn.resetStates()

    def encode_string(self, text: str) -> Tensor:
        """The numbers of the characters of a text (int64)."""
        numbers = []
        for character in text:
            number = self.token_to_idx.get(character)
            if number is None:
                raise ValueError(f"{self}: the model does not know the character {character!r}")
            numbers.append(int(number))
        return rl.tensor(numbers, dtype=rl.int64)

    def decode_string(self, encoded: Tensor) -> str:
        """The text for a vector of numbers."""
        return "".join(self.idx_to_token[int(number)] for number in encoded.tolist())

    def sample(
        self, length: int = 100, start_text: str = "", sample: int = 1, temperature: float = 1
    ) -> str:
        """Continues a text.

        Args:
            length: of the text, with its beginning.
            start_text: its beginning.
            sample: 1 to draw characters, 0 to take the likeliest ones.
            temperature: above 1 more surprising, below 1 less.
        """
        self.resetStates()
        numbers = self.encode_string(start_text).tolist()[:length]
        with rl.no_grad():
            if numbers:
                scores = self.forward(rl.tensor([numbers]))[0, -1]
            else:
                scores = rl.ones(self.vocab_size, dtype=self.net.get(1).weight.dtype)
            while len(numbers) < length:
                numbers.append(next_number(scores, sample, temperature))
                scores = self.forward(rl.tensor([[numbers[-1]]]))[0, -1]
        self.resetStates()
        return self.decode_string(rl.tensor(numbers))


def next_number(scores: Tensor, sample: int, temperature: float) -> int:
    """The number of a character, drawn or chosen by scores."""
    if sample == 0:
        return int(scores.argmax().item()) + 1
    likelihoods = (scores / temperature).to(rl.float64).exp()
    return int(rl.multinomial(likelihoods / likelihoods.sum(), 1).item()) + 1


@register("nn.TemporalAdapter")
class TemporalAdapter(Holder):
    """Lets a layer of batches of vectors see batches of sequences: samples x steps x features.

    Args:
        module: the layer.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.TemporalAdapter(nn.Linear(3, 2)).forward(rl.ones(4, 5, 3, dtype=rl.float64)).shape
    (4, 5, 2)
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        del self.modules
        self.view_in = View(1, -1).setNumInputDims(3)
        self.view_out = View(1, -1).setNumInputDims(2)
        self.net = make("Sequential").add(self.view_in).add(module).add(self.view_out)

    def _fit(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 3:
            raise ValueError(
                f"{self}: expected samples x steps x features, got {nested.describe(input)}"
            )
        samples, steps = input.shape[:2]
        self.view_in.resetSize(samples * steps, -1)
        self.view_out.resetSize(samples, steps, -1)
        return input

    def compute(self, input: Tensor) -> Tensor:
        return super().compute(self._fit(input))

    def updateOutput(self, input: Tensor) -> Tensor:
        return super().updateOutput(self._fit(input))


@register("nn.TemporalCrossEntropyCriterion")
class TemporalCrossEntropyCriterion(Criterion):
    """The cross entropy of scores (samples x steps x classes) with labels from 1 (samples x steps);
    steps with the label 0 do not count.

    The fields `batch_average` (True) and `time_average` (False) say what is averaged.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> criterion, labels = nn.TemporalCrossEntropyCriterion(), rl.tensor([[2, 0]])
    >>> round(criterion.forward(rl.zeros(1, 2, 4, dtype=rl.float64), labels), 6)
    1.386294
    """

    batch_average = True
    time_average = False

    def __init__(self) -> None:
        super().__init__()
        self.batch_average, self.time_average = True, False

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        is_right = isinstance(input, Tensor) and input.ndim == 3 and isinstance(target, Tensor)
        if not is_right or tuple(target.shape) != tuple(input.shape[:2]):
            raise ValueError(
                f"{self}: expected scores samples x steps x classes and labels samples x steps, "
                f"got {nested.describe(input)} and {nested.describe(target)}"
            )
        samples, steps, classes = input.shape
        labels = target.to(rl.int64)
        counted = labels != 0
        places = from_one(self, labels.masked_fill(labels == 0, 1), classes)
        chosen = rl.log_softmax(input, 2).gather(2, places.unsqueeze(2)).squeeze(2)
        total = -(chosen * counted.to(input.dtype)).sum()
        divisor = (samples if self.batch_average else 1) * (steps if self.time_average else 1)
        return total / divisor
