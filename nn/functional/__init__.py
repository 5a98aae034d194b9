"""The functions of `relume.nn`, with PyTorch's names, arguments and defaults.

Heavy work is done by registered ops, which `relume.legacy_nn` and Lua use too.

>>> import relume as rl
>>> import relume.nn.functional as F
>>> F.relu(rl.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from __future__ import annotations

from functools import partial
from typing import Any

import relume
from relume.nn.functional.activation import (
    celu,
    elu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    silu,
    softmax,
    softmin,
    threshold,
)
from relume.nn.functional.attention import multi_head_attention_forward
from relume.nn.functional.distance import (
    bilinear,
    cosine_similarity,
    pairwise_distance,
    pdist,
)
from relume.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from relume.nn.functional.embedding import embedding, embedding_bag, one_hot
from relume.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from relume.nn.functional.margin_loss import (
    cosine_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from relume.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from relume.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from relume.nn.functional.resampling import (
    fold,
    interpolate,
    unfold,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

# Functions that `relume` has with the same arguments.
_SAME_IN_RELUME = (
    "affine_grid avg_pool1d avg_pool2d avg_pool3d channel_shuffle conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d gelu glu grid_sample hardshrink "
    "linear logsigmoid lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d "
    "pad pixel_shuffle pixel_unshuffle prelu scaled_dot_product_attention sigmoid softplus "
    "softshrink softsign tanh tanhshrink"
).split()
# Poolings that give the positions of what they take too.
_WITH_INDICES = [
    f"{kind}_pool{dimensions}d_with_indices"
    for kind in ("adaptive_max", "fractional_max", "max")
    for dimensions in (1, 2, 3)
    if (kind, dimensions) != ("fractional_max", 1)
]
# Functions whose in-place form has a name of its own, with an underscore.
_IN_PLACE = "celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_".split()


def __getattr__(name: str) -> Any:
    if name in _IN_PLACE:
        return partial(globals()[name[:-1]], inplace=True)
    if name in _WITH_INDICES:
        return partial(globals()[name.removesuffix("_with_indices")], return_indices=True)
    if name in _SAME_IN_RELUME:
        globals()[name] = function = getattr(relume, name)  # looked up once
        return function
    raise AttributeError(f"module 'relume.nn.functional' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SAME_IN_RELUME, *_IN_PLACE, *_WITH_INDICES})


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "group_norm",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "local_response_norm",
    "log_softmax",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "relu",
    "relu6",
    "rms_norm",
    "rrelu",
    "selu",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
