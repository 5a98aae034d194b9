"""The Lua sources of the golden random numbers, run as they are."""

from pathlib import Path

import numpy as np
import pytest

import relume as rl

GOLDEN = rl.load(Path(__file__).parents[1] / "data" / "random.t7")


@pytest.fixture(scope="module")
def lua():
    runtime = rl.bridge.Lua()
    yield runtime
    runtime.close()


def flat(value):
    """All numbers of a result, in order; tables count from 1."""
    if isinstance(value, rl.Tensor):
        return value.numpy().astype(np.float64).ravel().tolist()
    if isinstance(value, (int, float)):
        return [float(value)]
    return [number for i in range(1, len(value) + 1) for number in flat(value[i])]


@pytest.mark.parametrize("case", GOLDEN.cases.as_list(), ids=lambda c: f"{c.name}, seed {c.seed}")
def test_golden_source(lua, case):
    rl.manual_seed(case.seed)
    tolerance = 1e-6 if "Float" in case.src else 1e-14
    result = flat(lua.execute(case.src))
    np.testing.assert_allclose(result, flat(case.value), rtol=tolerance, atol=tolerance)
