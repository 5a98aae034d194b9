"""Networks of Caffe for the Lua package `loadcaffe`: the layers of a .caffemodel file.

The file is a message of protocol buffers, of which only the fields that are asked for are read;
the numbers below are those of caffe.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import relume as rl

__all__ = ["layers"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number and value (an integer, or the bytes of anything else)."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("the file is not a network of Caffe (.caffemodel)")
        if place + size > len(data):
            raise ValueError("the file ends in the middle of a layer")
        yield number, data[place : place + size]
        place += size


class _Message:
    """A message whose fields are looked up by number."""

    def __init__(self, data: memoryview) -> None:
        self._values: dict[int, list[Any]] = {}
        for number, value in _fields(data):
            self._values.setdefault(number, []).append(value)

    def all(self, number: int) -> list[Any]:
        return self._values.get(number, [])

    def integer(self, number: int, default: int = 0) -> int:
        values = self.integers(number)
        return values[-1] if values else default

    def integers(self, number: int) -> list[int]:
        """A repeated field, in either of its forms."""
        found: list[int] = []
        for value in self.all(number):
            if isinstance(value, int):
                found.append(value)
                continue
            place = 0
            while place < len(value):
                one, place = _varint(value, place)
                found.append(one)
        return found

    def number(self, number: int, default: float) -> float:
        values = self.all(number)
        return struct.unpack("<f", values[-1])[0] if values else default

    def text(self, number: int) -> str:
        values = self.all(number)
        return bytes(values[-1]).decode() if values else ""

    def message(self, number: int) -> _Message:
        values = self.all(number)
        return _Message(values[-1] if values else memoryview(b""))


def _blob(data: memoryview) -> rl.Tensor:
    blob = _Message(data)
    sizes = blob.message(7).integers(1) or [blob.integer(number, 1) for number in (1, 2, 3, 4)]
    number, kind = (5, "<f4") if blob.all(5) else (8, "<f8")
    values = np.concatenate([np.frombuffer(part, kind) for part in blob.all(number)])
    return rl.from_numpy(values.astype(np.float32).reshape(sizes))


def _pair(message: _Message, both: int, height: int, width: int, default: int) -> tuple[int, int]:
    """Width and height of a window: given as one number, two, or by names of their own."""
    given = message.integers(both) or [default]
    return message.integer(width, given[-1]), message.integer(height, given[0])


def _window(message: _Message, numbers: Sequence[int]) -> dict[str, int]:
    size, size_h, size_w, step, step_h, step_w, pad, pad_h, pad_w = numbers
    kW, kH = _pair(message, size, size_h, size_w, 1)
    dW, dH = _pair(message, step, step_h, step_w, 1)
    padW, padH = _pair(message, pad, pad_h, pad_w, 0)
    return {"kW": kW, "kH": kH, "dW": dW, "dH": dH, "padW": padW, "padH": padH}


def _convolution(message: _Message) -> dict[str, Any]:
    window = _window(message, (4, 11, 12, 6, 13, 14, 3, 9, 10))
    return window | {"outputs": message.integer(1), "groups": message.integer(5, 1)}


def _pooling(message: _Message) -> dict[str, Any]:
    window = _window(message, (2, 5, 6, 3, 7, 8, 4, 9, 10))
    return window | {"is_average": message.integer(1) == 1, "is_global": bool(message.integer(12))}


def _normalization(message: _Message) -> dict[str, Any]:
    return {
        "size": message.integer(1, 5),
        "alpha": message.number(2, 1.0),
        "beta": message.number(3, 0.75),
        "k": message.number(5, 1.0),
        "is_within_planes": message.integer(4) == 1,
    }


# By the kind of a layer: its number in files of before 2015, where its options are in these and in
# later files, and what reads them.
_KINDS: dict[str, tuple[int, int, int, Any]] = {
    "Convolution": (4, 10, 106, _convolution),
    "Deconvolution": (39, 10, 106, _convolution),
    "Dropout": (6, 12, 108, lambda message: {"ratio": message.number(1, 0.5)}),
    "Flatten": (8, 0, 0, None),
    "InnerProduct": (14, 17, 117, None),
    "LRN": (15, 18, 118, _normalization),
    "Pooling": (17, 19, 121, _pooling),
    "ReLU": (18, 30, 123, lambda message: {"slope": message.number(1, 0.0)}),
    "Sigmoid": (19, 0, 0, None),
    "Softmax": (20, 0, 0, None),
    "SoftmaxWithLoss": (21, 0, 0, None),
    "TanH": (23, 0, 0, None),
}
_KIND_BY_NUMBER = {number: kind for kind, (number, *_) in _KINDS.items()}


def _layer(data: memoryview, is_old: bool) -> dict[str, Any]:
    message = _Message(data)
    if is_old:
        number = message.integer(5)
        kind, name, blobs = _KIND_BY_NUMBER.get(number, str(number)), message.text(4), 6
    else:
        kind, name, blobs = message.text(2), message.text(1), 7
    layer: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "weights": [_blob(blob) for blob in message.all(blobs)],
    }
    _, old_options, options, read = _KINDS.get(kind, (0, 0, 0, None))
    if read is not None:
        layer |= read(message.message(old_options if is_old else options))
    return layer


def layers(path: str) -> list[dict[str, Any]]:
    """The layers of a network, in the order of the file.

    Args:
        path: a .caffemodel file.

    Returns:
        for each layer "name", "kind" (such as "Convolution"; a number where it is one of an old
        file that has no counterpart here), "weights" (float tensors) and its options.

    Raises:
        OSError: there is no such file.
        ValueError: it is no network of Caffe, or ends too early.
    """
    try:
        return _layers(memoryview(Path(path).read_bytes()))
    except (IndexError, struct.error, UnicodeDecodeError):
        raise ValueError(f"{path} is not a network of Caffe (.caffemodel)") from None


def _layers(data: memoryview) -> list[dict[str, Any]]:
    network = _Message(data)
    found = [_layer(one, True) for one in network.all(2)]
    found += [_layer(one, False) for one in network.all(100)]
    if not found:
        raise ValueError("the file holds no layers of a Caffe network")
    return found
