"""Weights that are computed from other parameters before every forward."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import no_grad
from relume.nn import functional as F
from relume.nn.hooks import ForwardHook
from relume.nn.module import Module
from relume.nn.parameter import Parameter


def _norm_except(tensor: Tensor, dim: int | None) -> Tensor:
    """The 2-norm over all dimensions but one (or over all), with its dimensions kept."""
    if dim is None:
        return tensor.norm()
    others = [d for d in range(tensor.ndim) if d != dim % tensor.ndim]
    return tensor.norm(2, others, True)


class _WeightNorm:
    """Computes `name` as name_g * name_v / norm(name_v)."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = dim

    def weight(self, module: Module) -> Tensor:
        length = getattr(module, f"{self.name}_g")
        direction = getattr(module, f"{self.name}_v")
        return direction * (length / _norm_except(direction, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into length and direction; Salimans and Kingma, 2016.

    The parameters `<name>_g` and `<name>_v` take the place of `<name>`.

    Args:
        dim: over all other dimensions the length is taken; None for one length.

    >>> from relume import nn
    >>> sorted(name for name, _ in weight_norm(nn.Linear(3, 2)).named_parameters())
    ['bias', 'weight_g', 'weight_v']
    """
    if _find(module, _WeightNorm, name) is not None:
        raise RuntimeError(f"{name!r} has a weight norm already")
    weight = getattr(module, name)
    hook = _WeightNorm(name, dim)
    delattr(module, name)
    with no_grad():
        module.register_parameter(f"{name}_g", Parameter(_norm_except(weight, dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a parameter again."""
    hook = _take_out(module, _WeightNorm, name)
    weight = hook.weight(module).detach()
    delattr(module, name)
    for part in ("g", "v"):
        delattr(module, f"{name}_{part}")
    setattr(module, name, Parameter(weight))
    return module


class _SpectralNorm:
    """Computes `name` as name_orig divided by its largest singular value, by power iteration."""

    def __init__(self, name: str, n_power_iterations: int, eps: float, dim: int) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.eps = eps
        self.dim = dim

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight with dimension dim as rows."""
        return weight.transpose(0, self.dim).reshape(weight.shape[self.dim], -1)

    def weight(self, module: Module, iterate: bool) -> Tensor:
        weight = getattr(module, f"{self.name}_orig")
        left = getattr(module, f"{self.name}_u")
        right = getattr(module, f"{self.name}_v")
        matrix = self.matrix(weight)
        if iterate:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    right.copy_(F.normalize(matrix.T @ left, dim=0, eps=self.eps))
                    left.copy_(F.normalize(matrix @ right, dim=0, eps=self.eps))
            left, right = left.clone(), right.clone()
        return weight / left.dot(matrix @ right)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module, module.training))


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divides a weight by its largest singular value; Miyato et al., 2018.

    The parameter `<name>_orig` and the buffers `<name>_u` and `<name>_v` take the place of
    `<name>`.

    Args:
        n_power_iterations: how often the singular vectors are improved per forward.
        dim: which dimension makes the rows; 1 for transposed convolutions, otherwise 0.

    >>> from relume import nn
    >>> sorted(spectral_norm(nn.Linear(3, 2)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise ValueError(f"n_power_iterations must be positive, not {n_power_iterations}")
    if _find(module, _SpectralNorm, name) is not None:
        raise RuntimeError(f"{name!r} has a spectral norm already")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    hook = _SpectralNorm(name, n_power_iterations, eps, dim)
    weight = getattr(module, name)
    rows, columns = hook.matrix(weight).shape
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    for part, size in (("u", rows), ("v", columns)):
        start = rl.empty((size,), dtype=weight.dtype).normal_(0, 1)
        module.register_buffer(f"{name}_{part}", F.normalize(start, dim=0, eps=eps))
    setattr(module, name, weight.detach())
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight, as it is now, a parameter again."""
    hook = _take_out(module, _SpectralNorm, name)
    with no_grad():
        weight = hook.weight(module, iterate=False).detach()
    delattr(module, name)
    for part in ("u", "v", "orig"):
        delattr(module, f"{name}_{part}")
    setattr(module, name, Parameter(weight))
    return module


def _find(module: Any, kind: type, name: str) -> int | None:
    """The key of the pre-hook of this kind for this weight."""
    hooks: dict[int, ForwardHook] = module._hooks.forward_pre if module._hooks else {}
    for key, hook in hooks.items():
        if isinstance(hook.function, kind) and hook.function.name == name:  # type: ignore[attr-defined]
            return key
    return None


def _take_out(module: Any, kind: type, name: str) -> Any:
    key = _find(module, kind, name)
    if key is None:
        raise ValueError(f"{name!r} of {type(module).__name__} has no {kind.__name__.strip('_')}")
    return module._hooks.forward_pre.pop(key).function
