"""Layers that give back their input and change its gradient."""

import torch
from torch import nn


class GradientReversal(nn.Module):
    """Gives back its input, and -factor times the gradient."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * -self.factor + (x * (1 + self.factor)).detach()


class ZeroFunction(torch.autograd.Function):
    """The identity, with a gradient of zero."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0


class ZeroGrad(nn.Module):
    """Gives back its input, and a gradient of zero."""

    def forward(self, x):
        return ZeroFunction.apply(x)


class PenaltyFunction(torch.autograd.Function):
    """The identity; its gradient gets that of a 1-norm added, or replaced by it."""

    @staticmethod
    def forward(ctx, x, weight, keep):
        ctx.save_for_backward(x)
        ctx.weight, ctx.keep = weight, keep
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        penalty = x.sign() * ctx.weight
        return (gradient + penalty if ctx.keep else penalty), None, None


class L1Penalty(nn.Module):
    """Gives back its input; the gradient of its 1-norm is added on the way back."""

    def __init__(self, weight, average=False, keep_gradient=True):
        super().__init__()
        self.weight = weight
        self.average = average
        self.keep_gradient = keep_gradient

    def forward(self, x):
        weight = self.weight / x.numel() if self.average else self.weight
        return PenaltyFunction.apply(x, weight, self.keep_gradient)
