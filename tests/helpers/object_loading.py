"""Objects as the reader of files makes them."""

import relume as rl
from relume import legacy_nn as nn


def loaded(typename, **fields):
    """An object of a class, or of one of its variants, with the fields that a file has."""
    cls = nn.registry.variant_of(typename, fields) or nn.lookup(typename)
    if cls is None:
        return rl.TorchObject(typename, fields)
    value = cls.__new__(cls)
    value._load_fields(fields, 1)
    return value
