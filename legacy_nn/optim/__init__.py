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
from relume.legacy_nn.optim.cg import cg
from relume.legacy_nn.optim.checkgrad import checkgrad
from relume.legacy_nn.optim.confusion_matrix import ConfusionMatrix
from relume.legacy_nn.optim.evolution import cmaes, de
from relume.legacy_nn.optim.fista import FistaLS
from relume.legacy_nn.optim.gradient_descent import asgd, nag, sgd
from relume.legacy_nn.optim.lbfgs import lbfgs
from relume.legacy_nn.optim.line_search import lswolfe, polyinterp
from relume.legacy_nn.optim.logger import Logger

__all__ = [
    "ConfusionMatrix",
    "FistaLS",
    "Logger",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "asgd",
    "cg",
    "checkgrad",
    "cmaes",
    "de",
    "lbfgs",
    "lswolfe",
    "nag",
    "polyinterp",
    "rmsprop",
    "rprop",
    "sgd",
]
