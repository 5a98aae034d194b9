"""Attention with several heads, for weights that are given."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume._C import Tensor
from relume.nn.functional.activation import softmax
from relume.nn.functional.dropout import dropout


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Every query looks at all keys in several ways at once; Vaswani et al., 2017.

    Args:
        query, key, value: (length, batch, size), or (length, size).
        embed_dim_to_check: the size of queries and of the output.
        in_proj_weight: (3 * size, size), for queries, keys and values below one another; with
            use_separate_proj_weight the three of q_proj_weight, k_proj_weight, v_proj_weight.
        in_proj_bias: (3 * size,).
        bias_k, bias_v: (1, 1, size), one more key and value.
        add_zero_attn: one more key and value of zeros.
        out_proj_weight, out_proj_bias: (size, size) and (size,), of the last product.
        key_padding_mask: (batch, keys), True (or -inf) for keys that do not count.
        attn_mask: (queries, keys) or (batch * heads, queries, keys), True for what may not be
            looked at, or numbers that are added.
        static_k, static_v: (batch * heads, keys, size / heads), in place of projected ones.
        need_weights: also return the weights, averaged over heads unless average_attn_weights is
            False; without them it is faster.

    Returns:
        The output, of the query's shape, and the weights (batch, queries, keys) or None.

    >>> x = rl.randn(5, 3, 8)
    >>> output, weights = multi_head_attention_forward(
    ...     x, x, x, 8, 2, rl.randn(24, 8), None, None, None, False, 0.0, rl.eye(8), None
    ... )
    >>> output.shape, weights.shape
    ((5, 3, 8), (3, 5, 5))
    """
    single = query.ndim == 2
    if query.ndim not in (2, 3) or query.shape[-1] != embed_dim_to_check:
        raise ValueError(
            f"queries must have 2 or 3 dimensions, the last of size {embed_dim_to_check}, not "
            f"shape {query.shape}"
        )
    if is_causal and attn_mask is None:
        raise ValueError("is_causal says that attn_mask is causal: give attn_mask too")
    if embed_dim_to_check % num_heads:
        raise ValueError(f"{num_heads} heads do not divide a size of {embed_dim_to_check}")
    # Batch first from here on; one tensor given three times stays one, which projects at once.
    same = query is key is value
    query = query.unsqueeze(0) if single else query.transpose(0, 1)
    key = query if same else key.unsqueeze(0) if single else key.transpose(0, 1)
    value = query if same else value.unsqueeze(0) if single else value.transpose(0, 1)
    batch, queries, size = query.shape
    matrices = (
        (q_proj_weight, k_proj_weight, v_proj_weight)
        if use_separate_proj_weight
        else in_proj_weight
    )
    q, k, v = _projected((query, key, value), matrices, in_proj_bias)
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = rl.cat([k, bias_k.expand(batch, 1, size)], 1)
        v = rl.cat([v, bias_v.expand(batch, 1, size)], 1)
        extra += 1
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    k, v = (
        own if given is None else given.reshape(batch, num_heads, *given.shape[1:])
        for own, given in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        zeros = rl.zeros(batch, num_heads, 1, size // num_heads, dtype=q.dtype)
        k, v = rl.cat([k, zeros], 2), rl.cat([v, zeros], 2)
        extra += 1
    if single and key_padding_mask is not None:
        key_padding_mask = key_padding_mask.unsqueeze(0)
    mask = _mask(batch, num_heads, key_padding_mask, attn_mask, extra, q.dtype)
    probability = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q * (1 / math.sqrt(size // num_heads))) @ k.transpose(-2, -1)
        weights = softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, probability) if probability else weights
        heads = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights.squeeze(0) if single else weights
    else:
        heads = rl.scaled_dot_product_attention(q, k, v, mask, probability)
    joined = heads.transpose(1, 2).reshape(batch, queries, size)
    output = rl.linear(joined, out_proj_weight, out_proj_bias)
    return output.squeeze(0) if single else output.transpose(0, 1), weights


def _projected(
    inputs: tuple[Tensor, ...], matrices: Any, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Queries, keys and values times their matrices: three, or one for all."""
    if isinstance(matrices, Tensor):
        if inputs[0] is inputs[1] is inputs[2]:
            return tuple(rl.linear(inputs[0], matrices, bias).chunk(3, -1))
        matrices = matrices.chunk(3)
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return tuple(map(rl.linear, inputs, matrices, biases))


def _heads(tensor: Tensor, count: int) -> Tensor:
    """(batch, length, size) as (batch, heads, length, size / heads)."""
    batch, length, size = tensor.shape
    return tensor.reshape(batch, length, count, size // count).transpose(1, 2)


def _mask(
    batch: int,
    heads: int,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    extra: int,
    dtype: Any,
) -> Tensor | None:
    """One mask of numbers to add, which broadcasts to (batch, heads, queries, keys)."""
    masks = []
    if attn_mask is not None:
        mask = additive_mask(attn_mask, dtype)
        masks.append(mask.reshape(batch, heads, *mask.shape[1:]) if mask.ndim == 3 else mask)
    if key_padding_mask is not None:
        masks.append(additive_mask(key_padding_mask, dtype)[:, None, None, :])
    if not masks:
        return None
    mask = masks[0] if len(masks) == 1 else masks[0] + masks[1]
    return rl.pad(mask, (0, extra)) if extra else mask


def additive_mask(mask: Tensor, dtype: Any) -> Tensor:
    """A mask of numbers to add: minus infinity for True.

    >>> additive_mask(rl.tensor([True, False]), rl.float32)
    tensor([-inf,   0.])
    """
    if mask.dtype is not rl.bool_:
        return mask.to(dtype)
    return rl.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)
