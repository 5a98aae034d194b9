"""Torch7's package `dpnn` (Element-Research/dpnn): its classes are called `nn.X` in files."""

from relume.legacy_nn.dpnn import (
    binary_convolution,
    building_blocks,
    color_transforms,
    glimpse,
    logistic_criterion,
    noise_contrastive,
    reinforce,
    rewards,
    serial,
    small_layers,
)
