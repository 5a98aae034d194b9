"""OpenNMT (OpenNMT/OpenNMT): the classes onmt.X of its translation models.

A checkpoint holds its encoder and decoder as tables; `Seq2Seq` makes a model of them.
"""

from relume.legacy_nn.models.opennmt import (
    attention,
    cells,
    dictionary,
    encoders,
    networks,
    sentence_criterion,
    seq2seq,
    sequencers,
)
from relume.legacy_nn.models.opennmt.seq2seq import Seq2Seq

__all__ = [
    "Seq2Seq",
    "attention",
    "cells",
    "dictionary",
    "encoders",
    "networks",
    "sentence_criterion",
    "seq2seq",
    "sequencers",
]
