"""Torch7's package rnn: recurrent layers, what applies them to sequences, and masks.

Layers are names of `relume.legacy_nn`, as in Torch7. A recurrent layer takes one step per
`forward` and keeps its states until `forget`; a sequencer applies it to a whole sequence.
"""
