"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.nn import functional as F
from relume.nn import init
from relume.nn.linear import Linear
from relume.nn.module import Module
from relume.nn.parameter import Parameter, new_parameter


class NonDynamicallyQuantizableLinear(Linear):
    """The linear layer at the end of attention, under the name that PyTorch prints."""


class MultiheadAttention(Module):
    """Every query looks at all keys in several ways at once; Vaswani et al., 2017.

    Args:
        embed_dim: size of queries and outputs; a multiple of num_heads.
        dropout: probability with which a weight is dropped while training.
        bias: add biases to the projections.
        add_bias_kv: add a learned key and value; add_zero_attn: add a key and value of zeros.
        kdim, vdim: sizes of keys and values, by default embed_dim.
        batch_first: inputs are (batch, length, size) instead of (length, batch, size).

    `forward(query, key, value, key_padding_mask, need_weights, attn_mask,
    average_attn_weights, is_causal)`:
        key_padding_mask: (batch, keys), True (or -inf) for keys that do not count.
        attn_mask: (queries, keys) or (batch * heads, queries, keys), True for what may not be
            looked at, or numbers that are added.
        need_weights: also return the weights, averaged over heads unless average_attn_weights is
            False; without them it is faster.

    Returns:
        The output, of the query's shape, and the weights (batch, queries, keys) or None.

    >>> import relume as rl
    >>> attention = MultiheadAttention(8, 2, batch_first=True)
    >>> x = rl.randn(3, 5, 8)
    >>> y, weights = attention(x, x, x)
    >>> y.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be a positive multiple of num_heads, they are {embed_dim} and "
                f"{num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        same = self._qkv_same_embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        for name, shape in shapes.items():
            value = None if shape is None else new_parameter(shape, device, dtype)
            self.register_parameter(name, value)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            value = new_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
            self.register_parameter(name, value)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if query.ndim == 3 and self.batch_first:
            same = query is key is value
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = query if same else value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if output.ndim == 3 and self.batch_first:
            output = output.transpose(0, 1)
        return output, weights
