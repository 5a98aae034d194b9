"""No argument, however wrong, makes an op crash, hang or raise something unexpected."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import relume as rl

SCRIPT = Path(__file__).with_name("fuzz_ops.py")


@pytest.mark.parametrize("seed", [1, 2])
def test_wrong_arguments_are_refused(seed):
    environment = {**os.environ, "PYTHONPATH": str(Path(rl.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(seed), "40"],
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**environment, "PYTHONFAULTHANDLER": "1"},
    )
    assert done.returncode == 0, f"exit {done.returncode} after:\n{done.stderr[-3000:]}"
