"""DenseCap (jcjohnson/densecap): regions of an image, and what is to be seen in them."""

from relume.legacy_nn.models.densecap import (
    boxes,
    captions,
    criterions,
    model,
    region_pooling,
    regions,
)
