"""What a Lua script prints."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import relume as rl


def transcript(script: Path) -> bytes:
    """What the script writes to the process's standard output, run in its own folder."""
    before = os.getcwd()
    standard_output = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.chdir(script.parent)
        try:
            with rl.bridge.Lua() as lua:
                if script.parent.name == "th":  # these were run under the front end th
                    lua.require("th")
                lua.run(script.name)
        finally:
            os.chdir(before)
            os.dup2(standard_output, 1)
            os.close(standard_output)
        file.seek(0)
        return file.read()
