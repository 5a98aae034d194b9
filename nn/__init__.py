"""Neural networks with PyTorch's names and arguments.

>>> import relume as rl
>>> rl.nn.functional.relu(rl.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from relume.nn import functional

__all__ = ["functional"]
