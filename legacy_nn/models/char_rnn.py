"""A layer that char-rnn and its many descendants defined in their own code.

Nearly every char-rnn checkpoint holds it, so it is here although no package of Torch has it.
"""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import dtype_of, get_default_tensor_type


@register("OneHot")
class OneHot(Module):
    """Indices (from 1) as vectors that are 1 at the index and 0 elsewhere.

    Args:
        outputSize: length of the vectors.

    >>> import relume as rl
    >>> from relume.legacy_nn.models.char_rnn import OneHot
    >>> OneHot(3).forward(rl.tensor([2, 1])).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    parameter_names = ()
    outputSize: int

    def __init__(self, outputSize: int) -> None:
        super().__init__()
        self.outputSize = outputSize

    def compute(self, input: Tensor) -> Tensor:
        output = self.__dict__.get("output")
        given = self.__dict__.get("_type") or get_default_tensor_type()
        # The type of the last output: files of old versions have no other word of it.
        dtype = output.dtype if isinstance(output, Tensor) else dtype_of(given)
        rows = rl.eye(int(self.outputSize), dtype=dtype)
        return rows.index_select(0, input.detach().to(rl.int64).flatten() - 1)
