"""HDF5 files for the Lua package `hdf5`, through h5py."""

from __future__ import annotations

from typing import Any

import numpy as np

import relume as rl

__all__ = ["File"]

# what torch-hdf5 reads as another type: characters as bytes, and numbers without a sign
_READ_AS = {"int8": "uint8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}


class File:
    """An open HDF5 file.

    Args:
        path: the file.
        mode: "r", "r+" (there must be one), "w" (a new one), "a".

    Raises:
        ImportError: h5py is not installed.
        OSError: there is no such file, or it is no HDF5 file.
    """

    def __init__(self, path: str, mode: str) -> None:
        import h5py

        self._file = h5py.File(path, mode)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def kind(self, path: str) -> str | None:
        """ "group", "dataset", or None where there is nothing."""
        found = self._file.get(path or "/")
        if found is None:
            return None
        return "group" if hasattr(found, "keys") else "dataset"

    def names(self, path: str) -> list[str]:
        """The names in a group."""
        return list(self._file[path or "/"].keys())

    def size(self, path: str) -> list[int]:
        """The sizes of a data set."""
        return list(self._file[path].shape)

    def read(self, path: str, ranges: Any = None) -> rl.Tensor:
        """A data set, or the part within `ranges`: pairs of first and last, from 1."""
        dataset = self._file[path]
        if ranges is None:
            values = dataset[()]
        else:
            pairs = [ranges[i] for i in range(1, len(ranges) + 1)]
            values = dataset[tuple(slice(int(pair[1]) - 1, int(pair[2])) for pair in pairs)]
        values = np.array(values, ndmin=1)
        values = values.astype(_READ_AS.get(values.dtype.name, values.dtype), copy=False)
        return rl.from_numpy(np.ascontiguousarray(values))

    def write(self, path: str, tensor: rl.Tensor, chunks: Any, deflate: int | None) -> None:
        """Writes a data set; groups on the way are made, what was there is replaced.

        Args:
            path: its name.
            tensor: the data.
            chunks: sizes of the pieces that it is kept in, or None; such a data set can grow.
            deflate: how much to compress, 0 to 9, or None.
        """
        if path in self._file:
            del self._file[path]
        options: dict[str, Any] = {}
        if chunks is not None:
            wanted = [int(chunks[i]) for i in range(1, len(chunks) + 1)]
            sizes = zip(wanted, tensor.shape, strict=False)
            options["chunks"] = tuple(min(chunk, size) for chunk, size in sizes)
            options["maxshape"] = (None,) * tensor.ndim
        if deflate is not None:
            options |= {"compression": "gzip", "compression_opts": int(deflate)}
        self._file.create_dataset(path, data=tensor.contiguous().numpy(), **options)

    def append(self, path: str, tensor: rl.Tensor) -> None:
        """Adds rows behind those of a data set that was written in chunks."""
        dataset = self._file[path]
        before = dataset.shape[0]
        dataset.resize(before + tensor.shape[0], 0)
        dataset[before:] = tensor.contiguous().numpy()
