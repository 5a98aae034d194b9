"""Layers with weights, and layers that measure distances."""

import torch
import torch.nn.functional as F
from torch import nn


class Bias(nn.Module):
    """Adds a learned vector to every sample, or one learned number."""

    def __init__(self, size):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        size = self.bias.numel()
        if size == 1:
            return x + self.bias
        if x.numel() == size:
            return x + self.bias.reshape(x.shape)
        return (x.reshape(x.shape[0], -1) + self.bias).reshape(x.shape)


def matched(x, weight):
    """`x` and a weight per element of a sample in shapes that combine."""
    if x.dim() == weight.dim():
        return x, weight
    if x.numel() == weight.numel():
        return x, weight.reshape(x.shape)
    return x.reshape(x.shape[0], -1), weight.reshape(1, -1)


class Scale(nn.Module):
    """Multiplies every element of a sample by a learned number; size 1 is repeated."""

    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))

    def forward(self, x):
        values, weight = matched(x, self.weight)
        return (values * weight).reshape(x.shape)


class Shift(nn.Module):
    """Adds a learned number to every element of a sample; size 1 is repeated."""

    def __init__(self, *shape):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        values, bias = matched(x, self.bias)
        return (values + bias).reshape(x.shape)


class Constant(nn.Module):
    """Always the same tensor, once per sample of a batch."""

    def __init__(self, *shape, sample_dims=None):
        super().__init__()
        self.sample_dims = sample_dims
        self.register_buffer("value", torch.zeros(shape))

    def forward(self, x):
        if self.sample_dims and x.dim() > self.sample_dims:
            return self.value.expand(x.shape[0], *self.value.shape)
        return self.value


class Embedding(nn.Embedding):
    """Rows of a matrix by their numbers, which count from 1."""

    def forward(self, x):
        return super().forward(x.long() - 1)


class MaskedEmbedding(nn.Embedding):
    """Rows of a matrix by their numbers; 0 stands for zeros."""

    def forward(self, x):
        x = x.long()
        return super().forward(x) * (x != 0).unsqueeze(-1)


class PartialLinear(nn.Linear):
    """A linear layer that computes only some of its outputs."""

    def __init__(self, in_features, out_features, count, bias=True):
        super().__init__(in_features, out_features, bias)
        self.register_buffer("outputs", torch.zeros(count, dtype=torch.long))

    def forward(self, x):
        bias = None if self.bias is None else self.bias[self.outputs]
        return F.linear(x, self.weight[self.outputs], bias)


class SparseLinear(nn.Module):
    """A linear layer for rows (index from 1, value), one sample or a batch or tuple of
    them."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        if isinstance(x, torch.Tensor) and x.dim() == 2:
            return self.weight[:, x[:, 0].long() - 1] @ x[:, 1] + self.bias
        return torch.stack([self(sample) for sample in x])


class IndexLinear(nn.Module):
    """A linear layer for sparse vectors: (indices, values), of one sample or tuples of
    several, or (all indices, all values, counts). Indices count from `first`."""

    def __init__(self, in_features, out_features, first=1):
        super().__init__()
        self.first = first
        self.weight = nn.Parameter(torch.zeros(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        indices, values = x[0], x[1]
        if len(x) == 3:
            counts = x[2].tolist()
            indices, values = indices.split(counts), values.split(counts)
        if isinstance(indices, torch.Tensor):
            return values @ self.weight[indices.long() - self.first] + self.bias
        pairs = zip(indices, values, strict=True)
        return torch.stack([self(pair) for pair in pairs])


class Normalize(nn.Module):
    """Divides vectors by their p-norm."""

    def __init__(self, p=2.0, eps=1e-10):
        super().__init__()
        self.p = p
        self.eps = eps

    def forward(self, x):
        if self.p == float("inf"):
            return x / (x.abs().max(-1, keepdim=True).values + self.eps)
        sums = (x.abs() ** self.p).sum(-1, keepdim=True)
        return x / (sums + self.eps) ** (1 / self.p)


class Cosine(nn.Module):
    """The cosines of the input with learned vectors."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out_features, in_features))

    def forward(self, x):
        lengths = x.square().sum(-1, keepdim=True).sqrt() + 1e-12
        weight_lengths = self.weight.square().sum(1).sqrt() + 1e-12
        return F.linear(x, self.weight) / lengths / weight_lengths


class Root(torch.autograd.Function):
    """The root of order p; its derivative is taken at the root plus `eps`, so it is
    finite."""

    @staticmethod
    def forward(ctx, sums, p, eps):
        value = sums ** (1 / p)
        ctx.save_for_backward(value)
        ctx.p, ctx.eps = p, eps
        return value

    @staticmethod
    def backward(ctx, gradient):
        (value,) = ctx.saved_tensors
        return gradient / (ctx.p * (value + ctx.eps) ** (ctx.p - 1)), None, None


class Euclidean(nn.Module):
    """The distances of the input from learned points."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(in_features, out_features))

    def forward(self, x):
        return Root.apply((x.unsqueeze(-1) - self.weight).square().sum(-2), 2, 1e-7)


class WeightedEuclidean(nn.Module):
    """The distances of the input from learned points, with learned scales."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(in_features, out_features))
        self.scales = nn.Parameter(torch.ones(in_features, out_features))

    def forward(self, x):
        difference = (x.unsqueeze(-1) - self.weight) * self.scales
        return Root.apply(difference.square().sum(-2), 2, 1e-7)


class CosineDistance(nn.Module):
    """The cosine of the two vectors in a tuple (or of the rows of two batches)."""

    def forward(self, x):
        a, b = (value if value.dim() == 2 else value.unsqueeze(0) for value in x)
        lengths = (a.square().sum(1) + 1e-12) * (b.square().sum(1) + 1e-12)
        return (a * b).sum(1) / lengths.sqrt()


class PairwiseDistance(nn.Module):
    """The p-norm of the difference of the two vectors in a tuple (or of rows)."""

    def __init__(self, p=2.0):
        super().__init__()
        self.p = p

    def forward(self, x):
        a, b = (value if value.dim() == 2 else value.unsqueeze(0) for value in x)
        difference = (a - b).abs()
        if self.p == 1:
            return difference.sum(1)
        return Root.apply((difference**self.p).sum(1), self.p, 1e-6)


class Bilinear(nn.Bilinear):
    """x1 weight x2 + bias, for a tuple (x1, x2)."""

    def forward(self, x):
        return super().forward(*x)


class WeightNorm(nn.Module):
    """A layer whose weight is g * v / |v|, row by row; `dim` of the weight counts the
    rows."""

    def __init__(self, layer, dim=0, eps=1e-4):
        super().__init__()
        self.layer = layer
        self.dim = dim
        self.eps = eps
        weight = layer.weight.detach()
        rows = weight.shape[dim]
        del layer.weight
        layer.register_buffer("weight", weight, persistent=False)
        self.v = nn.Parameter(torch.ones(rows, weight.numel() // rows))
        self.g = nn.Parameter(torch.ones(rows, 1))

    def forward(self, x):
        norm = (self.v.square().sum(1, keepdim=True) + self.eps).sqrt()
        shape = self.layer.weight.transpose(0, self.dim).shape
        weight = (self.v * (self.g / norm)).reshape(shape).transpose(0, self.dim)
        return torch.func.functional_call(self.layer, {"weight": weight}, (x,))


class Multiplier(nn.Module):
    """Multiplies by one learned number."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.weight


class LayerNorm(nn.Module):
    """Normalises samples by the mean and the deviation of their elements, as
    nn.LayerNormalization does: element k of a batch of N, in order, has the mean of
    sample k % N subtracted."""

    def __init__(self, size, eps=1e-10, affine=True):
        super().__init__()
        self.size = size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size)) if affine else None
        self.bias = nn.Parameter(torch.zeros(size)) if affine else None

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True).reshape(-1).repeat(self.size).reshape(x.shape)
        norm = (x.square().sum(-1, keepdim=True) + self.eps).sqrt()
        x = x / norm * self.size**0.5
        return x if self.weight is None else x * self.weight + self.bias
