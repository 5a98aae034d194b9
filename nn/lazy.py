"""Layers that learn the size of their input from the first one that they see."""

from __future__ import annotations

from typing import Any, ClassVar

import relume as rl
from relume import Tensor
from relume.autograd import no_grad
from relume.nn import convolution, linear, normalization
from relume.nn.module import Module
from relume.nn.parameter import Buffer, Parameter


class _Uninitialized:
    """A tensor whose shape is not known yet; it holds no elements."""

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives it a shape; optimizers that know the object go on knowing it."""
        kind = self.dtype if dtype is None else dtype
        self.data = rl.empty(tuple(shape), dtype=kind)
        self.__class__ = self._becomes


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet.

    >>> UninitializedParameter().shape
    (0,)
    """

    _becomes = Parameter

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known yet."""

    _becomes = Buffer

    def __repr__(self) -> str:
        return "<UninitializedBuffer>"


class LazyModule(Module):
    """A layer before its first input, after which it is an object of `cls_to_become`.

    Subclasses come before the layer's class among the bases. The layer is made with a size of 0;
    every tensor that has it is left open.
    """

    cls_to_become: ClassVar[type]
    size_name: ClassVar[str]  # the attribute that the first input decides
    lazy_names: ClassVar[tuple[str, ...]]  # the tensors whose shape depends on it

    def _leave_open(self) -> None:
        for group, kind in (
            (self._parameters, UninitializedParameter),
            (self._buffers, UninitializedBuffer),
        ):
            for name, value in group.items():
                if name in self.lazy_names and value is not None:
                    open_tensor: Any = kind()
                    open_tensor.data = rl.empty(0, dtype=value.dtype)
                    group[name] = open_tensor

    def has_uninitialized_params(self) -> bool:
        """Is a shape still unknown?"""
        members = [*self._parameters.values(), *self._buffers.values()]
        return any(isinstance(member, _Uninitialized) for member in members)

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the open tensors for an input of this size; for subclasses."""
        raise NotImplementedError

    def _settle(self, size: int) -> None:
        """Becomes the ordinary layer for inputs of this size."""
        setattr(self, self.size_name, size)
        for name, shape in self._shapes(size).items():
            tensor = self._parameters.get(name, self._buffers.get(name))
            if isinstance(tensor, _Uninitialized):
                tensor.materialize(shape)
        self.__class__ = self.cls_to_become

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            self._settle(self._size_of(input))
            self.reset_parameters()
        return self(input, *args, **kwargs)

    def _size_of(self, input: Tensor) -> int:
        return input.shape[1]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        size = self._size_in(state_dict, prefix)
        if size is None:
            return super()._load_from_state_dict(state_dict, prefix, *rest)
        self._settle(size)
        self._load_from_state_dict(state_dict, prefix, *rest)  # now the ordinary layer's

    def _size_in(self, state_dict: dict[str, Any], prefix: str) -> int | None:
        """The size that saved tensors tell; None where they are open too, or missing."""
        raise NotImplementedError


class LazyLinear(LazyModule, linear.Linear):
    """Linear with in_features from the first input.

    >>> import relume as rl
    >>> layer = LazyLinear(2)
    >>> layer(rl.ones(5, 3)).shape
    (5, 2)
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = linear.Linear
    size_name = "in_features"
    lazy_names = ("weight", "bias")

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._leave_open()

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, size), "bias": (self.out_features,)}

    def _size_of(self, input: Tensor) -> int:
        return input.shape[-1]

    def _size_in(self, state_dict: dict[str, Any], prefix: str) -> int | None:
        weight = state_dict.get(f"{prefix}weight")
        return weight.shape[1] if weight is not None and weight.ndim == 2 else None


class _LazyConvolution(LazyModule):
    size_name = "in_channels"
    lazy_names = ("weight", "bias")
    dimensions: int
    transposed: bool
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, out_channels, kernel_size, *args, **kwargs)  # type: ignore[call-arg]
        self._leave_open()

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        if size % self.groups:
            raise ValueError(f"groups ({self.groups}) must divide the input's {size} channels")
        channels = (
            (size, self.out_channels // self.groups)
            if self.transposed
            else (self.out_channels, size // self.groups)
        )
        return {"weight": (*channels, *self.kernel_size), "bias": (self.out_channels,)}

    def _size_of(self, input: Tensor) -> int:
        if input.ndim not in (self.dimensions + 1, self.dimensions + 2):
            raise ValueError(
                f"{type(self).__name__} needs an input of {self.dimensions + 1} or "
                f"{self.dimensions + 2} dimensions, not shape {input.shape}"
            )
        return input.shape[-self.dimensions - 1]

    def _size_in(self, state_dict: dict[str, Any], prefix: str) -> int | None:
        weight = state_dict.get(f"{prefix}weight")
        if weight is None or weight.ndim != self.dimensions + 2:
            return None
        return weight.shape[0] if self.transposed else weight.shape[1] * self.groups


class _LazyNorm(LazyModule):
    size_name = "num_features"
    lazy_names = ("weight", "bias", "running_mean", "running_var")
    allowed_dimensions: tuple[int, ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)  # type: ignore[call-arg]
        self._leave_open()

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(self.lazy_names, (size,))

    def _size_in(self, state_dict: dict[str, Any], prefix: str) -> int | None:
        for name in self.lazy_names:
            saved = state_dict.get(prefix + name)
            if saved is not None and saved.shape[0] > 0:
                return saved.shape[0]
        return None


class _LazyInstanceNorm(_LazyNorm):
    def _size_of(self, input: Tensor) -> int:
        return input.shape[-(max(self.allowed_dimensions) - 1)]


def _lazy(base: type, layer: type, first: str) -> type:
    """The lazy form of a layer, whose first argument the input decides."""
    name = f"Lazy{layer.__name__}"
    text = f"{layer.__name__} with {first} from the first input; other arguments as there."
    members = {"cls_to_become": layer, "__doc__": text, "__module__": __name__}
    return type(name, (base, layer), members)


LazyConv1d = _lazy(_LazyConvolution, convolution.Conv1d, "in_channels")
LazyConv2d = _lazy(_LazyConvolution, convolution.Conv2d, "in_channels")
LazyConv3d = _lazy(_LazyConvolution, convolution.Conv3d, "in_channels")
LazyConvTranspose1d = _lazy(_LazyConvolution, convolution.ConvTranspose1d, "in_channels")
LazyConvTranspose2d = _lazy(_LazyConvolution, convolution.ConvTranspose2d, "in_channels")
LazyConvTranspose3d = _lazy(_LazyConvolution, convolution.ConvTranspose3d, "in_channels")
LazyBatchNorm1d = _lazy(_LazyNorm, normalization.BatchNorm1d, "num_features")
LazyBatchNorm2d = _lazy(_LazyNorm, normalization.BatchNorm2d, "num_features")
LazyBatchNorm3d = _lazy(_LazyNorm, normalization.BatchNorm3d, "num_features")
LazyInstanceNorm1d = _lazy(_LazyInstanceNorm, normalization.InstanceNorm1d, "num_features")
LazyInstanceNorm2d = _lazy(_LazyInstanceNorm, normalization.InstanceNorm2d, "num_features")
LazyInstanceNorm3d = _lazy(_LazyInstanceNorm, normalization.InstanceNorm3d, "num_features")
