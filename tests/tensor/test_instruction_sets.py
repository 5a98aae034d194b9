"""The kernels of every instruction set that this CPU has compute right numbers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np
import relume as rl
from relume.tensor.threads import instruction_set

print(instruction_set())
x = np.random.default_rng(0).uniform(0.1, 3, 1003)
for dtype, close in (("float32", 5e-7), ("float64", 1e-15)):
    a = x.astype(dtype)
    t = rl.from_numpy(a)
    wide = a.astype("longdouble")
    for name in ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "sqrt"):
        got = getattr(rl, name)(t).numpy()
        np.testing.assert_allclose(got, getattr(np, name)(wide).astype(dtype), rtol=close)
    np.testing.assert_allclose(rl.sigmoid(t).numpy(), 1 / (1 + np.exp(-wide)), rtol=close)
    np.testing.assert_array_equal((t + t * t).numpy(), a + a * a)
    np.testing.assert_array_equal(rl.where(t > 1, t, -t).numpy(), np.where(a > 1, a, -a))
    m, n = rl.from_numpy(a[:1000].reshape(40, 25)), a[:1000].reshape(40, 25)
    for dim in (None, 0, 1):
        np.testing.assert_allclose(rl.sum(m, dim).numpy(), n.sum(dim), rtol=1e-6)
        np.testing.assert_array_equal(rl.amax(m, dim).numpy(), n.max(dim))
        np.testing.assert_allclose(rl.norm(m, 2, dim).numpy(), np.sqrt((n * n).sum(dim)), rtol=1e-6)
"""


@pytest.mark.parametrize("instructions", ["baseline", "avx2", "avx512"])
def test_kernels_of_every_instruction_set(instructions):
    package = Path(__import__("relume").__file__).parent
    environment = dict(os.environ, RELUME_ISA=instructions, PYTHONPATH=str(package.parent))
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    if result.stdout.split() != [instructions]:
        pytest.skip(f"this CPU has no {instructions}")
