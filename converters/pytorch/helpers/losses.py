"""Losses: modules of an input and a target. Classes count from 1."""

import torch
import torch.nn.functional as F
from torch import nn


def like(x, target):
    """The target (a number, or a tensor with as many elements) in the shape of x."""
    if not isinstance(target, torch.Tensor):
        return torch.full_like(x, target)
    return target.reshape(x.shape).to(x.dtype)


def classes_of(x, target):
    """Targets as a vector of classes from 0."""
    return torch.as_tensor(target, device=x.device).reshape(-1).long() - 1


def rows_of(x):
    """Vectors or planes of scores as rows, one per sample and place."""
    if x.dim() <= 2:
        return x.reshape(-1, x.shape[-1])
    x = x if x.dim() == 4 else x.unsqueeze(0)
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


class Loss(nn.Module):
    """The base of losses that are a mean, or a sum, over all elements."""

    def __init__(self, average=True):
        super().__init__()
        self.average = average

    def reduced(self, values):
        return values.mean() if self.average else values.sum()


class MSELoss(Loss):
    """The mean of the squared differences."""

    def forward(self, x, target):
        return self.reduced((x - like(x, target)).square())


class AbsLoss(Loss):
    """The mean of the absolute differences; their slope at zero is 1."""

    def forward(self, x, target):
        difference = x - like(x, target)
        return self.reduced(torch.where(difference >= 0, difference, -difference))


class SmoothL1Loss(Loss):
    """The mean of the absolute differences, rounded off near zero."""

    def forward(self, x, target):
        size = (x - like(x, target)).abs()
        return self.reduced(torch.where(size < 1, size.square() * 0.5, size - 0.5))


class SoftMarginLoss(Loss):
    """The mean of log(1 + exp(-target * x)), for targets 1 and -1."""

    def forward(self, x, target):
        return self.reduced(torch.log1p(torch.exp(-(like(x, target) * x))))


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of log-probabilities from probabilities."""

    def forward(self, x, target):
        target = like(x, target)
        positive = target > 0
        safe = torch.where(positive, target, 1.0)
        return self.reduced(
            torch.where(positive, target * (safe.log() - x), target * 0)
        )


class WeightedMSELoss(Loss):
    """The mean of the squares of x - weight * target."""

    def __init__(self, *shape, average=True):
        super().__init__(average)
        self.register_buffer("weight", torch.ones(shape))

    def forward(self, x, target):
        return self.reduced((x - like(x, target) * self.weight).square())


class CroppedMSELoss(Loss):
    """The mean of the squared differences; a larger target is cropped around its
    middle."""

    def forward(self, x, target):
        for dim in (-2, -1):
            size, room = x.shape[dim], target.shape[dim]
            target = target.narrow(dim, (room - size) // 2, size)
        return self.reduced((x - target).square())


class BCELoss(Loss):
    """Binary cross entropy of probabilities."""

    def __init__(self, average=True, weights=0):
        super().__init__(average)
        self.register_buffer("weight", torch.ones(weights) if weights else None)

    def forward(self, x, target):
        target = like(x, target)
        value = (x + 1e-12).log() * target + (1 - x + 1e-12).log() * (1 - target)
        if self.weight is not None:
            value = value * self.weight
        return -self.reduced(value)


class MultiLabelLoss(BCELoss):
    """Binary cross entropy of sigmoid(x)."""

    def forward(self, x, target):
        return super().forward(x.sigmoid(), target)


class NLLLoss(nn.Module):
    """The negative log-probability of the right class, of vectors or at every place of
    planes; `ignored` is a target that does not count."""

    def __init__(self, average=True, weights=0, ignored=-100):
        super().__init__()
        self.average = average
        self.ignored = ignored
        self.register_buffer("weight", torch.ones(weights) if weights else None)

    def forward(self, x, target):
        rows, classes = rows_of(x), classes_of(x, target)
        total = F.nll_loss(
            rows,
            classes,
            self.weight,
            ignore_index=self.ignored - 1,
            reduction="sum",
        )
        if not self.average:
            return total
        counted = classes[classes != self.ignored - 1]
        if self.weight is None:
            return total / max(1, len(counted))
        share = self.weight[counted].sum()
        return total if share == 0 else total / share


class CrossEntropyLoss(NLLLoss):
    """The negative logarithm of the softmax of the right class."""

    def forward(self, x, target):
        x = x.squeeze()
        x = x if x.dim() else x.reshape(1)
        return super().forward(x.log_softmax(1 - x.dim() % 2), target)


class MarginLoss(Loss):
    """The mean of max(0, margin - target * x), for targets 1 and -1."""

    def __init__(self, margin=1.0, average=True):
        super().__init__(average)
        self.margin = margin

    def forward(self, x, target):
        return self.reduced((self.margin - like(x, target) * x).relu())


class HingeEmbeddingLoss(MarginLoss):
    """The mean of x where the target is 1, of max(0, margin - x) where it is -1."""

    def forward(self, x, target):
        near = like(x, target) == 1
        return self.reduced(torch.where(near, x, (self.margin - x).relu()))


class L1HingeLoss(MarginLoss):
    """The 1-norm of a difference for target 1, max(0, margin - norm) for target -1."""

    def forward(self, x, target):
        distance = (x[0] - x[1]).abs().sum()
        near = torch.as_tensor(target).reshape(-1)[0] == 1
        return distance if near else (self.margin - distance).relu()


class MarginRankingLoss(MarginLoss):
    """The mean of max(0, margin - target * (x1 - x2)) of a tuple (x1, x2)."""

    def forward(self, x, target):
        return self.reduced(((x[1] - x[0]) * target + self.margin).relu())


class CosineEmbeddingLoss(MarginLoss):
    """1 - cosine for target 1, max(0, cosine - margin) for target -1."""

    def forward(self, x, target):
        a, b = (value if value.dim() == 2 else value.unsqueeze(0) for value in x)
        lengths = (a.square().sum(1) + 1e-12) * (b.square().sum(1) + 1e-12)
        cosine = (a * b).sum(1) / lengths.sqrt()
        near = torch.as_tensor(target, device=a.device).reshape(-1) == 1
        far = (cosine - self.margin).relu()
        return self.reduced(torch.where(near, 1 - cosine, far))


class MultiMarginLoss(Loss):
    """How far the right class is ahead of the others."""

    def __init__(self, p=1, margin=1.0, average=True, weights=0):
        super().__init__(average)
        self.p = p
        self.margin = margin
        self.register_buffer("weight", torch.ones(weights) if weights else None)

    def forward(self, x, target):
        x, places = rows_of(x), classes_of(x, target).unsqueeze(1)
        values = (self.margin - x.gather(1, places) + x).relu() ** self.p
        if self.weight is not None:
            values = values * self.weight[places]
        others = torch.ones_like(x).scatter(1, places, 0.0)
        total = (values * others).sum() / x.shape[1]
        return total / x.shape[0] if self.average else total


class MultiLabelMarginLoss(Loss):
    """How far the classes of a sample are ahead of the others. A target holds the
    classes (from 1) and zeros after them."""

    def forward(self, x, target):
        reduction = "mean" if self.average else "sum"
        target = target.reshape(x.shape).long() - 1
        return F.multilabel_margin_loss(x, target, reduction=reduction)


class L1Cost(nn.Module):
    """The 1-norm of the input; there is no target."""

    def forward(self, x, target=None):
        return x.abs().sum()


class DistanceRatioLoss(nn.Module):
    """The mean of -log(exp(-near) / (exp(-near) + exp(-far))) of distances (near,
    far)."""

    def __init__(self, average=True):
        super().__init__()
        self.average = average

    def forward(self, x, target=None):
        near, far = x
        values = torch.log(torch.exp(-near) + torch.exp(-far)) + near
        return values.sum() / near.shape[0] if self.average else values.sum()


class LogisticLoss(nn.Module):
    """log(1 + exp(-target * x)), for targets 1 and -1, over `share` of the samples or,
    for planes, of the elements."""

    def __init__(self, average=True, planes=False):
        super().__init__()
        self.average = average
        self.planes = planes

    def forward(self, x, target):
        total = F.softplus(-like(x, target) * x).sum()
        count = 2 * x.numel() if self.planes else x.shape[0]
        return total / count if self.average else total


class SimplexLoss(nn.Module):
    """The mean squared distance from the corner of a simplex that stands for the
    class."""

    def __init__(self, classes, average=True):
        super().__init__()
        self.average = average
        self.register_buffer("corners", torch.zeros(classes, classes))

    def forward(self, x, target):
        rows = x if x.dim() == 2 else x.unsqueeze(0)
        values = (rows - self.corners[classes_of(x, target)]).square()
        return values.mean() if self.average else values.sum()


class WeightedSum(nn.Module):
    """A weighted sum of losses: of one input and target, or of an element of each."""

    def __init__(self, losses, weights, split=False, repeat_target=False):
        super().__init__()
        self.losses = losses
        self.weights = weights
        self.split = split
        self.repeat_target = repeat_target

    def forward(self, x, target):
        total = 0
        pairs = zip(self.losses, self.weights, strict=True)
        for index, (loss, weight) in enumerate(pairs):
            own = x[index] if self.split else x
            goal = target[index] if self.split and not self.repeat_target else target
            total = total + loss(own, goal) * weight
        return total


class OfLayers(nn.Module):
    """A loss of what layers make of the input and of the target."""

    def __init__(self, loss, input_layer, target_layer):
        super().__init__()
        self.loss = loss
        self.input_layer = input_layer
        self.target_layer = target_layer

    def forward(self, x, target):
        return self.loss(self.input_layer(x), self.target_layer(target))


class OverSteps(nn.Module):
    """The sum (or mean) of a loss over the steps of a sequence."""

    def __init__(self, loss, average=False, repeat_target=False):
        super().__init__()
        self.loss = loss
        self.average = average
        self.repeat_target = repeat_target

    def forward(self, x, target):
        count = len(x)
        targets = [target] * count if self.repeat_target else target
        total = sum(self.loss(x[step], targets[step]) for step in range(count))
        return total / count if self.average else total


class NonzeroSamples(nn.Module):
    """A loss of the samples whose input is not all zeros."""

    def __init__(self, loss, sample_dims):
        super().__init__()
        self.loss = loss
        self.sample_dims = sample_dims

    def forward(self, x, target):
        first = x
        while isinstance(first, (tuple, list)):
            first = first[0]
        rows = first.flatten(1).any(1).nonzero().reshape(-1)
        if not len(rows):
            return first.sum() * 0
        return self.loss(chosen_rows(x, rows), chosen_rows(target, rows))


def chosen_rows(value, rows):
    """Some samples of a tensor, or of nested tuples of them."""
    if isinstance(value, (tuple, list)):
        return tuple(chosen_rows(part, rows) for part in value)
    return value[rows]


class FromCriterion(nn.Module):
    """A loss as a layer: its input is (x, target), its output one number, as a vector
    unless `one_number` says otherwise."""

    def __init__(self, loss, one_number=False):
        super().__init__()
        self.loss = loss
        self.one_number = one_number

    def forward(self, x):
        x, target = x
        if isinstance(target, torch.Tensor):
            target = target.detach()
        value = self.loss(x, target)
        return value if self.one_number else value.reshape(1)
