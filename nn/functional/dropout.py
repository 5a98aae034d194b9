"""Dropout: elements or whole channels set to zero at random."""

from __future__ import annotations

from relume._C import Tensor
from relume.nn.functional._common import ops


def _written(result: Tensor, input: Tensor, inplace: bool) -> Tensor:
    return input.copy_(result) if inplace else result


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to zero with probability `p`, the others divided by `1 - p`.

    Hinton et al., "Improving neural networks by preventing co-adaptation", 2012.

    Without training the input as it is.

    >>> import relume as rl
    >>> dropout(rl.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    if not training and 0 <= p <= 1:
        return input
    return _written(ops["dropout"](input, p, training)[0], input, inplace)


def _channel_dropout(
    name: str, spatial: int, input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    if input.ndim not in (spatial + 1, spatial + 2):
        raise ValueError(
            f"{name} takes a batch of shape (N, C, ...) with {spatial + 2} dimensions, or one "
            f"sample with {spatial + 1}, not shape {tuple(input.shape)}"
        )
    batch = input if input.ndim == spatial + 2 else input.unsqueeze(0)
    result = ops["feature_dropout"](batch, p, training)
    return _written(result.reshape(input.shape), input, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) set to zero with probability `p`.

    >>> import relume as rl
    >>> dropout1d(rl.ones(1, 2, 3), 0.5, training=False).shape
    (1, 2, 3)
    """
    return _channel_dropout("dropout1d", 1, input, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, H, W) or (C, H, W) set to zero with probability `p`.

    Tompson et al., "Efficient object localization using convolutional networks", 2015.

    >>> import relume as rl
    >>> dropout2d(rl.ones(1, 2, 3, 3), 1.0).sum()
    tensor(0.)
    """
    return _channel_dropout("dropout2d", 2, input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) set to zero with probability `p`.

    >>> import relume as rl
    >>> dropout3d(rl.ones(2, 2, 2, 2, 2), 1.0).sum()
    tensor(0.)
    """
    return _channel_dropout("dropout3d", 3, input, p, training, inplace)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for `selu` networks: keeps mean 0 and variance 1.

    Klambauer et al., "Self-normalizing neural networks", 2017.

    >>> import relume as rl
    >>> alpha_dropout(rl.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    return _written(ops["alpha_dropout"](input, p, training), input, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, ...).

    >>> import relume as rl
    >>> feature_alpha_dropout(rl.ones(1, 3, 2), 0.5, training=False).shape
    (1, 3, 2)
    """
    return _written(ops["feature_alpha_dropout"](input, p, training), input, inplace)
