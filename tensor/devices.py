"""Devices: where a tensor's memory is."""

from __future__ import annotations

from typing import Any


class device(str):
    """A device by name: "cpu". Equal to its name as a string.

    >>> import relume as rl
    >>> rl.tensor([1.0]).device == "cpu"
    True
    """

    @property
    def type(self) -> str:
        """The kind of device: "cpu"."""
        return self.partition(":")[0]

    @property
    def index(self) -> int:  # type: ignore[override]
        """Which one of its kind, from 0."""
        return int(self.partition(":")[2] or 0)

    def __repr__(self) -> str:
        return f"device({str(self)!r})"


def check_device(wanted: Any) -> None:
    """Raises ValueError for a device that this build does not have; None is fine."""
    if wanted is None or str(wanted) in ("cpu", "cpu:0"):
        return
    raise ValueError(f"this build of relume has no device {str(wanted)!r}; the only one is 'cpu'")
