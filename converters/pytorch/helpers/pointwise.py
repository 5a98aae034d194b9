"""Layers that change every element on its own."""

import torch
from torch import nn


class Pointwise(nn.Module):
    """One of torch's functions as a layer."""

    def __init__(self, name, *arguments):
        super().__init__()
        self.name = name
        self.arguments = arguments

    def forward(self, x):
        return getattr(torch, self.name)(x, *self.arguments)


class Sqrt(nn.Module):
    """The square root; its gradient at zero is zero."""

    def forward(self, x):
        zero = x == 0
        return torch.where(zero, x, torch.where(zero, 1, x).sqrt())


class Abs(nn.Module):
    """The absolute value; its gradient at zero is one."""

    def forward(self, x):
        return torch.where(x >= 0, x, -x)


class MulConstant(nn.Module):
    """The input times a number."""

    def __init__(self, constant):
        super().__init__()
        self.constant = constant

    def forward(self, x):
        return x * self.constant


class AddConstant(nn.Module):
    """The input plus a number."""

    def __init__(self, constant):
        super().__init__()
        self.constant = constant

    def forward(self, x):
        return x + self.constant


class MulTensor(nn.Module):
    """The input times a constant tensor."""

    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("constant", torch.zeros(shape))

    def forward(self, x):
        return x * self.constant


class AddTensor(nn.Module):
    """The input plus a constant tensor."""

    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("constant", torch.zeros(shape))

    def forward(self, x):
        return x + self.constant


class PReLU(nn.Module):
    """max(x, 0) + weight * min(x, 0); the weights belong to dimension 0 of inputs with
    an odd number of dimensions, to dimension 1 of others."""

    def __init__(self, num_parameters):
        super().__init__()
        self.weight = nn.Parameter(torch.full((num_parameters,), 0.25))

    def forward(self, x):
        weight = self.weight
        if weight.numel() > 1:
            weight = weight.reshape(-1, *[1] * (x.dim() - 2 + x.dim() % 2))
        return torch.where(x > 0, x, weight * x)


class RReLU(nn.Module):
    """x, times a random slope below zero while training, the middle slope
    afterwards."""

    def __init__(self, lower, upper):
        super().__init__()
        self.lower = lower
        self.upper = upper

    def forward(self, x):
        slope = (self.lower + self.upper) / 2
        if self.training:
            slope = torch.empty_like(x).uniform_(self.lower, self.upper)
        return torch.where(x > 0, x, x * slope)


class OldDropout(nn.Module):
    """Drops elements while training without scaling the others; scales afterwards."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.training:
            return x * torch.empty_like(x).bernoulli_(1 - self.p)
        return x * (1 - self.p)


class SpatialDropout(nn.Module):
    """Drops whole planes while training without scaling the others; scales
    afterwards."""

    def __init__(self, p, plane_dims=2):
        super().__init__()
        self.p = p
        self.plane_dims = plane_dims

    def forward(self, x):
        if not self.training:
            return x * (1 - self.p)
        planes = x.shape[: x.dim() - self.plane_dims]
        noise = x.new_empty(*planes, *[1] * self.plane_dims)
        return x * noise.bernoulli_(1 - self.p)


class AlwaysDropout(nn.Module):
    """Drops elements, in evaluation mode too."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return nn.functional.dropout(x, self.p, training=True)


class WhiteNoise(nn.Module):
    """Adds normal noise while training, its mean afterwards."""

    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean
        self.std = std

    def forward(self, x):
        if self.training:
            return x + torch.empty_like(x).normal_(self.mean, self.std)
        return x + self.mean


class CReLU(nn.Module):
    """ReLU of the input and of its negative, side by side along the features."""

    def __init__(self, sample_dims):
        super().__init__()
        self.sample_dims = sample_dims

    def forward(self, x):
        dim = 1 if x.dim() > self.sample_dims else 0
        return torch.cat((x, -x), dim).relu()


class GatedLinearUnit(nn.Module):
    """One half of the input times the sigmoid of the other."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return nn.functional.glu(x, self.dim)
