"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["replacing", "staging", "target_of"]

NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO})
ENDING = "relume.tmp"
LEFT_BEHIND = re.compile(rf"\..+\.[0-9a-f]{{8}}\.{re.escape(ENDING)}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a temporary path to write to; it becomes `path` when the block succeeds.

    The file is flushed to the disk before it is renamed. When the block raises, the temporary
    file is removed and an earlier file at `path` is as it was. What a killed process left behind
    is removed by the next one that writes to the folder.

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
    target = target_of(path)
    with _explaining(target), _temporary(target, is_folder=False) as temporary:
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
        _flush(target.parent)


@contextmanager
def staging(path: str | os.PathLike[str], kept: Any = None) -> Iterator[Path]:
    """Gives a path of the same name in a temporary folder; when the block succeeds, it and all that
    stands beside it there are moved to where `path` is, the file itself last.

    Args:
        path: where the file is to be; its folder must exist.
        kept: the path of a file that what stands beside it may not replace.

    Raises:
        FileExistsError: there is another file where one that belongs to it would be.

    >>> import os, tempfile
    >>> target = os.path.join(tempfile.mkdtemp(), "net.py")
    >>> with staging(target) as staged:
    ...     _ = staged.write_text("weights = 'net.bin'")
    ...     _ = staged.with_suffix(".bin").write_bytes(b"1")
    >>> sorted(os.listdir(os.path.dirname(target)))
    ['net.bin', 'net.py']
    """
    target = target_of(path)
    with _explaining(target), _temporary(target, is_folder=True) as folder:
        staged = folder / target.name
        yield staged
        files = sorted(folder.iterdir(), key=lambda file: file == staged)
        _check_beside(target, [file.name for file in files if file != staged], kept)
        for file in files:
            _flush(file)
            place = target.parent / file.name
            if place.exists():
                os.chmod(file, place.stat().st_mode & 0o777)
        for file in files:
            os.replace(file, target.parent / file.name)
        _flush(target.parent)


@contextmanager
def _explaining(target: Path) -> Iterator[None]:
    """Says which file a full disk did not take."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        reason = f"cannot write {target}: {os.strerror(error.errno)}; nothing was changed"
        raise OSError(error.errno, reason) from error


def _check_beside(target: Path, names: list[str], kept: Any) -> None:
    """Files beside the target are replaced when they belong to an earlier target."""
    for name in names:
        place = target.parent / name
        if not place.exists():
            continue
        is_kept = kept is not None and os.path.exists(kept) and os.path.samefile(place, kept)
        if is_kept or not target.exists():
            raise FileExistsError(
                f"cannot write {target}: {name} would stand beside it and replace the {name} that "
                "is there; give another name"
            )


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file that a path stands for, which can be written as far as one can see.

    Raises:
        OSError: it is a folder, its folder does not exist, or it is no plain file.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.exists() and not target.is_file():
        raise PermissionError(f"cannot write {path}: it is not a plain file")
    return target


@contextmanager
def _temporary(target: Path, *, is_folder: bool) -> Iterator[Path]:
    """A new file or folder beside the target, locked for as long as it is in use, so that others
    can tell it from what a dead process left behind."""
    _remove_left_behind(target.parent)
    temporary, lock = _new_temporary(target, is_folder)
    while not (_lock(lock) and temporary.exists()):  # taken for left behind before it was locked
        os.close(lock)
        temporary, lock = _new_temporary(target, is_folder)
    try:
        yield temporary
    finally:
        _remove(temporary)
        os.close(lock)


def _new_temporary(target: Path, is_folder: bool) -> tuple[Path, int]:
    temporary = target.parent / f".{target.name}.{secrets.token_hex(4)}.{ENDING}"
    try:
        if is_folder:
            os.mkdir(temporary)
            return temporary, os.open(temporary, os.O_RDONLY)
        return temporary, os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except OSError as error:
        reason = f"cannot write {target}: no file can be made in {target.parent} ({error.strerror})"
        raise type(error)(reason) from None


def _lock(descriptor: int) -> bool:
    """Locks it unless somebody else has; True as well where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _remove_left_behind(folder: Path) -> None:
    """Removes temporary files of dead processes: those that nobody has locked."""
    try:
        left = [entry.path for entry in os.scandir(folder) if LEFT_BEHIND.fullmatch(entry.name)]
    except OSError:
        return
    for name in left:
        try:
            descriptor = os.open(name, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(Path(name))
        except OSError:  # in use, or on a file system without locks
            pass
        finally:
            os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
