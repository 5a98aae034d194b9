"""Layers of waifu2x, DeepMask, DeepSpeech, style transfer and other projects."""

import torch
import torch.nn.functional as F
from torch import nn

from relume.converters.pytorch.helpers.planes import linear_resize


class PickWhenEvaluating(nn.Module):
    """All elements of a tuple while training, one of them afterwards."""

    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x):
        return x if self.training else x[self.index]


class DepthExpand(nn.Module):
    """Four planes as one of twice the height and width."""

    def forward(self, x):
        samples, planes, height, width = x.shape
        x = x.permute(0, 3, 2, 1).reshape(samples, width, height * 2, planes // 2)
        x = x.transpose(1, 2).reshape(samples, height * 2, width * 2, planes // 4)
        return x.permute(0, 3, 1, 2)


class SymmetricPad2d(nn.Module):
    """Mirror images around planes, the outermost rows and columns included; negative
    numbers crop. No gradient goes through the images."""

    def __init__(self, left, right, top, bottom):
        super().__init__()
        self.sides = ((-2, top, bottom), (-1, left, right))

    def forward(self, x):
        for dim, before, after in self.sides:
            start = max(0, -before)
            x = x.narrow(dim, start, x.shape[dim] - start - max(0, -after))
            edges, size = x.detach(), x.shape[dim]
            first = edges.narrow(dim, 0, max(0, before)).flip(dim)
            last = edges.narrow(dim, size - max(0, after), max(0, after)).flip(dim)
            x = torch.cat((first, x, last), dim)
        return x


class WithoutGradient(nn.Module):
    """Runs a layer and stops the gradient."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        with torch.no_grad():
            return self.layer(x)


class ByMode(nn.Module):
    """One layer while training, another one afterwards."""

    def __init__(self, when_training, when_evaluating):
        super().__init__()
        self.when_training = when_training
        self.when_evaluating = when_evaluating

    def forward(self, x):
        return self.when_training(x) if self.training else self.when_evaluating(x)


class FrozenInputRNN(nn.RNN):
    """A recurrent network that adds its input as it is: those weights are not learnt.
    Only the outputs are given."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        for name, weight in self.named_parameters():
            if name.startswith("weight_ih_l0"):
                weight.requires_grad_(False)

    def forward(self, x):
        return super().forward(x)[0]


class BatchBRNN(nn.Module):
    """A linear layer, batch normalisation over all steps, and a recurrent network in
    both directions whose outputs are added; steps x batch x features."""

    def __init__(self, linear, norm, rnn, limit=None):
        super().__init__()
        self.linear = linear
        self.norm = norm
        self.rnn = rnn
        self.limit = limit

    def forward(self, x):
        rows = self.norm(self.linear(x.flatten(0, 1)))
        y = self.rnn(rows.reshape(*x.shape[:2], -1))
        y = y if self.limit is None else y.clamp(0, self.limit)
        return y.reshape(*x.shape[:2], 2, -1).sum(2)


class GramMatrix(nn.Module):
    """The products of all planes with each other."""

    def __init__(self, average):
        super().__init__()
        self.average = average

    def forward(self, x):
        planes = x.flatten(-2)
        products = planes @ planes.transpose(-1, -2)
        return products / planes.shape[-2:].numel() if self.average else products


class ExpectedLabel(nn.Module):
    """Probabilities times labels."""

    def __init__(self, count):
        super().__init__()
        self.register_buffer("labels", torch.zeros(count))

    def forward(self, x):
        return x @ self.labels


class CornerUnpool(nn.Module):
    """Every element at the corner of a square of zeros."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        kernel = x.new_zeros(x.shape[1], 1, self.size, self.size)
        kernel[:, :, 0, 0] = 1
        return F.conv_transpose2d(x, kernel, None, self.size, groups=x.shape[1])


class Resample(nn.Module):
    """Planes of another size, by interpolation or by means; a size or a factor per
    side."""

    def __init__(self, height, width, average=False):
        super().__init__()
        self.height = height
        self.width = width
        self.average = average

    def forward(self, x):
        size = [
            int(n * asked) if isinstance(asked, float) else asked
            for n, asked in zip(x.shape[-2:], (self.height, self.width), strict=True)
        ]
        if self.average:
            return F.adaptive_avg_pool2d(x, size)
        return linear_resize(linear_resize(x, -2, size[0]), -1, size[1])


def reversed_steps(x):
    """A sequence, tensor or tuple, turned around."""
    return x.flip(0) if isinstance(x, torch.Tensor) else x[::-1]
