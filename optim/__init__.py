"""Optimizers and learning-rate schedules with PyTorch's names and arguments.

>>> import relume as rl
>>> from relume import nn, optim
>>> model = nn.Linear(2, 1)
>>> optimizer = optim.Adam(model.parameters(), lr=0.01)
>>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=10)
>>> for _ in range(20):
...     optimizer.zero_grad()
...     loss = (model(rl.ones(4, 2)) - 3).square().mean()
...     loss.backward()
...     optimizer.step()
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.0001]
"""

from relume.optim import lr_scheduler, swa_utils
from relume.optim.adafactor import Adafactor
from relume.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from relume.optim.adaptive import Adadelta, Adagrad, RMSprop, Rprop
from relume.optim.lbfgs import LBFGS
from relume.optim.muon import Muon
from relume.optim.optimizer import Optimizer
from relume.optim.sgd import ASGD, SGD
from relume.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
