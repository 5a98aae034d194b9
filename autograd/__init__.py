"""The tape: gradients of what was computed.

>>> import relume as rl
>>> x = rl.tensor(2.0, requires_grad=True)
>>> rl.autograd.grad(x**3, x)[0].item()
12.0
"""

from relume.autograd import func, functional, graph, tensor_methods
from relume.autograd.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from relume.autograd.checkpointing import checkpoint, checkpoint_sequential
from relume.autograd.function import Function, once_differentiable
from relume.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from relume.autograd.gradcheck import gradcheck, gradgradcheck
from relume.autograd.gradients import backward, grad

__all__ = [
    "Function",
    "backward",
    "checkpoint",
    "checkpoint_sequential",
    "detect_anomaly",
    "enable_grad",
    "func",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]

tensor_methods.install()
