"""`relume lua`: a Lua script, run as Torch7's interpreter would."""

from __future__ import annotations

from pathlib import Path

import relume


def run_script(script: Path, arguments: list[str]) -> None:
    if not script.is_file():
        raise FileNotFoundError(2, "No such file", str(script))
    lua = relume.bridge.Lua()
    try:
        lua.run(str(script), *arguments)
    finally:
        lua.close()
