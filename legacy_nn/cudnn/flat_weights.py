"""The one flat vector in which cudnn keeps all weights of a recurrent network.

First come the matrices of all layers, then the biases of all layers. A layer of a bidirectional
network is two: one per direction. Within a layer, what multiplies its input comes before what
multiplies its state; each has one matrix (or bias) per gate, in cudnn's order of gates.
"""

from __future__ import annotations

from dataclasses import dataclass

import relume as rl
from relume import Tensor


@dataclass(frozen=True)
class FlatWeights:
    """The shape of a recurrent network, which says what is where in the vector.

    Attributes:
        inputs: size of an input.
        hidden: size of the state.
        layers, directions: how many; 2 directions in a bidirectional network.
        gates: matrices per layer and source: 4 of an LSTM, 3 of a GRU, 1 of a plain one.
        skips_input: the first layer adds its input as it is, and has no matrices for it.

    >>> from relume.legacy_nn.cudnn.flat_weights import FlatWeights
    >>> FlatWeights(10, 20, 1, 1, 4, False).count()
    2560
    """

    inputs: int
    hidden: int
    layers: int
    directions: int
    gates: int
    skips_input: bool

    def count(self) -> int:
        """How many numbers there are in the vector."""
        return sum(self._matrix_sizes()) + sum(self._bias_sizes())

    def is_first(self, layer: int) -> bool:
        """Does a layer (from 0, both directions counted) get the input of the network?"""
        return layer < self.directions

    def columns(self, layer: int) -> int:
        """Size of what a layer gets."""
        return self.inputs if self.is_first(layer) else self.hidden * self.directions

    def _matrix_sizes(self) -> list[int]:
        sizes = []
        for layer in range(self.layers * self.directions):
            is_skipped = self.skips_input and self.is_first(layer)
            rows = self.gates * self.hidden
            sizes += [0 if is_skipped else rows * self.columns(layer), rows * self.hidden]
        return sizes

    def _bias_sizes(self) -> list[int]:
        return [self.gates * self.hidden] * (2 * self.layers * self.directions)

    def unpack(self, flat: Tensor) -> list[Tensor]:
        """Per layer: matrix for the input, matrix for the state, and the two biases, each with
        its gates below one another; on the tape when `flat` is."""
        parts = rl.split(flat, [*self._matrix_sizes(), *self._bias_sizes()], 0)
        pairs = 2 * self.layers * self.directions
        result = []
        for layer in range(pairs // 2):
            of_input, of_state = parts[2 * layer], parts[2 * layer + 1]
            biases = parts[pairs + 2 * layer : pairs + 2 * layer + 2]
            rows = self.gates * self.hidden
            result += [
                of_input.reshape((rows, self.columns(layer)))
                if of_input.numel()
                else self._identities(flat),
                of_state.reshape((rows, self.hidden)),
                *biases,
            ]
        return result

    def _identities(self, flat: Tensor) -> Tensor:
        """In the place of matrices that are skipped: every gate gets the input as it is."""
        return rl.cat([rl.eye(self.hidden, dtype=flat.dtype)] * self.gates, 0)

    def matrices(self, flat: Tensor) -> list[list[Tensor]]:
        """Per layer and matrix a vector that is a view of `flat`."""
        return self._views(flat, self._matrix_sizes(), 0)

    def biases(self, flat: Tensor) -> list[list[Tensor]]:
        """Per layer and bias a vector that is a view of `flat`."""
        return self._views(flat, self._bias_sizes(), sum(self._matrix_sizes()))

    def _views(self, flat: Tensor, sizes: list[int], start: int) -> list[list[Tensor]]:
        flat = flat.detach()
        layers: list[list[Tensor]] = [[] for _ in range(self.layers * self.directions)]
        for place, size in enumerate(sizes):
            for _ in range(self.gates):
                layers[place // 2].append(flat.narrow(0, start, size // self.gates))
                start += size // self.gates
        return layers
