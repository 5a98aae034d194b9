"""Layers that take tuples."""

import torch
from torch import nn

from relume.converters.pytorch.helpers.shapes import sample_dim


def flattened(x):
    """All tensors of nested tuples, in one flat tuple."""
    if not isinstance(x, (tuple, list)):
        return (x,)
    return tuple(tensor for part in x for tensor in flattened(part))


def matching(value, like):
    """A value in the shape of another one with as many elements; numbers stay."""
    is_pair = isinstance(value, torch.Tensor) and isinstance(like, torch.Tensor)
    return value.reshape(like.shape) if is_pair else value


class Add(nn.Module):
    """The sum of the elements of a tuple."""

    def forward(self, x):
        total = x[0]
        for value in x[1:]:
            total = total + matching(value, total)
        return total


class Multiply(nn.Module):
    """The product of the elements of a tuple."""

    def forward(self, x):
        product = x[0]
        for value in x[1:]:
            product = product * matching(value, product)
        return product


class Largest(nn.Module):
    """The largest of the elements of a tuple, place by place."""

    def forward(self, x):
        largest = x[0]
        for value in x[1:]:
            largest = torch.where(value > largest, value, largest)
        return largest


class Smallest(nn.Module):
    """The smallest of the elements of a tuple, place by place."""

    def forward(self, x):
        smallest = x[0]
        for value in x[1:]:
            smallest = torch.where(value < smallest, value, smallest)
        return smallest


class Join(nn.Module):
    """Joins the elements of a tuple along a dimension of one sample."""

    def __init__(self, dim, sample_dims):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        return torch.cat(x, sample_dim(x[0], self.dim, self.sample_dims))


class Split(nn.Module):
    """The slices of a tensor along a dimension of one sample, as a tuple."""

    def __init__(self, dim, sample_dims):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        return x.unbind(sample_dim(x, self.dim, self.sample_dims))


class Mixture(nn.Module):
    """Mixes experts by a gater: (gater, experts)."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        gater, experts = x
        dim = gater.dim() - 1
        if isinstance(experts, (tuple, list)):
            experts = torch.stack(tuple(experts), dim)
        elif self.dim is not None:
            dim = self.dim
        shape = [1] * experts.dim()
        shape[dim] = gater.shape[-1]
        if gater.dim() == 2:
            shape[0] = gater.shape[0]
        return (experts * gater.reshape(shape)).sum(dim)


class MapElements(nn.Module):
    """Applies one layer to every element of a tuple."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return tuple(self.layer(value) for value in x)
