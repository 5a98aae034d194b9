"""OpenNMT's attentions: {state, context} to what matters of the context, as graphs."""

from __future__ import annotations

from typing import Any

from relume.legacy_nn.composite import make
from relume.legacy_nn.gmodule import gModule
from relume.legacy_nn.models.opennmt.networks import JoinReplicateTable, Network
from relume.legacy_nn.registry import register


def mixed(context: Any, state: Any, dim: int) -> Any:
    """tanh(W [context, state])."""
    joined = make("JoinTable", 2)([context, state])
    return make("Tanh")(make("Linear", dim * 2, dim, False)(joined))


@register("onmt.GlobalAttention")
class GlobalAttention(Network):
    """{state, context (batch x steps x size)} to the context that matters to the state (Luong,
    Pham and Manning 2015, "Effective approaches to attention-based translation").

    Args:
        opt: a dict with `global_attention`: "general" (the default), "dot" or "concat".
        dim: size of states and context; the one argument of older versions.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer, double = nn.onmt.GlobalAttention({}, 4), dict(dtype=rl.float64)
    >>> layer.forward([rl.ones(2, 4, **double), rl.ones(2, 7, 4, **double)]).shape
    (2, 4)
    """

    def __init__(self, opt: Any, dim: int | None = None) -> None:
        if dim is None:
            opt, dim = {}, opt
        kind = (opt or {}).get("global_attention") or "general"
        if kind not in ("general", "dot", "concat"):
            raise ValueError(
                f"{self.torch_typename}: global_attention is 'general', 'dot' or 'concat', "
                f"not {kind!r}"
            )
        assert dim is not None
        state, context = make("Identity")(), make("Identity")()
        weights = make("SoftMax")
        weights.name = "softmaxAttn"
        attention = weights(make("Squeeze", 3)(self._scores(kind, state, context, dim)))
        summed = make("MM")([make("Replicate", 1, 2)(attention), context])
        output = mixed(make("Squeeze", 2)(summed), state, dim)
        super().__init__(gModule([state, context], [output]))
        self.args = {"global_attention": kind}

    def _scores(self, kind: str, state: Any, context: Any, dim: int) -> Any:
        """How much every step matters: batch x steps x 1."""
        if kind == "concat":
            pairs = JoinReplicateTable(2, 3)([make("Replicate", 1, 2)(state), context])
            hidden = make("Bottle", make("Linear", dim * 2, dim, False), 2)(pairs)
            return make("Bottle", make("Linear", dim, 1), 2)(make("Tanh")(hidden))
        target = make("Linear", dim, dim, False)(state) if kind == "general" else state
        return make("MM")([context, make("Replicate", 1, 3)(target)])


@register("onmt.NoAttention")
class NoAttention(Network):
    """{state, context} to a mixture of the state and the end of the context.

    Args:
        opt: unused.
        dim: size of states and context.
    """

    def __init__(self, opt: Any, dim: int) -> None:
        state, context = make("Identity")(), make("Identity")()
        last = make("Select", 2, -1)(context)
        super().__init__(gModule([state, context], [mixed(last, state, dim)]))
