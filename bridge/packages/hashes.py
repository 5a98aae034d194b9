"""Hashes of strings, for the Lua package `torchx`."""

from __future__ import annotations

import hashlib

__all__ = ["md5"]


def md5(message: str | bytes) -> str:
    """The MD5 sum in hexadecimal digits."""
    data = message.encode("utf-8", "surrogateescape") if isinstance(message, str) else message
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
