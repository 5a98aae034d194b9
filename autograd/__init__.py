"""The tape: gradients of what was computed.

>>> import relume as rl
>>> x = rl.tensor(2.0, requires_grad=True)
>>> rl.autograd.grad(x**3, x)[0].item()
12.0
"""

from relume.autograd.function import Function
from relume.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from relume.autograd.gradcheck import gradcheck, gradgradcheck
from relume.autograd.gradients import backward, grad

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
