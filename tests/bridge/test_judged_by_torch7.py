"""Scripts of many expressions print what the real Torch7 printed for them.

`tests/data/bridge/NAME.lua` with its `.out`: answers and refusals, one expression a line, so that a
difference shows which.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from transcripts import transcript

FOLDER = Path(__file__).parent.parent / "data" / "bridge"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.lua"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_torch7_printed(name):
    script = FOLDER / f"{name}.lua"
    printed = transcript(script).decode("latin1").splitlines()
    assert printed == script.with_suffix(".out").read_text("latin1").splitlines()
