"""What happens once, when relume is imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from relume import _C


def load_blas() -> None:
    """Hands the OpenBLAS of the scipy-openblas32 package to the core.

    Without it, or when it cannot be loaded, the core's own matrix multiplication is used.
    """
    load = getattr(_C, "load_blas", None)
    found = importlib.util.find_spec("scipy_openblas32")
    if load is None or found is None or not found.submodule_search_locations:
        return
    folder = Path(found.submodule_search_locations[0]) / "lib"
    for library in sorted(folder.glob("libscipy_openblas*.so*")):
        load(str(library))
        return
