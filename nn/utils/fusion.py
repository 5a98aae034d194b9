"""Joining a layer with the batch normalisation that follows, for inference."""

from __future__ import annotations

import copy
from typing import Any

import relume as rl
from relume import Tensor
from relume.nn.parameter import Parameter


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that also normalises.

    Args:
        conv_w, conv_b: of the convolution; bn_rm, bn_rv: running mean and variance of the norm.
        bn_eps, bn_w, bn_b: of the norm.
        transpose: the weight is that of a transposed convolution.
    """
    if conv_b is None:
        conv_b = rl.zeros_like(bn_rm)
    scale = rl.rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    bias = (conv_b - bn_rm) * scale
    if bn_b is not None:
        bias = bias + bn_b
    return (
        Parameter((conv_w * scale.reshape(shape)).detach(), conv_w.requires_grad),
        Parameter(bias.detach(), conv_b.requires_grad),
    )


def _fused(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise ValueError("only layers in evaluation mode can be fused: call eval() first")
    if bn.running_mean is None:
        raise ValueError("the batch norm tracks no running statistics")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        layer.weight,
        layer.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does the work of a convolution and a batch norm, both in eval mode.

    >>> import relume as rl
    >>> from relume import nn
    >>> conv, norm = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
    >>> x = rl.ones(1, 3, 5, 5)
    >>> rl.allclose(fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5)
    True
    """
    return _fused(conv, bn, transpose or conv.transposed)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does the work of a linear layer and a batch norm, both in eval mode."""
    return _fused(linear, bn, transpose=False)
