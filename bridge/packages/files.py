"""Files and folders for the Lua packages `paths`, `lfs` and `sys`."""

from __future__ import annotations

import getpass
import os
import platform
import shutil
import stat
import tempfile
from typing import Any

__all__ = [
    "attributes",
    "change_folder",
    "current_folder",
    "find_program",
    "home",
    "list_folder",
    "make_folder",
    "make_link",
    "normalize",
    "platform_name",
    "real_path",
    "remove_all",
    "remove_folder",
    "temporary_name",
    "touch",
]

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "named pipe",
    stat.S_IFCHR: "char device",
    stat.S_IFBLK: "block device",
}


def attributes(path: str, follow: bool = True) -> Any:
    """What `lfs.attributes` tells about a file; or None, why not, and the error number."""
    try:
        status = os.stat(path) if follow else os.lstat(path)
    except OSError as error:
        return None, error.strerror, error.errno
    return {
        "mode": _KINDS.get(stat.S_IFMT(status.st_mode), "other"),
        "size": status.st_size,
        "access": int(status.st_atime),
        "modification": int(status.st_mtime),
        "change": int(status.st_ctime),
        "nlink": status.st_nlink,
        "uid": status.st_uid,
        "gid": status.st_gid,
        "dev": status.st_dev,
        "ino": status.st_ino,
        "permissions": stat.filemode(status.st_mode)[1:],
    }


def _attempt(function: Any, *args: Any) -> Any:
    """True; or None, why not, and the error number."""
    try:
        function(*args)
    except OSError as error:
        return None, error.strerror, error.errno
    return True


def make_folder(path: str, parents: bool = False) -> Any:
    """Makes a folder, and those above it if `parents`."""
    if parents:
        return _attempt(lambda: os.makedirs(path, exist_ok=True))
    return _attempt(os.mkdir, path)


def make_link(target: str, path: str, symbolic: bool) -> Any:
    """Makes a link to a file."""
    return _attempt(os.symlink if symbolic else os.link, target, path)


def remove_folder(path: str) -> Any:
    """Removes an empty folder."""
    return _attempt(os.rmdir, path)


def remove_all(path: str) -> Any:
    """Removes a file, or a folder with all that is in it."""
    return _attempt(shutil.rmtree if os.path.isdir(path) else os.remove, path)


def change_folder(path: str) -> Any:
    """Makes another folder the current one."""
    return _attempt(os.chdir, path)


def touch(path: str, access: float | None = None, modification: float | None = None) -> Any:
    """Sets the times of a file, to now when left out."""
    times = None
    if access is not None:
        times = (access, access if modification is None else modification)
    return _attempt(lambda: os.utime(path, times))


def list_folder(path: str) -> Any:
    """The names in a folder, with "." and ".."; None if there is no such folder."""
    try:
        return [".", "..", *os.listdir(path)]
    except OSError:
        return None


def current_folder() -> str:
    """The current folder."""
    return os.getcwd()


def normalize(path: str) -> str:
    """An absolute path without "." and ".."."""
    return os.path.abspath(path)


def real_path(path: str) -> Any:
    """The same with links followed; None if there is nothing."""
    return os.path.realpath(path) if os.path.exists(path) else None


def home() -> str:
    """The home folder."""
    return os.path.expanduser("~")


def temporary_name() -> str:
    """A name that no file has."""
    return os.path.join(tempfile.gettempdir(), next(tempfile._get_candidate_names()))  # type: ignore[attr-defined]


def find_program(name: str) -> str | None:
    """Where a program is."""
    return shutil.which(name)


def platform_name() -> tuple[str, str, str]:
    """The system, the machine's name, and the processor."""
    return platform.system(), platform.node() or getpass.getuser(), platform.machine()
