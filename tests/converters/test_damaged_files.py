"""No damage to a file makes its reader crash, hang or take much memory."""

import os
import subprocess
import sys
from pathlib import Path

import relume as rl

SCRIPT = Path(__file__).with_name("fuzz_files.py")


def test_damaged_files_are_refused_or_read():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "1", "8"],
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(Path(rl.__file__).parents[1])},
    )
    assert done.returncode == 0, f"exit {done.returncode} after:\n{done.stderr[-3000:]}"
