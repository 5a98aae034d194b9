"""A whole translation model, from the tables of a checkpoint."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.models.opennmt.encoders import (
    CNNEncoder,
    DBiEncoder,
    GoogleEncoder,
    PDBiEncoder,
    StackedEncoders,
)
from relume.legacy_nn.models.opennmt.networks import BOS, EOS
from relume.legacy_nn.models.opennmt.sequencers import BiEncoder, Decoder, Encoder
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

# Encoders by what they are made of: a network, two encoders, or a list of encoders.
OF_NETWORKS: dict[str, Any] = {"Encoder": Encoder, "CNNEncoder": CNNEncoder}
OF_PAIRS: dict[str, Any] = {"BiEncoder": BiEncoder, "GoogleEncoder": GoogleEncoder}
OF_LISTS: dict[str, Any] = {"PDBiEncoder": PDBiEncoder, "DBiEncoder": DBiEncoder}


def load_encoder(saved: Any) -> Any:
    """An encoder from what a checkpoint holds: a table of its modules, or the encoder itself."""
    if isinstance(saved, (Encoder, BiEncoder, StackedEncoders)):
        return saved
    modules, args = nested.elements(saved["modules"]), saved.get("args")
    name = saved.get("name") or ("BiEncoder" if len(modules) == 2 else "Encoder")
    if name in OF_NETWORKS:
        return OF_NETWORKS[name](modules[0], args)
    if name not in OF_PAIRS and name not in OF_LISTS:
        raise ValueError(f"onmt.Seq2Seq: there is no encoder called {name!r}")
    parts = [load_encoder(part) for part in modules]
    return OF_PAIRS[name](*parts, args) if name in OF_PAIRS else OF_LISTS[name](parts, args)


def load_decoder(saved: Any) -> Any:
    """A decoder from what a checkpoint holds."""
    if isinstance(saved, Decoder):
        return saved
    network, generator = nested.elements(saved["modules"])[:2]
    return Decoder(network, generator, saved["args"])


@register("onmt.Seq2Seq")
class Seq2Seq(Taped):
    """A translation model: {source words, target words} (steps x batch each) to the
    log-probabilities of the words that follow the target's, a table with one entry per step.

    Args:
        models: of a checkpoint, a table with `encoder` and `decoder` (and `bridge`).

    >>> import relume as rl
    >>> checkpoint = rl.load("model.t7")                            # doctest: +SKIP
    >>> model = nn.onmt.Seq2Seq(checkpoint.models)                  # doctest: +SKIP
    >>> model.translate(rl.tensor([[5], [9], [7]]))                 # doctest: +SKIP
    [[12, 8]]
    """

    models: Any

    def __init__(self, models: Any) -> None:
        super().__init__()
        self.models = Table()
        self.models["encoder"] = load_encoder(models["encoder"])
        self.models["decoder"] = load_decoder(models["decoder"])
        if models.get("bridge") is not None:
            self.models["bridge"] = models["bridge"]
        self.modules = list(self.models.values())

    def children(self) -> list[Any]:
        return list(self.models.values())

    def _encode(self, source: Any, sizes: Any = None) -> tuple[list[Tensor], Tensor]:
        states, context = self.models["encoder"].encode(source, sizes)
        bridge = self.models.get("bridge")
        if bridge is not None:
            bridged = bridge(states)
            zeros = self.models["decoder"]._zeros(states[0].shape[0])
            states = zeros if bridged is None else nested.elements(bridged)
        return states, context

    def compute(self, input: Activation) -> Activation:
        source, target = nested.elements(input)[:2]
        states, context = self._encode(source)
        decoder = self.models["decoder"]
        outputs = decoder.compute([target, nested.table(states), context])
        return nested.table([decoder.generator(output) for output in nested.elements(outputs)])

    def translate(self, source: Tensor, sizes: Any = None, max_length: int = 100) -> list[list]:
        """Translates sentences, word by likeliest word.

        Args:
            source: numbers of the words, steps x batch, padded on the left.
            sizes: lengths of the sentences where they differ.
            max_length: of a translation.

        Returns:
            Per sentence the numbers of the words, without its start and end.
        """
        decoder, samples = self.models["decoder"], source.shape[1]
        with rl.no_grad():
            if sizes is not None:
                self.models["encoder"].maskPadding()
                decoder.maskPadding(sizes, source.shape[0])
            states, context = self._encode(source, sizes)
            words, output = rl.full((samples,), BOS, dtype=rl.int64), None
            columns = []
            for _ in range(max_length):
                output, states = decoder.step(words, states, context, output)
                scores = nested.elements(decoder.generator(output))[0]
                words = scores.argmax(1) + 1
                columns.append(words.tolist())
                if all(EOS in row for row in zip(*columns, strict=True)):
                    break
        rows = [list(row) for row in zip(*columns, strict=True)]
        return [row[: row.index(EOS)] if EOS in row else row for row in rows]
