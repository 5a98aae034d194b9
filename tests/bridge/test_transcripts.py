"""Lua scripts print what the real Torch7 printed, byte for byte.

`tests/data/lua/AREA/NAME.lua` with its `.out` is from the golden corpus. What is not yet
supported is listed in `tests/data/lua/unsupported.txt`: those scripts are run as well, and a
script that passes must leave the list.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from transcripts import transcript

import relume as rl

FOLDER = Path(__file__).parent.parent / "data" / "lua"
SCRIPTS = sorted(str(path.relative_to(FOLDER))[:-4] for path in FOLDER.glob("*/*.lua"))
UNSUPPORTED = set((FOLDER / "unsupported.txt").read_text().split())


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in UNSUPPORTED])
def test_prints_what_torch7_printed(name):
    script = FOLDER / f"{name}.lua"
    assert transcript(script) == script.with_suffix(".out").read_bytes()


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_unsupported_list_is_up_to_date(name):
    script = FOLDER / f"{name}.lua"
    try:
        printed = transcript(script)
    except (rl.bridge.LuaError, ValueError, RuntimeError):
        return
    assert printed != script.with_suffix(".out").read_bytes(), (
        f"{name} passes: take it off the list"
    )
