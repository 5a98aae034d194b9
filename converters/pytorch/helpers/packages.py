"""Layers of dpnn, nnx, stn and of single projects."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from relume.converters.pytorch.helpers.planes import linear_resize


class ArgMax(nn.Module):
    """The place (from 1) of the largest element along a dimension."""

    def __init__(self, dim, sample_dims, as_long=True):
        super().__init__()
        self.dim = dim
        self.sample_dims = sample_dims
        self.as_long = as_long

    def forward(self, x):
        dim = self.dim + 1 if x.dim() > self.sample_dims else self.dim
        places = x.argmax(dim) + 1
        places = places if places.dim() else places.reshape(1)
        return places if self.as_long else places.to(x.dtype)


class Clip(nn.Module):
    """Keeps elements within bounds; the gradient passes unchanged."""

    def __init__(self, low, high):
        super().__init__()
        self.low = low
        self.high = high

    def forward(self, x):
        return x + (x.clamp(self.low, self.high) - x).detach()


class TotalDropout(nn.Module):
    """Drops the whole input while training."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * float(torch.rand(()) >= self.p) if self.training else x


class PlaneShift(nn.Module):
    """Adds random numbers to the planes of images while training, uniform in
    `ranges`."""

    def __init__(self, planes):
        super().__init__()
        self.register_buffer("ranges", torch.zeros(planes))

    def forward(self, x):
        if not self.training:
            return x
        noise = x.new_empty(*x.shape[:-2]).uniform_(-1, 1) * self.ranges
        return x + noise[..., None, None]


class ColorNoise(nn.Module):
    """Adds noise along the principal components of colours while training."""

    def __init__(self, planes, std):
        super().__init__()
        self.std = std
        self.register_buffer("vectors", torch.zeros(planes, planes))
        self.register_buffer("values", torch.zeros(planes))

    def forward(self, x):
        if not self.training:
            return x
        noise = x.new_empty(*x.shape[:-2]).normal_(0, self.std) * self.values
        return x + (noise @ self.vectors.T)[..., None, None]


class PlaneAffine(nn.Module):
    """(x - mean) / std, one number of each per plane."""

    def __init__(self, planes):
        super().__init__()
        self.register_buffer("mean", torch.zeros(planes))
        self.register_buffer("std", torch.ones(planes))

    def forward(self, x):
        return (x - self.mean[:, None, None]) / self.std[:, None, None]


class FixedAffine(nn.Module):
    """factor * x + shift, one number of each per plane; not learnt."""

    def __init__(self, planes):
        super().__init__()
        self.register_buffer("factor", torch.ones(planes))
        self.register_buffer("shift", torch.zeros(planes))

    def forward(self, x):
        shape = (1, -1, *[1] * (x.dim() - 2))
        return x * self.factor.reshape(shape) + self.shift.reshape(shape)


class MeanSubtraction(nn.Module):
    """Subtracts an image from every image."""

    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))

    def forward(self, x):
        return x - self.mean


class PlaneBias(nn.Module):
    """Adds one learned number to each plane."""

    def __init__(self, planes):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(planes))

    def forward(self, x):
        return x + self.bias[:, None, None]


class RegionDropout(nn.Module):
    """Drops a part of images at one of their sides while training, and scales the
    rest."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        side = int(torch.randint(0, 4, ()))
        dim = -2 if side < 2 else -1
        dropped = int(x.shape[dim] * self.p)
        start = 0 if side in (0, 2) else x.shape[dim] - dropped
        noise = torch.full_like(x, 1 / (1 - self.p))
        noise.narrow(dim, start, dropped).zero_()
        return x * noise


class UniformCrop(nn.Module):
    """A part of every image, at a random place while training, its middle afterwards.
    With `scales` a part is larger by a random factor between these while training."""

    def __init__(self, height, width, scales=None):
        super().__init__()
        self.size = (height, width)
        self.scales = scales

    def forward(self, x):
        if x.dim() == 4:
            return torch.stack([self(image) for image in x])
        factor = 1.0
        if self.scales and self.training:
            factor = float(torch.empty(()).uniform_(*self.scales))
        for dim, size in zip((-2, -1), self.size, strict=True):
            size = math.ceil(size * factor)
            room = x.shape[dim] - size
            start = max(0, math.ceil(room / 2) - 1)
            if self.training:
                start = max(0, math.ceil(float(torch.rand(())) * room) - 1)
            x = x.narrow(dim, start, size)
        if self.scales:
            x = linear_resize(linear_resize(x, -2, self.size[0]), -1, self.size[1])
        return x


class Glimpse(nn.Module):
    """Parts of growing size around a location of images, scaled to one size: (images,
    locations). Locations lie between -1 and 1, down and to the right; each part is
    `factor` times larger than the one before."""

    def __init__(self, height, width, depth, factor=2):
        super().__init__()
        self.size = (height, width)
        self.depth = depth
        self.factor = factor

    def forward(self, x):
        images, locations = x
        if images.dim() == 4:
            return torch.stack(
                [self(pair) for pair in zip(images, locations, strict=True)]
            )
        place = locations.reshape(-1).tolist()
        parts = [self.part(images, place, self.factor**i) for i in range(self.depth)]
        return torch.cat(parts)

    def part(self, image, place, factor):
        sizes = [int(size * factor) for size in self.size]
        above, left = ((size - 1) // 2 for size in sizes)
        image = F.pad(image, (left, left, above, above))
        for dim, size, at in zip((1, 2), sizes, place, strict=True):
            room = image.shape[dim] - size
            start = int(min(room, max(0, (at + 1) / 2 * room)))
            image = image.narrow(dim, start, size)
        if factor == 1:
            return image
        if self.factor == 2:
            return F.avg_pool2d(image, int(factor))
        rows = linear_resize(image, -2, self.size[0])
        return linear_resize(rows, -1, self.size[1])


class BinaryConv2d(nn.Conv2d):
    """A convolution with the signs of its weights times their mean size; the gradients
    are those of the weights themselves, and of signs with a size per input plane."""

    def forward(self, x):
        by_output = self.signs((1, 2, 3))
        weight = by_output + self.weight - self.weight.detach()
        y = self._conv_forward(x.detach(), weight, self.bias)
        slope = self._conv_forward(x, self.signs((0, 2, 3)), None)
        return y + slope - slope.detach()

    def signs(self, dims):
        weight = self.weight.detach()
        return weight.sign() * weight.abs().mean(dims, keepdim=True)


class Draw(torch.autograd.Function):
    """A sample; its gradient is minus the reward times the slope of its
    log-likelihood."""

    @staticmethod
    def forward(ctx, layer, sample, *inputs):
        ctx.layer = layer
        ctx.save_for_backward(sample, *inputs)
        return sample.clone()

    @staticmethod
    def backward(ctx, gradient):
        sample, *inputs = ctx.saved_tensors
        slopes = ctx.layer.slopes(sample, *inputs)
        reward = ctx.layer.reward.to(sample.dtype)
        return (
            None,
            None,
            *(
                -slope * reward.reshape(-1, *[1] * (slope.dim() - 1))
                for slope in slopes
            ),
        )


class Reinforce(nn.Module):
    """The base of layers that draw their output while training. Before the backward
    pass `reward` must be set, one number per sample."""

    reward = None

    def __init__(self, always=False):
        super().__init__()
        self.always = always

    def forward(self, x):
        inputs = x if isinstance(x, (tuple, list)) else (x,)
        if not (self.training or self.always):
            return inputs[0].detach()
        with torch.no_grad():
            sample = self.draw(*inputs)
        return Draw.apply(self, sample, *inputs)


class DrawBernoulli(Reinforce):
    """Ones with the probabilities in the input, else zeros."""

    def draw(self, p):
        return torch.bernoulli(p)

    def slopes(self, sample, p):
        return ((sample - p) / (p * (1 - p)),)


class DrawCategorical(Reinforce):
    """For each row of probabilities a row of zeros with a single one."""

    def draw(self, p):
        return torch.zeros_like(p).scatter(-1, p.multinomial(1), 1.0)

    def slopes(self, sample, p):
        return (sample / (p + 1e-8),)


class DrawNormal(Reinforce):
    """Normal random numbers around the input, or for a tuple (mean, deviation)."""

    def __init__(self, std=None, always=False):
        super().__init__(always)
        self.std = std

    def draw(self, mean, std=None):
        return torch.randn_like(mean) * (self.std if std is None else std) + mean

    def slopes(self, sample, mean, std=None):
        distance = sample - mean
        if std is None:
            return (distance / self.std**2,)
        return distance / std**2, (distance.square() - std.square()) / (std**3 + 1e-8)


class PerPlace(nn.Module):
    """Applies a layer of vectors to the planes at every place of images."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        images = x if x.dim() == 4 else x.unsqueeze(0)
        rows = images.permute(0, 2, 3, 1)
        y = self.layer(rows.reshape(-1, rows.shape[-1]))
        y = y.reshape(*rows.shape[:-1], -1).permute(0, 3, 1, 2)
        return y if x.dim() == 4 else y.squeeze(0)


class LocalNorm(nn.Module):
    """Subtracts the weighted mean around every place and divides by the deviation
    around it; deviations below a threshold (by default their mean) count as that."""

    def __init__(self, *kernel_sizes, threshold=None):
        super().__init__()
        self.threshold = threshold
        for index, size in enumerate(kernel_sizes):
            self.register_buffer(f"kernel{index}", torch.zeros(size))

    def sums(self, x):
        planes = x.shape[1]
        for index, kernel in enumerate(self.buffers()):
            x = x.expand(-1, planes, -1, -1) if index else x
            high, wide = kernel.shape
            sides = (wide // 2, (wide - 1) // 2, high // 2, (high - 1) // 2)
            x = F.conv2d(F.pad(x, sides), kernel.expand(1, planes, high, wide))
        return x

    def forward(self, x):
        images = x if x.dim() == 4 else x.reshape(1, -1, *x.shape[-2:])
        total = self.sums(torch.ones_like(images))
        centred = images - self.sums(images) / total
        deviation = self.sums(centred.square()).sqrt() / total
        if self.threshold is None:
            limit = deviation.detach().mean((1, 2, 3), keepdim=True).clamp(min=1e-3)
        else:
            limit = torch.full_like(deviation[:, :1, :1, :1], self.threshold)
        deviation = torch.where(deviation > limit, deviation, limit)
        return (centred / deviation).reshape(x.shape)


class Minus(nn.Module):
    """The negative of the input."""

    def forward(self, x):
        return -x


class AffineGrid(nn.Module):
    """Places of a grid, (y, x) between -1 and 1, under transformations (B x) 2 x 3."""

    def __init__(self, height, width):
        super().__init__()
        self.size = (height, width)

    def forward(self, x):
        rows, columns = (torch.arange(n, dtype=x.dtype) for n in self.size)
        rows = rows / (self.size[0] - 1) * 2 - 1
        columns = columns / (self.size[1] - 1) * 2 - 1
        y, z = torch.meshgrid(rows, columns, indexing="ij")
        places = torch.stack((y, z, torch.ones_like(y)), -1).to(x.device)
        grid = places.reshape(-1, 3) @ x.transpose(-1, -2)
        return grid.reshape(*x.shape[:-2], *self.size, 2)


class GridSampler(nn.Module):
    """The pixels of images at the places of a grid: (images B x H x W x D, B x h x w x
    2)."""

    def forward(self, x):
        images, grid = x
        single = images.dim() == 3
        images = images.unsqueeze(0) if single else images
        grid = grid.unsqueeze(0) if single else grid
        y = F.grid_sample(images.permute(0, 3, 1, 2), grid.flip(3), align_corners=True)
        y = y.permute(0, 2, 3, 1)
        return y.squeeze(0) if single else y


class AffineMatrix(nn.Module):
    """Matrices B x 2 x 3 from an angle, a scale and two shifts, those that are switched
    on; from six numbers when none is."""

    def __init__(self, rotation=False, scale=False, translation=False):
        super().__init__()
        self.rotation = rotation
        self.scale = scale
        self.translation = translation

    def forward(self, x):
        rows = x if x.dim() == 2 else x.unsqueeze(0)
        if self.rotation or self.scale or self.translation:
            matrices = self.matrices(rows)
        else:
            matrices = rows.reshape(-1, 2, 3)
        return matrices if x.dim() == 2 else matrices.squeeze(0)

    def matrices(self, rows):
        columns = list(rows.unbind(1))
        linear = torch.eye(2, dtype=rows.dtype, device=rows.device).expand(
            len(rows), 2, 2
        )
        if self.rotation:
            angle = columns.pop(0)
            lines = (angle.cos(), -angle.sin(), angle.sin(), angle.cos())
            linear = torch.stack(lines, 1).reshape(-1, 2, 2)
        if self.scale:
            linear = linear * columns.pop(0)[:, None, None]
        shift = torch.zeros_like(linear[:, :, :1])
        if self.translation:
            shift = linear @ torch.stack(columns, 1)[:, :, None]
        return torch.cat((linear, shift), 2)


class DenseLayer(nn.Module):
    """Adds to a tuple what a layer makes of all that is in it, joined."""

    def __init__(self, first, second):
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x):
        features = tuple(x) if isinstance(x, (tuple, list)) else (x,)
        return (*features, self.second(self.first(torch.cat(features, 1))))


class InstanceNorm(nn.Module):
    """Normalises every plane of every sample by its own mean and variance."""

    def __init__(self, planes, eps=1e-5, affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(planes)) if affine else None
        self.bias = nn.Parameter(torch.zeros(planes)) if affine else None

    def forward(self, x):
        batch = x if x.dim() == 4 else x.unsqueeze(0)
        y = F.instance_norm(batch, None, None, self.weight, self.bias, eps=self.eps)
        return y if x.dim() == 4 else y.squeeze(0)


class PerStep(nn.Module):
    """Applies a layer of vectors to samples x steps x features."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        y = self.layer(x.reshape(-1, *x.shape[2:]))
        return y.reshape(*x.shape[:2], *y.shape[1:])


class NearestCentre(torch.autograd.Function):
    """The number (from 1) of the nearest centre of each row. The gradient of a centre
    is its distance from the mean of the rows that chose it."""

    @staticmethod
    def forward(ctx, rows, centres, scale):
        distances = (rows.unsqueeze(1) - centres).square().sum(2)
        places = distances.argmin(1)
        ctx.save_for_backward(rows, centres, places)
        ctx.scale = scale
        return (places + 1).to(rows.dtype)

    @staticmethod
    def backward(ctx, gradient):
        rows, centres, places = ctx.saved_tensors
        members = F.one_hot(places, len(centres)).to(rows.dtype)
        counts = members.sum(0).unsqueeze(1)
        distances = counts * centres - members.T @ rows
        slopes = distances / (counts + 1e-7) * ctx.scale
        return torch.zeros_like(rows), slopes, None


class KMeans(nn.Module):
    """The number (from 1) of the nearest of learned centres; a gradient step of length
    1, of the sum of the output, is a step of the k-means algorithm."""

    def __init__(self, count, size, scale=1.0):
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.zeros(count, size))

    def forward(self, x):
        rows = x if x.dim() == 2 else x.unsqueeze(0)
        return NearestCentre.apply(rows, self.weight, self.scale)


class EntropyFunction(torch.autograd.Function):
    """The identity, with a gradient that makes the mean of the rows less decided."""

    @staticmethod
    def forward(ctx, x, scale, bound):
        ctx.save_for_backward(x)
        ctx.scale, ctx.bound = scale, bound
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        share = 1 / x.sum()
        p = x.sum(0) * share
        if ctx.bound is None or -(p * (p + 1e-6).log()).sum() < ctx.bound:
            slope = (p + 1e-6).log() + p / (p + 1e-6)
            gradient = gradient + ctx.scale * share * slope / len(x)
        return gradient, None, None


class EntropyPenalty(nn.Module):
    """Gives back its input, rows of probabilities; its gradient makes their mean less
    decided, while the entropy of the mean is below a bound."""

    def __init__(self, scale=1.0, bound=None):
        super().__init__()
        self.scale = scale
        self.bound = bound

    def forward(self, x):
        return EntropyFunction.apply(x, self.scale, self.bound)
