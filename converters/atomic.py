"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a temporary path to write to; it becomes `path` when the block succeeds.

    The file is flushed to the disk before it is renamed. When the block raises, the temporary
    file is removed and an earlier file at `path` is as it was.

    Args:
        path: where the file is to be; its folder must exist.

    Raises:
        IsADirectoryError, FileNotFoundError, PermissionError: `path` cannot be written.

    >>> import os, tempfile
    >>> target = os.path.join(tempfile.mkdtemp(), "numbers.txt")
    >>> with replacing(target) as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> open(target).read()
    '1 2 3'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.exists() and not target.is_file():
        raise PermissionError(f"cannot write {path}: it is not a plain file")
    temporary = target.parent / f".{target.name}.{secrets.token_hex(4)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except OSError as error:
        reason = f"cannot write {path}: no file can be made in {target.parent} ({error.strerror})"
        raise type(error)(reason) from None
    os.close(descriptor)
    try:
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
        _flush(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
