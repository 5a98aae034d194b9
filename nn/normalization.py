"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import relume as rl
from relume import Tensor
from relume.nn import functional as F
from relume.nn import init
from relume.nn.module import Module
from relume.nn.parameter import Parameter, new_parameter


class _StatisticsNorm(Module):
    """What batch and instance normalisation share: parameters and running statistics."""

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    allowed_dimensions: tuple[int, ...]  # of the input
    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = (num_features,)
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(shape, device, dtype) if wanted else None)
        tracked = {
            "running_mean": rl.zeros(shape, dtype=dtype),
            "running_var": rl.ones(shape, dtype=dtype),
            "num_batches_tracked": rl.tensor(0),
        }
        for name, value in tracked.items():
            self.register_buffer(name, value if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the running statistics: mean 0, variance 1."""
        if self.running_mean is not None:
            assert self.running_var is not None and self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """weight 1, bias 0, and statistics as at first."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input(self, input: Tensor) -> None:
        if input.ndim not in self.allowed_dimensions:
            allowed = " or ".join(map(str, self.allowed_dimensions))
            raise ValueError(
                f"{type(self).__name__} needs an input of {allowed} dimensions, not {input.ndim}"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        # The count came in version 2: a file from before has none.
        count = prefix + "num_batches_tracked"
        if local_metadata.get("version") in (None, 1) and self.num_batches_tracked is not None:
            state_dict.setdefault(count, rl.tensor(0))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_StatisticsNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        return F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            self._next_momentum(),
            self.eps,
        )

    def _next_momentum(self) -> float:
        """Counts the batch; without a momentum all batches count the same."""
        if not self.training or self.num_batches_tracked is None:
            return 0.0 if self.momentum is None else self.momentum
        self.num_batches_tracked.add_(1)
        if self.momentum is None:
            return 1.0 / self.num_batches_tracked.item()
        return self.momentum


class BatchNorm1d(_BatchNorm):
    """Brings every feature of a batch to mean 0 and variance 1; Ioffe and Szegedy, 2015.

    Args:
        num_features: size of dimension 1 of (N, C) or (N, C, L).
        eps: is added to the variance.
        momentum: how much of the running statistics a batch replaces; None averages all.
        affine: learn a weight and, unless bias is False, a bias.
        track_running_stats: keep the statistics that evaluation mode uses.

    >>> import relume as rl
    >>> BatchNorm1d(3)(rl.randn(8, 3)).shape
    (8, 3)
    """

    allowed_dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); arguments as of BatchNorm1d."""

    allowed_dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); arguments as of BatchNorm1d."""

    allowed_dimensions = (5,)


class _InstanceNorm(_StatisticsNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input(input)
        single = input.ndim == min(self.allowed_dimensions)
        batch = input.unsqueeze(0) if single else input
        if batch.shape[1] != self.num_features and self.affine:
            raise ValueError(
                f"{type(self).__name__} needs {self.num_features} channels, not {batch.shape[1]}"
            )
        result = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result


class InstanceNorm1d(_InstanceNorm):
    """Brings every channel of every sample to mean 0 and variance 1; Ulyanov et al., 2016.

    Args:
        num_features: number of channels of (N, C, L) or (C, L); others as of BatchNorm1d.

    >>> import relume as rl
    >>> InstanceNorm1d(3)(rl.randn(2, 3, 8)).shape
    (2, 3, 8)
    """

    allowed_dimensions = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W)."""

    allowed_dimensions = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W)."""

    allowed_dimensions = (4, 5)


def _as_shape(sizes: int | Sequence[int]) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class LayerNorm(Module):
    """Brings the last dimensions to mean 0 and variance 1; Ba et al., 2016.

    Args:
        normalized_shape: the sizes of these dimensions, or the size of the last.
        eps: is added to the variance.
        elementwise_affine: learn a weight and, unless bias is False, a bias.

    >>> import relume as rl
    >>> LayerNorm(4)(rl.randn(2, 3, 4)).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            value = new_parameter(self.normalized_shape, device, dtype) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides the last dimensions by the root of their mean square; Zhang and Sennrich, 2019.

    Args:
        normalized_shape: the sizes of these dimensions, or the size of the last.
        eps: is added to the mean square; by default the type's smallest step.

    >>> import relume as rl
    >>> RMSNorm(2)(rl.tensor([[1.0, 7.0]])).detach()
    tensor([[0.2, 1.4]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        value = new_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None
        self.register_parameter("weight", value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Brings groups of channels of every sample to mean 0 and variance 1; Wu and He, 2018.

    Args:
        num_groups: divides num_channels, which is dimension 1 of the input.

    >>> import relume as rl
    >>> GroupNorm(2, 4)(rl.randn(3, 4, 5)).shape
    (3, 4, 5)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"{num_channels} channels cannot be divided into {num_groups} groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = new_parameter((num_channels,), device, dtype) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divides by a power of the mean square over neighbouring channels; Krizhevsky et al., 2012."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
