"""Image files for the Lua package `image`, through Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

import relume as rl

__all__ = ["compress", "decompress", "glyph", "load", "save", "size"]

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _planes(picture: Any, depth: int | None) -> rl.Tensor:
    """The bytes of a Pillow picture, of shape (depth, height, width)."""
    if depth is None:
        depth = {"L": 1, "1": 1, "RGBA": 4, "LA": 4}.get(picture.mode, 3)
    if depth not in _MODES:
        raise ValueError(f"image.load: the depth is 1, 3 or 4, not {depth}")
    if depth == 1 and picture.mode not in ("L", "1"):
        # Torch7's own weights of the colours
        colours = np.asarray(picture.convert("RGB"), dtype=np.float64)
        grey = colours @ np.array([0.299, 0.587, 0.114])
        return rl.from_numpy(np.ascontiguousarray(grey.astype(np.uint8)[None]))
    values = np.asarray(picture.convert(_MODES[depth]))
    values = values[:, :, None] if values.ndim == 2 else values
    return rl.from_numpy(np.array(values.transpose(2, 0, 1), order="C"))


def _picture(planes: rl.Tensor) -> Any:
    """A Pillow picture of bytes of shape (1, 3 or 4, height, width)."""
    from PIL import Image

    values = planes.contiguous().numpy()
    if values.shape[0] == 1:
        return Image.fromarray(values[0])
    return Image.fromarray(np.ascontiguousarray(values.transpose(1, 2, 0)))


def load(path: str, depth: int | None) -> rl.Tensor:
    """Reads a file.

    Args:
        path: in any format that Pillow reads.
        depth: 1, 3 or 4 planes; None for what the file has.

    Returns:
        uint8, of shape (depth, height, width).

    Raises:
        OSError: there is no such file, or it is no image.
    """
    from PIL import Image

    with Image.open(path) as picture:
        return _planes(picture, depth)


def save(path: str, planes: rl.Tensor, quality: int) -> None:
    """Writes bytes of shape (1, 3 or 4, height, width) in the format of the file's ending."""
    picture = _picture(planes)
    if path.lower().endswith((".jpg", ".jpeg")):
        picture.convert("RGB").save(path, quality=quality)
    elif path.lower().endswith(".ppm"):
        picture.convert("RGB").save(path)
    else:
        picture.save(path)


def size(path: str) -> tuple[int, int, int]:
    """The planes, the height and the width of the image in a file."""
    from PIL import Image

    with Image.open(path) as picture:
        return len(picture.getbands()), picture.height, picture.width


def compress(planes: rl.Tensor, form: str, quality: int) -> rl.Tensor:
    """The bytes of a file in the format "PNG" or "JPEG"."""
    target = io.BytesIO()
    picture = _picture(planes)
    picture.save(target, form, **({"quality": quality} if form == "JPEG" else {}))
    return rl.from_numpy(np.frombuffer(target.getvalue(), np.uint8).copy())


def decompress(data: rl.Tensor, depth: int | None) -> rl.Tensor:
    """The image in the bytes of a file."""
    from PIL import Image

    with Image.open(io.BytesIO(data.contiguous().numpy().tobytes())) as picture:
        return _planes(picture, depth)


def glyph(character: str) -> rl.Tensor:
    """A character of a small font as bytes of shape (11, 6): 1 where there is ink."""
    from PIL import Image, ImageDraw, ImageFont

    font = getattr(ImageFont, "load_default_imagefont", ImageFont.load_default)()
    cell = Image.new("1", (6, 11))
    ImageDraw.Draw(cell).text((0, 0), character, fill=1, font=font)
    return rl.from_numpy(np.asarray(cell).astype(np.uint8))
