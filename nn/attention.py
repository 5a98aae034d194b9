"""Attention with several heads."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
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
        single = query.ndim == 2
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if query.ndim != 3 or query.shape[-1] != self.embed_dim:
            raise ValueError(
                f"queries must have 2 or 3 dimensions, the last of size {self.embed_dim}, not "
                f"shape {query.shape}"
            )
        if is_causal and attn_mask is None:
            raise ValueError("is_causal says that attn_mask is causal: give attn_mask too")
        output, weights = self._attend(query, key, value, key_padding_mask, attn_mask, need_weights)
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights.squeeze(0) if single else weights
        if single:
            return output.squeeze(0), weights
        return (output if self.batch_first else output.transpose(0, 1)), weights

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """All (batch, length, size); weights (batch, heads, queries, keys)."""
        batch, queries, _ = query.shape
        q, k, v = self._projected(query, key, value)
        extra = 0
        if self.bias_k is not None and self.bias_v is not None:
            k, v = self._with_row(k, self.bias_k), self._with_row(v, self.bias_v)
            extra += 1
        q, k, v = (self._heads(x) for x in (q, k, v))
        if self.add_zero_attn:
            zeros = rl.zeros(batch, self.num_heads, 1, self.head_dim, dtype=q.dtype)
            k, v = rl.cat([k, zeros], 2), rl.cat([v, zeros], 2)
            extra += 1
        mask = self._mask(batch, key_padding_mask, attn_mask, extra, q.dtype)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q * (1 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, -1)
            if dropout:
                weights = F.dropout(weights, dropout)
            heads = weights @ v
        else:
            heads = F.scaled_dot_product_attention(q, k, v, mask, dropout)
        joined = heads.transpose(1, 2).reshape(batch, queries, self.embed_dim)
        return self.out_proj(joined), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        bias = self.in_proj_bias
        if self.in_proj_weight is not None and query is key is value:
            return tuple(F.linear(query, self.in_proj_weight, bias).chunk(3, -1))
        if self.in_proj_weight is not None:
            matrices = self.in_proj_weight.chunk(3)
        else:
            matrices = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]  # type: ignore[list-item]
        biases = [None] * 3 if bias is None else bias.chunk(3)
        inputs = (query, key, value)
        return tuple(map(F.linear, inputs, matrices, biases))

    def _heads(self, tensor: Tensor) -> Tensor:
        """(batch, length, size) as (batch, heads, length, size / heads)."""
        batch, length, _ = tensor.shape
        return tensor.reshape(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

    def _with_row(self, tensor: Tensor, row: Tensor) -> Tensor:
        return rl.cat([tensor, row.expand(tensor.shape[0], 1, self.embed_dim)], 1)

    def _mask(
        self,
        batch: int,
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
        extra: int,
        dtype: Any,
    ) -> Tensor | None:
        """One mask of numbers to add, which broadcasts to (batch, heads, queries, keys)."""
        masks = []
        if attn_mask is not None:
            mask = additive_mask(attn_mask, dtype)
            if mask.ndim == 3:
                mask = mask.reshape(batch, self.num_heads, *mask.shape[1:])
            masks.append(mask)
        if key_padding_mask is not None:
            masks.append(additive_mask(key_padding_mask, dtype)[:, None, None, :])
        if not masks:
            return None
        mask = masks[0] if len(masks) == 1 else masks[0] + masks[1]
        return F.pad(mask, (0, extra)) if extra else mask


def additive_mask(mask: Tensor, dtype: Any) -> Tensor:
    """A mask of numbers to add: minus infinity for True.

    >>> import relume as rl
    >>> additive_mask(rl.tensor([True, False]), rl.float32)
    tensor([-inf,   0.])
    """
    if mask.dtype is not rl.bool_:
        return mask.to(dtype)
    return rl.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)
