"""Layers over planes, volumes and sequences of frames."""

import torch
import torch.nn.functional as F
from torch import nn


class SoftMax(nn.Module):
    """Softmax along dimension 0 of inputs with an odd number of dimensions, 1 of
    others."""

    def forward(self, x):
        return x.softmax(1 - x.dim() % 2)


class LogSoftMax(nn.Module):
    """The logarithm of SoftMax."""

    def forward(self, x):
        return x.log_softmax(1 - x.dim() % 2)


class SoftMin(nn.Module):
    """Softmax of -x, along dimension 0 of inputs with an odd number of dimensions."""

    def forward(self, x):
        return (-x).softmax(1 - x.dim() % 2)


class WholeSoftMax(nn.Module):
    """Softmax over all elements of a sample; `log` for its logarithm."""

    def __init__(self, log=False):
        super().__init__()
        self.log = log

    def forward(self, x):
        first = 1 - x.dim() % 2
        rows = x.flatten(first)
        y = rows.log_softmax(first) if self.log else rows.softmax(first)
        return y.reshape(x.shape)


class SingleSampleNorm:
    """Batch normalisation that takes single samples too; a single number per feature,
    which has no variance, is normalised by the running values."""

    def forward(self, x):
        x = x.unsqueeze(0) if x.dim() < self.dims else x
        if x.numel() > self.num_features or not self.training:
            return super().forward(x)
        self.eval()
        y = super().forward(x)
        self.train()
        return y


class BatchNorm1d(SingleSampleNorm, nn.BatchNorm1d):
    """Batch normalisation of vectors; a single vector is a batch of one."""

    dims = 2


class BatchNorm2d(SingleSampleNorm, nn.BatchNorm2d):
    """Batch normalisation of planes; a single sample is a batch of one."""

    dims = 4


class BatchNorm3d(SingleSampleNorm, nn.BatchNorm3d):
    """Batch normalisation of volumes; a single sample is a batch of one."""

    dims = 5


class SumPool2d(nn.AvgPool2d):
    """The sum of the elements under a window, divided as asked for and multiplied
    again."""

    def forward(self, x):
        high, wide = self.kernel_size
        return super().forward(x) * (high * wide)


class CropOrPad2d(nn.Module):
    """Zeros around planes; negative numbers crop. Left, right, top, bottom."""

    def __init__(self, left, right, top, bottom, value=0.0):
        super().__init__()
        self.sides = (left, right, top, bottom)
        self.value = value

    def forward(self, x):
        return F.pad(x, self.sides, value=self.value)


class RepeatUpsample(nn.Module):
    """Repeats the elements of planes, of one sample or of a batch."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        x = x.repeat_interleave(self.factor, -2)
        return x.repeat_interleave(self.factor, -1)


def linear_resize(x, dim, size):
    """Linear interpolation along a dimension; corners stay corners. The places are
    numbers of 32 bits, as in the old library."""
    scale = torch.tensor((x.shape[dim] - 1) / (size - 1) if size > 1 else 0.0)
    places = torch.arange(size, device=x.device) * scale.to(x.device)
    low = places.long()
    high = (low + 1).clamp(max=x.shape[dim] - 1)
    shape = [1] * x.dim()
    shape[dim] = size
    weight = (places - low).to(x.dtype).reshape(shape)
    return x.index_select(dim, low) * (1 - weight) + x.index_select(dim, high) * weight


class LinearUpsample(nn.Module):
    """Interpolates the last dimensions, all but the batch and the planes (or just the
    planes), to a size, or to a size that grows by a factor. Corners stay corners."""

    def __init__(self, factor=None, size=None, dims=None):
        super().__init__()
        self.factor = factor
        self.size = size
        self.dims = dims

    def forward(self, x):
        dims = self.dims or x.dim() - 2
        for dim in range(-dims, 0):
            size = self.size[dim] if self.size else int(x.shape[dim] * self.factor)
            x = linear_resize(x, dim, size)
        return x


class UpsampleAny(nn.Module):
    """Enlarges planes (inputs of up to four dimensions) or volumes (of five)."""

    def __init__(self, factor=None, size=None):
        super().__init__()
        self.factor = factor
        self.size = size

    def forward(self, x):
        dims = min(x.dim() - 2, 3)
        size = self.size[-dims:] if self.size else None
        size = size or [int(n * self.factor) for n in x.shape[-dims:]]
        return F.interpolate(x, size=size)


class ConvTranspose(nn.Module):
    """A transposed convolution; given a tuple (x, target), its output has the target's
    size."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        if isinstance(x, tuple):
            x, target = x
            dims = len(self.layer.kernel_size)
            return self.layer(x, output_size=target.shape[-dims:])
        return self.layer(x)


class FrameConv(nn.Module):
    """Convolution over frames: the input is (batch x) time x features."""

    def __init__(self, in_features, out_features, kernel_size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv1d(
            in_features,
            out_features,
            kernel_size,
            stride,
            padding,
        )

    def forward(self, x):
        return self.conv(x.transpose(-1, -2)).transpose(-1, -2)


class RowConv(nn.Module):
    """Convolution over frames, every feature on its own."""

    def __init__(
        self, features, kernel_size, stride=1, features_first=False, bias=True
    ):
        super().__init__()
        self.features_first = features_first
        self.conv = nn.Conv1d(
            features,
            features,
            kernel_size,
            stride,
            groups=features,
            bias=bias,
        )

    def forward(self, x):
        if self.features_first:
            return self.conv(x)
        return self.conv(x.transpose(-1, -2)).transpose(-1, -2)


class FrameSubsampling(nn.Module):
    """The sum under a window of frames, times a learned number per feature, plus
    another."""

    def __init__(self, features, kernel_size, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        sums = x.unfold(-2, self.kernel_size, self.stride).sum(-1)
        return sums * self.weight + self.bias


class FrameMaxPool(nn.Module):
    """The largest element of each feature under a window of frames."""

    def __init__(self, kernel_size, stride):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size, stride)

    def forward(self, x):
        return self.pool(x.transpose(-1, -2)).transpose(-1, -2)


class DynamicKMaxPool(nn.Module):
    """The largest elements of each feature, in their order, as many as the length asks
    for."""

    def __init__(self, smallest, factor):
        super().__init__()
        self.smallest = smallest
        self.factor = factor

    def forward(self, x):
        count = max(self.smallest, int(-(-x.shape[-2] * self.factor // 1)))
        places = x.topk(count, dim=-2).indices.sort(-2).values
        return x.gather(-2, places)


class FeatureLPPool(nn.Module):
    """The p-norm of neighbouring features."""

    def __init__(self, width, stride, power, batch=False):
        super().__init__()
        self.width = width
        self.stride = stride
        self.power = power
        self.batch = batch

    def forward(self, x):
        sums = (x**self.power).unfold(int(self.batch), self.width, self.stride).sum(-1)
        empty = sums == 0
        return torch.where(empty, 0, torch.where(empty, 1, sums) ** (1 / self.power))


class SubSampling(nn.Module):
    """The sum under a window, times a learned number per plane, plus another."""

    def __init__(self, planes, kernel_size, stride):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.weight = nn.Parameter(torch.ones(planes))
        self.bias = nn.Parameter(torch.zeros(planes))

    def forward(self, x):
        sums = F.avg_pool2d(x, self.kernel_size, self.stride, divisor_override=1)
        return sums * self.weight[:, None, None] + self.bias[:, None, None]


class MappedConv2d(nn.Module):
    """Convolution that connects only some pairs (input plane, output plane), one kernel
    each."""

    def __init__(self, inputs, outputs, kernel_size, pairs, stride=1, transposed=False):
        super().__init__()
        self.planes = (inputs, outputs) if transposed else (outputs, inputs)
        self.stride = stride
        self.transposed = transposed
        self.register_buffer("connections", torch.zeros(pairs, 2, dtype=torch.long))
        self.weight = nn.Parameter(torch.zeros(pairs, *kernel_size))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        kernels = self.weight.new_zeros(*self.planes, *self.weight.shape[1:])
        sources, targets = self.connections.unbind(1)
        places = (sources, targets) if self.transposed else (targets, sources)
        kernels = kernels.index_put(places, self.weight, accumulate=True)
        if self.transposed:
            return F.conv_transpose2d(x, kernels, self.bias, self.stride)
        return F.conv2d(x, kernels, self.bias, self.stride)


class LocalConv2d(nn.Module):
    """Convolution with kernels of its own at every place."""

    def __init__(self, planes, size, kernel_size, stride, padding, bias=True):
        super().__init__()
        inputs, outputs = planes
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.weight = nn.Parameter(torch.zeros(*size, outputs, inputs, *kernel_size))
        self.bias = nn.Parameter(torch.zeros(outputs, *size)) if bias else None

    def forward(self, x):
        high, wide = self.padding
        x = F.pad(x, (wide, wide, high, high))
        windows = x.unfold(-2, self.kernel_size[0], self.stride[0])
        windows = windows.unfold(-2, self.kernel_size[1], self.stride[1])
        y = torch.einsum("...ihwkl,hwoikl->...ohw", windows, self.weight)
        return y if self.bias is None else y + self.bias


class MaxPoolWithIndices(nn.Module):
    """Max pooling that remembers where it took elements from."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool
        self.pool.return_indices = True
        self.indices = None
        self.size = None

    def forward(self, x):
        x, self.indices, self.size = *self.pool(x), x.shape
        return x


class LocalResponseNorm(nn.Module):
    """Divides by (k + alpha / size * sum of squares of neighbouring planes) ** beta; of
    an even size the smaller half stands before a plane."""

    def __init__(self, size, alpha, beta, k):
        super().__init__()
        self.norm = nn.LocalResponseNorm(size, alpha, beta, k)

    def forward(self, x):
        even = self.norm.size % 2 == 0
        planes = x.flip(-3) if even else x
        batch = planes if x.dim() == 4 else planes.unsqueeze(0)
        y = self.norm(batch).reshape(x.shape)
        return y.flip(-3) if even else y


def neighbourhood_mean(x, kernel):
    """The weighted mean over a neighbourhood of all planes, on every plane."""
    planes = x.shape[-3]
    high, wide = kernel.shape[-2:]
    batch = x if x.dim() == 4 else x.unsqueeze(0)
    weight = kernel.expand(1, planes, high, wide)
    return F.conv2d(F.pad(batch, (wide // 2, wide // 2, high // 2, high // 2)), weight)


class SubtractiveNorm(nn.Module):
    """Subtracts the weighted mean over the neighbourhood of every element."""

    def __init__(self, kernel_size):
        super().__init__()
        self.register_buffer("kernel", torch.zeros(kernel_size))

    def forward(self, x):
        weights = neighbourhood_mean(torch.ones_like(x), self.kernel)
        mean = neighbourhood_mean(x, self.kernel) / weights
        return (x - mean).reshape(x.shape)


class DivisiveNorm(nn.Module):
    """Divides by the weighted deviation over the neighbourhood of every element."""

    def __init__(self, kernel_size, threshold, value):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.register_buffer("kernel", torch.zeros(kernel_size))
        self.register_buffer("mean_kernel", torch.zeros(kernel_size))

    def forward(self, x):
        weights = neighbourhood_mean(torch.ones_like(x), self.mean_kernel)
        squares = neighbourhood_mean(x.square(), self.kernel)
        zero = squares == 0
        deviation = torch.where(zero, 0, torch.where(zero, 1, squares).sqrt()) / weights
        return (x / F.threshold(deviation, self.threshold, self.value)).reshape(x.shape)


class DepthConcat(nn.Module):
    """Joins planes of different sizes, with zeros around the smaller ones."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, values):
        dims = [d for d in range(values[0].dim()) if d != self.dim]
        sizes = {d: max(x.shape[d] for x in values) for d in dims}
        padded = []
        for x in values:
            sides = [0] * (2 * x.dim())
            for d in dims:
                before = (sizes[d] - x.shape[d]) // 2
                after = sizes[d] - x.shape[d] - before
                sides[2 * (x.dim() - 1 - d)] = before
                sides[2 * (x.dim() - 1 - d) + 1] = after
            padded.append(F.pad(x, sides))
        return torch.cat(padded, self.dim)


class MaxUnpool(nn.Module):
    """Puts elements back to where a pooling layer took them from, zeros elsewhere."""

    def __init__(self, dims):
        super().__init__()
        self.dims = dims
        self.pool = None  # set by the network around it

    def forward(self, x):
        size = self.pool.size[-self.dims :]
        y = x.new_zeros(*x.shape[: -self.dims], size.numel())
        y = y.scatter(-1, self.pool.indices.flatten(-self.dims), x.flatten(-self.dims))
        return y.reshape(*x.shape[: -self.dims], *size)
