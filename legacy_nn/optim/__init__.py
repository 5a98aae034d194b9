"""Torch7's optim package: functions that change a flat parameter tensor in place.

>>> import relume as rl
>>> from relume.legacy_nn import optim
>>> x = rl.tensor([3.0, -2.0])
>>> state = {}
>>> for _ in range(100):
...     x, (f,) = optim.sgd(lambda x: (x.dot(x).item(), 2 * x), x, {"learningRate": 0.1}, state)
>>> bool(x.norm() < 1e-6), state["evalCounter"]
(True, 100)
"""

from relume.legacy_nn.optim.adaptive import adadelta, adagrad, adam, adamax, rmsprop, rprop
from relume.legacy_nn.optim.gradient_descent import asgd, nag, sgd

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "nag", "rmsprop", "rprop", "sgd"]
