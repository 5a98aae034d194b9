"""What is this file, when it is not a Torch7 file?"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["HEAD", "Impostor", "content_kind", "identify"]

HEAD = 4096  # bytes that tell what a file is


class Impostor(NamedTuple):
    """A file that is something else: a short name, what it is, what to do."""

    kind: str
    what: str
    advice: str


# Fixed first bytes -> what starts so. Longer ones first.
_SIGNATURES: list[tuple[bytes, Impostor]] = [
    (
        b"\x89HDF\r\n\x1a\n",
        Impostor(
            "hdf5",
            "an HDF5 file (signature 89 48 44 46), as Keras or h5py write them",
            "open it with h5py.File(path)",
        ),
    ),
    (
        b"\x1f\x8b",
        Impostor("gzip", "a gzip archive (signature 1F 8B)", "unpack it first: gunzip FILE"),
    ),
    (b"BZh", Impostor("bzip2", "a bzip2 archive", "unpack it first: bunzip2 FILE")),
    (b"\xfd7zXZ\0", Impostor("xz", "an xz archive", "unpack it first: unxz FILE")),
    (b"(\xb5/\xfd", Impostor("zstd", "a zstd archive", "unpack it first: unzstd FILE")),
    (b"7z\xbc\xaf'\x1c", Impostor("7z", "a 7-Zip archive", "unpack it first: 7z x FILE")),
    (b"Rar!\x1a\x07", Impostor("rar", "a RAR archive", "unpack it first: unrar x FILE")),
    (
        b"\x93NUMPY",
        Impostor("npy", "a NumPy array (.npy)", "load it with numpy.load(path)"),
    ),
    (
        b"\x1bLJ",
        Impostor("luajit", "LuaJIT bytecode, not an object that torch.save wrote", "run it in Lua"),
    ),
    (
        b"\x1bLua",
        Impostor(
            "lua-bytecode", "Lua bytecode, not an object that torch.save wrote", "run it in Lua"
        ),
    ),
    (
        b"MATLAB 5.0",
        Impostor("matlab", "a MATLAB file", "load it with scipy.io.loadmat(path)"),
    ),
    (b"\x89PNG", Impostor("image", "a PNG image", "give the file of the model instead")),
    (b"\xff\xd8\xff", Impostor("image", "a JPEG image", "give the file of the model instead")),
    (b"%PDF", Impostor("pdf", "a PDF document", "give the file of the model instead")),
    (
        b"\x7fELF",
        Impostor("elf", "a compiled program or library", "give the file of the model instead"),
    ),
]

_TEXT_BYTES = frozenset(range(0x20, 0x7F)) | {9, 10, 12, 13}


def content_kind(head: bytes, size: int) -> str:
    """What a file is, in one word: "t7", or the `kind` of an `Impostor`.

    >>> content_kind(b"\\4\\0\\0\\0\\1\\0\\0\\0", 100)
    't7'
    """
    return "t7" if TORCH7.match(head) else identify(head, size).kind


# The tag of the first object, 0 to 8, in binary of either byte order or as text.
TORCH7 = re.compile(rb"[\0-\10]\0\0\0|\0\0\0[\0-\10]|[0-8]\r?\n")


def identify(head: bytes, size: int) -> Impostor:
    """Names what a file is, from its beginning.

    Args:
        head: the first bytes, some hundred or more.
        size: the size of the file in bytes.

    >>> identify(b"PK\\x03\\x04", 100).kind
    'zip'
    """
    if size == 0:
        return Impostor(
            "empty", "an empty file (0 bytes)", "the download or the copy failed: get it again"
        )
    for signature, impostor in _SIGNATURES:
        if head.startswith(signature):
            return impostor
    return (
        _git_lfs(head)
        or _zip(head)
        or _pickle(head)
        or _markup(head)
        or _safetensors(head, size)
        or _other(head, size)
    )


def _git_lfs(head: bytes) -> Impostor | None:
    if not head.startswith(b"version https://git-lfs"):
        return None
    size = re.search(rb"^size (\d+)", head, re.MULTILINE)
    real = f"; the real file has {int(size.group(1)):,} bytes" if size else ""
    return Impostor(
        "git-lfs",
        f"a Git LFS pointer, a few lines of text in place of the file{real}",
        "get the file with: git lfs install && git lfs pull",
    )


def _zip(head: bytes) -> Impostor | None:
    if not head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    if b"data.pkl" in head or b"archive/" in head or b"/version" in head:
        return Impostor(
            "pytorch-zip",
            "a PyTorch checkpoint (a zip archive with data.pkl, as PyTorch 1.6 and later write it)",
            "load it with PyTorch: torch.load(path, weights_only=True)",
        )
    if b".npy" in head:
        return Impostor("npz", "NumPy arrays (.npz)", "load them with numpy.load(path)")
    return Impostor(
        "zip",
        "a zip archive (signature PK)",
        "unpack it first; if PyTorch wrote it, use torch.load(path, weights_only=True)",
    )


def _pickle(head: bytes) -> Impostor | None:
    if head.startswith(b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"):
        return Impostor(
            "pickle",
            "a PyTorch checkpoint of the kind before 1.6 (a pickle that starts with PyTorch's "
            "magic number 80 02 8A 0A 6C FC 9C 46 ...)",
            "load it with PyTorch: torch.load(path, weights_only=True); nothing was unpickled here",
        )
    if len(head) >= 2 and head[0] == 0x80 and 2 <= head[1] <= 5:
        return Impostor(
            "pickle",
            f"a Python pickle (protocol {head[1]}, signature 80 {head[1]:02X})",
            "a pickle can run code, so nothing was unpickled; if you trust it: pickle.load or "
            "torch.load",
        )
    if head.startswith((b"(dp0", b"(lp0", b"cnumpy", b"c__builtin__", b"ccopy_reg")):
        return Impostor(
            "pickle",
            "a Python pickle (protocol 0, text)",
            "a pickle can run code, so nothing was unpickled; if you trust it: pickle.load",
        )
    return None


def _markup(head: bytes) -> Impostor | None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:256].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) or b"<html" in start:
        return Impostor(
            "html",
            "a web page (HTML): the download gave an error or login page instead of the file",
            "download it again and look at the page in a browser",
        )
    if start.startswith((b"<?xml", b"<error")):
        return Impostor(
            "xml",
            "an XML document, often the error message of a file server",
            "look at it as text, then download the file again",
        )
    if start.startswith((b"{", b"[")) and _is_text(head):
        return Impostor("json", "a JSON text", "read it with json.load")
    return None


def _safetensors(head: bytes, size: int) -> Impostor | None:
    if len(head) > 9 and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= size - 8:
        return Impostor(
            "safetensors", "a safetensors file", "load it with safetensors or relume.convert"
        )
    return None


def _is_text(head: bytes) -> bool:
    control = sum(byte < 0x20 and byte not in _TEXT_BYTES for byte in head)
    ascii_ = sum(byte in _TEXT_BYTES for byte in head)
    return control == 0 and ascii_ >= 0.7 * len(head)  # the rest: letters of any encoding


def _other(head: bytes, size: int) -> Impostor:
    if b"ustar" in head[257:263]:
        return Impostor("tar", "a tar archive", "unpack it first: tar xf FILE")
    if not head.strip(b"\0"):
        return Impostor(
            "zeros",
            "filled with zeros, as an interrupted download or a damaged disk leaves it",
            "get the file again",
        )
    first_line = head.splitlines()[0] if head.splitlines() else b""
    if first_line.startswith(b"#!") or re.match(rb"\s*(require|local|function|--)\b", first_line):
        return Impostor("text", f"a script: {_quoted(first_line)}", "run it instead of loading it")
    if _is_text(head):
        return Impostor(
            "text",
            f"a text file that starts with {_quoted(first_line)}",
            "check that it is the right file",
        )
    if size < 4:
        return Impostor("truncated", f"only {size} bytes long", "get the file again: it is cut off")
    return Impostor(
        "unknown",
        f"in no format that is known here (it starts with {head[:8].hex(' ').upper()})",
        "a Torch7 file starts with its type, a number from 0 to 8: check that it is the right file",
    )


def _quoted(line: bytes) -> str:
    text = line[:40].decode("utf-8", "replace")
    return repr(text + ("..." if len(line) > 40 else ""))
