"""PyTorch modules for old layers that PyTorch has no counterpart of.

A generated file gets a copy of those that it uses; relume itself never imports them.
They may use each other by name, and torch, torch.nn (as nn), torch.nn.functional (as F)
and math.
"""
