"""Layers that move elements around. Dimensions count from 0."""

import math

import torch
from torch import nn


def sample_dim(x, dim, sample_dims=None):
    """A dimension of one sample as one of `x`, which may be a batch of samples."""
    if dim < 0 or sample_dims is None or x.dim() != sample_dims + 1:
        return dim
    return dim + 1


class Reshape(nn.Module):
    """The input in another shape. `batch` says whether the first dimension is a batch;
    by default it is one unless the input has the elements of just one sample."""

    def __init__(self, *shape, batch=None):
        super().__init__()
        self.shape = shape
        self.batch = batch

    def forward(self, x):
        batch = self.batch
        if batch is None:
            batch = x.numel() != math.prod(self.shape) or x.shape[0] == 1
        return x.reshape(x.shape[0], *self.shape) if batch else x.reshape(self.shape)


class View(nn.Module):
    """The input as samples of a shape; more elements than one sample needs make a
    batch."""

    def __init__(self, *shape, sample_dims=None):
        super().__init__()
        self.shape = shape
        self.sample_dims = sample_dims

    def forward(self, x):
        dims = self.sample_dims or x.dim()
        first = max(0, x.dim() - dims)
        count = math.prod(x.shape[:first])
        if -1 not in self.shape:
            count *= math.prod(x.shape[first:]) // math.prod(self.shape)
        if count == 1 and x.dim() <= dims:
            return x.reshape(self.shape)
        return x.reshape(count, *self.shape)


class Transpose(nn.Module):
    """Swaps pairs of dimensions, one pair after the other."""

    def __init__(self, *pairs, sample_dims=None):
        super().__init__()
        self.pairs = pairs
        self.sample_dims = sample_dims

    def forward(self, x):
        for first, second in self.pairs:
            first = sample_dim(x, first, self.sample_dims)
            second = sample_dim(x, second, self.sample_dims)
            x = x.transpose(first, second)
        return x.contiguous()


class Contiguous(nn.Module):
    """The input, contiguous in memory."""

    def forward(self, x):
        return x.contiguous()


class Squeeze(nn.Module):
    """Drops dimensions of size 1: one, or all of a sample."""

    def __init__(self, dim=None, sample_dims=None):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        if self.dim is not None:
            dim = sample_dim(x, self.dim, self.sample_dims)
            x = x.squeeze(dim) if dim < x.dim() else x
        else:
            batch = self.sample_dims is not None and x.dim() == self.sample_dims + 1
            kept = [n for i, n in enumerate(x.shape) if n != 1 or (i == 0 and batch)]
            x = x.reshape(kept)
        return x if x.dim() else x.reshape(1)


class Unsqueeze(nn.Module):
    """Puts in a dimension of size 1."""

    def __init__(self, dim, sample_dims=None):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        dims = x.dim() if self.sample_dims is None else self.sample_dims
        dim = self.dim if self.dim >= 0 else dims + 1 + self.dim
        return x.unsqueeze(dim + x.dim() - dims)


class Replicate(nn.Module):
    """Repeats the input along a new dimension."""

    def __init__(self, count, dim=0, sample_dims=None):
        super().__init__()
        self.count = count
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        dim = self.dim if self.dim >= 0 else x.dim() + 1 + self.dim
        if self.sample_dims is not None:
            dim += x.dim() - self.sample_dims
        shape = [*x.shape[:dim], self.count, *x.shape[dim:]]
        return x.unsqueeze(dim).expand(shape)


class Select(nn.Module):
    """One slice of the input."""

    def __init__(self, dim, index):
        super().__init__()
        self.dim = dim
        self.index = index

    def forward(self, x):
        x = x.select(self.dim, self.index)
        return x if x.dim() else x.reshape(1)


class Narrow(nn.Module):
    """The slices from `start` to before `end` along a dimension."""

    def __init__(self, dim, start, end):
        super().__init__()
        self.dim = dim
        self.start = start
        self.end = end

    def forward(self, x):
        start, end, _ = slice(self.start, self.end).indices(x.shape[self.dim])
        return x.narrow(self.dim, start, end - start)


class Padding(nn.Module):
    """Puts constant slices into the input, `offset` slices from its start, or from its
    end where that is `at_end`."""

    def __init__(self, dim, count, at_end, offset=0, value=0.0, sample_dims=None):
        super().__init__()
        self.dim = dim
        self.count = count
        self.at_end = at_end
        self.offset = offset
        self.value = value
        self.sample_dims = sample_dims

    def forward(self, x):
        dim = self.dim if self.dim >= 0 else x.dim() + self.dim
        if self.sample_dims and x.dim() != self.sample_dims:
            dim += 1
        size = x.shape[dim]
        place = size - self.offset if self.at_end else self.offset
        shape = [*x.shape[:dim], self.count, *x.shape[dim + 1 :]]
        filling = x.new_full(shape, self.value)
        before, after = x.narrow(dim, 0, place), x.narrow(dim, place, size - place)
        return torch.cat((before, filling, after), dim)


class Collapse(nn.Module):
    """Makes one dimension of the last ones."""

    def __init__(self, sample_dims):
        super().__init__()
        self.sample_dims = sample_dims

    def forward(self, x):
        return x.reshape(*x.shape[: x.dim() - self.sample_dims], -1)


class Sum(nn.Module):
    """The sum, or the mean, along a dimension."""

    def __init__(self, dim, sample_dims=None, average=False, keepdim=False):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims
        self.average = average
        self.keepdim = keepdim

    def forward(self, x):
        dim = sample_dim(x, self.dim, self.sample_dims)
        reduce = x.mean if self.average else x.sum
        total = reduce(dim, keepdim=self.keepdim)
        return total if total.dim() else total.reshape(1)


class Max(nn.Module):
    """The largest elements along a dimension."""

    def __init__(self, dim, sample_dims=None):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        x = x.max(sample_dim(x, self.dim, self.sample_dims)).values
        return x if x.dim() else x.reshape(1)


class Min(nn.Module):
    """The smallest elements along a dimension."""

    def __init__(self, dim, sample_dims=None):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims

    def forward(self, x):
        x = x.min(sample_dim(x, self.dim, self.sample_dims)).values
        return x if x.dim() else x.reshape(1)


class Permute(nn.Module):
    """Dimensions in another order; an input with one less has no batch dimension."""

    def __init__(self, order, batch_dim, new_batch_dim):
        super().__init__()
        self.order = order
        self.batch_dim = batch_dim
        self.new_batch_dim = new_batch_dim

    def forward(self, x):
        if x.dim() == len(self.order):
            return x.permute(self.order)
        x = x.unsqueeze(self.batch_dim).permute(self.order)
        return x.squeeze(self.new_batch_dim)


class FlattenSamples(nn.Module):
    """One row per sample; an input with one dimension less than `dims` is one
    sample."""

    def __init__(self, dims, batch_dim):
        super().__init__()
        self.dims = dims
        self.batch_dim = batch_dim

    def forward(self, x):
        if 0 < self.dims == x.dim() + 1:
            return x.reshape(-1)
        x = x.transpose(0, self.batch_dim)
        return x.reshape(x.shape[0], -1)


class OnePerSample(nn.Module):
    """The only number of every sample."""

    def __init__(self, batch_dim):
        super().__init__()
        self.batch_dim = batch_dim

    def forward(self, x):
        return x.select(1 - self.batch_dim, 0) if x.dim() == 2 else x.squeeze()


class OneHot(nn.Module):
    """Indices (from 1) as vectors that are 1 at the index and 0 elsewhere."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.register_buffer("like", torch.zeros(()), persistent=False)

    def forward(self, x):
        x = torch.as_tensor(x).long() - 1
        return nn.functional.one_hot(x, self.size).to(self.like.dtype)


class Bottle(nn.Module):
    """Lets a layer see inputs with more dimensions, by making one of the first ones."""

    def __init__(self, layer, dims=2):
        super().__init__()
        self.layer = layer
        self.dims = dims

    def forward(self, x):
        extra = x.dim() - self.dims
        if extra <= 0:
            return self.layer(x)
        y = self.layer(x.flatten(0, extra))
        return y.reshape(*x.shape[: extra + 1], *y.shape[1:])


class ToType(nn.Module):
    """The input as numbers of another type."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        return x.to(getattr(torch, self.name))


class CastAround(nn.Module):
    """A layer with numbers of a type of its own."""

    def __init__(self, layer, cast_output=True):
        super().__init__()
        self.layer = layer
        self.cast_output = cast_output

    def forward(self, x):
        y = self.layer(x.to(next(self.layer.parameters()).dtype))
        return y.to(x.dtype) if self.cast_output else y
