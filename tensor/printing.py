"""How tensors print: like NumPy's arrays, with the type where it is not the default one."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from relume._C import Tensor
from relume.tensor.dtypes import bool_, float32, int64

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 75},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 75},
    "full": {"precision": 4, "threshold": sys.maxsize, "edgeitems": 3, "linewidth": 75},
}
_options: dict[str, Any] = dict(_PROFILES["default"])


def size_text(shape: Iterable[Any]) -> str:
    """Sizes as messages and tables write them.

    >>> size_text((2, 3)), size_text(())
    ('2x3', 'one number')
    """
    return "x".join(map(str, shape)) or "one number"


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print from now on; what is left out stays.

    Args:
        precision: digits after the point (4).
        threshold: tensors of more elements (1000) are summarised.
        edgeitems: how many elements at each end a summary shows (3).
        linewidth: characters of a line (75).
        profile: "default", "short" or "full" (nothing is summarised), before the others apply.
        sci_mode: True prints powers of ten always, False never, None where they are shorter.

    >>> import relume as rl
    >>> set_printoptions(precision=2)
    >>> rl.tensor([0.12345])
    tensor([0.12])
    >>> set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"there is no profile {profile!r}, only {', '.join(_PROFILES)}")
        _options.clear()
        _options.update(_PROFILES[profile])
    given: dict[str, Any] = {"precision": precision, "edgeitems": edgeitems, "linewidth": linewidth}
    given["threshold"] = sys.maxsize if threshold == math.inf else threshold
    _options.update({name: value for name, value in given.items() if value is not None})
    if sci_mode is not None or profile is not None:
        _options.pop("formatter", None)
        _options.pop("suppress_small", None)
    if sci_mode:
        _options["formatter"] = {"float_kind": lambda x: f"{x:.{_options['precision']}e}"}
    elif sci_mode is False:
        _options["suppress_small"] = True


def get_printoptions() -> dict[str, Any]:
    """How tensors print, as `set_printoptions` takes it.

    >>> get_printoptions()["precision"]
    4
    """
    names = ("precision", "threshold", "edgeitems", "linewidth")
    modes = {"formatter": True, "suppress_small": False}
    sci_mode = next((mode for name, mode in modes.items() if name in _options), None)
    return {**{name: _options[name] for name in names}, "sci_mode": sci_mode}


FUNCTIONS = (get_printoptions, set_printoptions)


def format_tensor(tensor: Tensor) -> str:
    """`tensor([1., 2.], dtype=float64, requires_grad=True)`; long ones are summarised.

    >>> import relume as rl
    >>> rl.zeros(2, 2)
    tensor([[0., 0.],
            [0., 0.]])
    """
    values = tensor.detach()
    if values.dtype.numpy is None:
        values = values.to(float32)
    notes = []
    if tensor.numel() == 0 and tensor.shape != (0,):
        notes.append(f"shape={tensor.shape}")
    if tensor.dtype not in (float32, int64, bool_):
        notes.append(f"dtype={tensor.dtype.name}")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn={tensor.grad_fn}")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    if tensor.numel() == 0:
        body = "[]"
    else:
        options = {"max_line_width" if k == "linewidth" else k: v for k, v in _options.items()}
        body = np.array2string(values.numpy(), separator=", ", prefix="tensor(", **options)
    return f"tensor({', '.join([body, *notes])})"


def _format(tensor: Tensor, specification: str) -> str:
    """In f-strings a 0-d tensor is its number."""
    if tensor.ndim == 0 or (specification and tensor.numel() == 1):
        return format(tensor.item(), specification)
    return format(format_tensor(tensor), specification)


def install() -> None:
    """Adds printing to Tensor."""
    for name, method in {"__repr__": format_tensor, "__format__": _format}.items():
        setattr(Tensor, name, method)
