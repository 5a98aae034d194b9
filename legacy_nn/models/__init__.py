"""Classes that well-known models carry, from the projects that trained them: a file per project."""

from relume.legacy_nn.models import (
    char_rnn,
    deepmask,
    deepspeech,
    fixed_affine,
    instance_normalization,
    mc_cnn,
    multipathnet,
    neuraltalk,
    opennmt,
    residual,
    small_projects,
    style_transfer,
    torch_rnn,
    waifu2x,
    waifu2x_criterions,
)
