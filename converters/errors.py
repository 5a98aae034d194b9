"""The errors of readers and writers of files."""

from __future__ import annotations

__all__ = ["FileFormatError", "UnwritableError"]


class FileFormatError(ValueError):
    """A file is not what it should be: another format, damaged, cut off or hostile.

    Attributes:
        kind: "truncated", "damaged" or "unsupported" for a Torch7 file; otherwise what the file
            really is: "git-lfs", "pickle", "pytorch-zip", "zip", "hdf5", "html", "gzip", "text",
            "empty", ...
        offset: the byte at which reading stopped making sense.
        path: where in the tree of objects that is: "root.modules[3].weight".
        filename: the file, or None for bytes in memory.

    >>> import relume as rl
    >>> try:
    ...     rl.loads(b"<html>Not found</html>")
    ... except rl.FileFormatError as error:
    ...     print(error.kind, error.offset)
    html 0
    """

    def __init__(self, message: str, offset: int = 0, path: str = "root", kind: str = "damaged"):
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.path = path
        self.kind = kind
        self.filename: str | None = None

    def __str__(self) -> str:
        where = f"{self.filename}: " if self.filename else ""
        if self.kind in ("truncated", "damaged", "unsupported"):
            where += f"byte {self.offset}, at {self.path}: "
        return where + self.message

    def __reduce__(self) -> tuple:
        return type(self), (self.message, self.offset, self.path, self.kind), self.__dict__


class UnwritableError(TypeError):
    """An object holds something that the format cannot; nothing was written.

    Attributes:
        problems: the reason by the place in the tree: "root.modules[3].weight".

    >>> import relume as rl
    >>> try:
    ...     rl.dumps({"layers": [1, {2}]})
    ... except rl.converters.UnwritableError as error:
    ...     print(error)
    cannot be written: root.layers[2]: Lua has no sets; save a list
    """

    def __init__(self, problems: dict[str, str]):
        self.problems = dict(problems)
        places = [f"{path}: {reason}" for path, reason in self.problems.items()]
        separator = "\n  " if len(places) > 1 else " "
        super().__init__(separator.join(["cannot be written:", *places]))
